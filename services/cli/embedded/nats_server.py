"""The embedded NATS: one node that syncs every append, on loopback, with two users."""

from __future__ import annotations

import json
import secrets
import signal
import socket

from services.cli.embedded.account import Account
from services.cli.embedded.binaries import Binaries
from services.cli.embedded.home import Home, password, write_private
from services.cli.embedded.log_room import LEAST_ROOM, LogRoom, room_of
from services.cli.embedded.process import Server
from shared.web.service import CannotStart

GLANCE_SECONDS = 0.2  # for one look whether it answers; on loopback an answer takes a millisecond
STOP = ((signal.SIGTERM, 0.5),)  # it has nothing to finish: every append is synced already; then SIGKILL
#: What would take something out of the log, or change how safely it lies there.
SERVICE_MAY_NOT = ("STREAM.PURGE", "STREAM.DELETE", "STREAM.MSG.DELETE", "STREAM.UPDATE", "STREAM.PEER.REMOVE")


def nats_url(home: Home, port: int, user: str) -> str:
    """The URL for `user` "service" (appends and reads) or "operator" (may purge the subject of an archived table, and change streams)."""
    return f"nats://{user}:{password(home.keys / f'nats_{user}')}@127.0.0.1:{port}"


def nats_server(home: Home, binaries: Binaries, account: Account, port: int) -> Server:
    """Write the configuration for `port` and say how the server is run. Raises `CannotStart` when the log has no room to grow."""
    home.nats.mkdir(mode=0o700, exist_ok=True)
    account.own(home.nats)
    room = room_of(home)
    if room.left < LEAST_ROOM:
        raise CannotStart(f"disk full: the log in {home.nats} has room for {room.megabytes} MB more, {LEAST_ROOM >> 20} MB are needed")
    name = f"pulka-{secrets.token_hex(4)}"  # a new one each time: the answer on this port is then surely our server's
    configuration = home.run / "nats.conf"
    write_private(configuration, _configuration(home, port, name, room))
    account.own(home.run)
    account.own(configuration)
    return Server(
        name="nats-server",
        command=[str(binaries.nats_server), "-c", str(configuration)],
        port=port,
        folder=home.nats,
        log=home.logs / "nats.log",
        ready=lambda _pid: _answers(port, name),
        stop=STOP,
        death_signal=signal.SIGKILL,  # see STOP
    )


def _configuration(home: Home, port: int, name: str, room: LogRoom) -> str:
    denied = ", ".join(json.dumps(f"$JS.API.{request}.>") for request in SERVICE_MAY_NOT)
    return f"""# Written anew at each start.
host: "127.0.0.1"
port: {port}
server_name: {json.dumps(name)}
jetstream {{
  store_dir: {json.dumps(str(home.nats), ensure_ascii=False)}
  sync_interval: always
  max_file_store: {room.limit}
}}
feature_flags {{
  js_ack_fc_v2: false
}}
authorization {{
  users = [
    {{
      user: "service"
      password: {json.dumps(password(home.keys / "nats_service"))}
      permissions: {{ publish: {{ deny: [{denied}] }} }}
    }}
    {{
      user: "operator"
      password: {json.dumps(password(home.keys / "nats_operator"))}
    }}
  ]
}}
"""


def _answers(port: int, name: str) -> bool:
    """Whether the server called `name` greets on `port` with JetStream on (it listens only once its streams are recovered)."""
    try:
        with socket.create_connection(("127.0.0.1", port), GLANCE_SECONDS) as connection:
            connection.settimeout(GLANCE_SECONDS)
            with connection.makefile("rb") as lines:
                words = lines.readline().split(b" ", 1)
        greeting = json.loads(words[1]) if words[0] == b"INFO" else {}
    except (OSError, ValueError, IndexError):
        return False
    return greeting.get("server_name") == name and greeting.get("jetstream") is True
