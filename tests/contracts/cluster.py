"""Three NATS nodes on this machine, to lose one of."""

import asyncio
import json
import signal
from pathlib import Path

import nats

from services.cli.embedded.account import Account
from services.cli.embedded.binaries import find_binaries
from services.cli.embedded.home import free_port
from shared.eventlog.port import Unavailable

NODES = 3
ELECTION = 30.0  # seconds: a new leader takes 4 to 9, more on a loaded machine

CONFIGURATION = """\
server_name: "n{number}"
host: "127.0.0.1"
port: {port}
jetstream {{
  store_dir: "{store}"
  sync_interval: always
}}
feature_flags {{
  js_ack_fc_v2: false
}}
cluster {{
  name: pulka
  host: "127.0.0.1"
  port: {route}
  routes: [{routes}]
  {advertised}
}}
"""


async def insisting(call):
    """What `call` answers once the servers are ready for it."""
    async with asyncio.timeout(2 * ELECTION):
        while True:
            try:
                return await call()
            except Unavailable:
                await asyncio.sleep(0)


class Cluster:
    """A context: entered, three nodes run (ready or not yet); left, none does."""

    def __init__(self, home: Path, wires: dict[tuple[int, int], int] | None = None) -> None:
        """`wires`: the port under which one node reaches another, by their numbers; without them each reaches each directly."""
        self._home = home
        self._wires = wires
        self._ports = [free_port() for _ in range(NODES)]
        self._routes = [free_port() for _ in range(NODES)]
        self._nodes = {}

    @property
    def url(self):
        return ",".join(map(self.url_of, range(NODES)))

    def url_of(self, number):
        """One node's own address."""
        return f"nats://127.0.0.1:{self._ports[number]}"

    def route_port(self, number):
        """Where the other nodes reach one."""
        return self._routes[number]

    def __enter__(self):
        for number in range(NODES):
            self.start(f"n{number}")
        return self

    def __exit__(self, *_):
        for node in self._nodes.values():
            node.kill()
            node.wait()

    def start(self, name):
        number = int(name[1:])
        configuration = self._home / f"{name}.conf"
        configuration.write_text(
            CONFIGURATION.format(
                number=number,
                port=self._ports[number],
                store=self._home / name,
                route=self._routes[number],
                routes=", ".join(f'"nats://127.0.0.1:{port}"' for port in self._reached_by(number)),
                # else the nodes tell each other how to go round the wires; nothing listens there
                advertised="" if self._wires is None else f'advertise: "127.0.0.1:{free_port()}"',
            )
        )
        account = Account("self")
        command = [str(find_binaries(account, self._home).nats_server), "-c", str(configuration)]
        self._nodes[name] = account.start(command, self._home / f"{name}.log", signal.SIGKILL, self._home)

    def _reached_by(self, number):
        """The ports of the routes that a node opens."""
        return self._routes if self._wires is None else [port for (one, _), port in self._wires.items() if one == number]

    def kill(self, name):
        self._nodes[name].kill()
        self._nodes[name].wait()

    async def leader(self, stream):
        """The node that leads a stream now."""
        client = await nats.connect(self.url.split(","))
        try:
            while True:
                try:
                    answer = await client.request(f"$JS.API.STREAM.INFO.{stream}", timeout=1)
                except (nats.errors.TimeoutError, nats.errors.NoRespondersError):
                    continue
                leader = json.loads(answer.data).get("cluster", {}).get("leader")
                if leader:
                    return leader
                await asyncio.sleep(0)
        finally:
            await client.close()
