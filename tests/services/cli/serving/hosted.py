"""A process that hosts a small service as `pulka serve` would: python -m tests.services.cli.serving.hosted [TROUBLE].

Writes what happens, a word a line. TROUBLE: `no_start` (start raises), `hang` (drain and stop never end), `slow_start`.
"""

import asyncio
import sys

from litestar import Litestar, get
from litestar.response import Stream

from services.cli.console.logs import log_to
from services.cli.serving.process import Host, listen
from shared.web.health import health_routes
from shared.web.service import CannotStart, Life, Service


def say(word):
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


class Hosted:
    def __init__(self, trouble):
        self.trouble = trouble
        self.draining = asyncio.Event()
        self.release = asyncio.Event()

    async def start(self):
        say("start")
        if self.trouble == "no_start":
            raise CannotStart("the reason")
        if self.trouble == "slow_start":
            await asyncio.Event().wait()

    async def drain(self):
        say("drain")
        self.draining.set()
        if self.trouble == "hang":
            await asyncio.Event().wait()

    async def stop(self):
        say("stop")
        if self.trouble == "hang":
            await asyncio.Event().wait()

    async def health(self):
        return {"status": "ok"}

    def routes(self):
        @get("/finishes")
        async def finishes() -> str:
            """A request in flight: it ends after the drain began."""
            say("asked")
            await self.draining.wait()
            return "done"

        @get("/stream")
        async def stream() -> Stream:
            async def lines():
                say("asked")
                yield "first\n"
                await self.draining.wait()
                yield "last\n"

            return Stream(lines())

        @get("/answers")
        async def answers() -> str:
            """A short request."""
            return "answered"

        return [finishes, stream, answers]


def main(trouble=""):
    log_to(sys.stderr, "warning")
    hosted = Hosted(trouble)
    service = Service(name="hosted", start=hosted.start, stop=hosted.stop, drain=hosted.drain, health=hosted.health)
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]

    async def late_start():
        say("late start")

    async def late_stop():
        say("late stop")

    late = Service(name="late", start=late_start, stop=late_stop, health=hosted.health)
    try:
        life = Life()
        app = Litestar([*hosted.routes(), *health_routes([service], None, life)])
        Host(app, [service], listener, life).run(ready=lambda: say(f"ready {port}"), after=[late])
    except CannotStart as reason:
        say(f"cannot start: {reason}")
        sys.exit(reason.exit_code)
    say("ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
