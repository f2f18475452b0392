"""An event loop whose time passes at once and whose order of steps is drawn by a seed; a part of it can die between any two of them."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import random
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

#: Which part of the simulated world a step belongs to: an instance that has died makes no more steps.
PART: Final = contextvars.ContextVar("part", default="world")


class Stuck(Exception):
    """Nothing can happen any more, and what was waited for has not come."""


class SimulatedLoop(asyncio.AbstractEventLoop):
    """Runs one step at a time, a ready one drawn by `lot`; when none is ready, time goes on to the next that is planned.

    What it does not have (sockets, threads, signals) nothing in a simulation may ask for.
    """

    def __init__(self, lot: random.Random) -> None:
        self._lot = lot
        self._now = 0.0
        self._ready: list[asyncio.Handle] = []
        self._planned: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = 0
        self._dead: set[str] = set()
        self._buried: list[asyncio.Handle] = []  # steps that the dead would have made
        self._tasks: list[asyncio.Task[Any]] = []
        self.steps = 0
        self.wrong: list[dict[str, Any]] = []  # what nobody has caught

    def time(self) -> float:
        """Seconds since the world began."""
        return self._now

    def kill(self, part: str) -> None:
        """Let no step of `part` run any more, as a process that is killed: nothing is cleaned up."""
        self._dead.add(part)

    def run(self, main: Coroutine[Any, Any, T], steps: int) -> T:
        """The result of `main`, after `steps` steps at most. Raises `Stuck`."""
        asyncio.events._set_running_loop(self)
        try:
            task = self.create_task(main)
            while not task.done():
                self._step()
                if self.steps > steps:
                    raise Stuck(f"not over after {steps} steps")
            return task.result()
        finally:
            asyncio.events._set_running_loop(None)

    def end(self) -> None:
        """The end of the world: every task is cancelled, those of the dead too, so that Python finds nothing half done."""
        self._dead.clear()
        self._ready += self._buried
        waiting = [task for task in self._tasks if not task.done()]
        for task in waiting:
            task.cancel()

        async def ended() -> None:
            await asyncio.gather(*waiting, return_exceptions=True)

        self.run(ended(), self.steps + 100_000)

    def _step(self) -> None:
        while self._planned and (not self._ready or self._planned[0][0] <= self._now):
            when, _, timer = heapq.heappop(self._planned)
            self._now = max(self._now, when)
            if not timer.cancelled():
                self._ready.append(timer)
        if not self._ready:
            raise Stuck("nothing is ready and nothing is planned")
        handle = self._ready.pop(self._lot.randrange(len(self._ready)))
        self.steps += 1
        if handle._context.get(PART, "world") in self._dead:
            self._buried.append(handle)
        elif not handle.cancelled():
            handle._run()

    # ---- what asyncio asks of a loop -------------------------------------------------------------------------------------

    def call_soon(self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        """Among the steps that are ready."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:  # type: ignore[override]
        """Planned for a time."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        heapq.heappush(self._planned, (when, self._count, timer))
        return timer

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:  # type: ignore[override]
        """Planned for a time from now."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: contextvars.Context | None = None) -> asyncio.Task[Any]:  # type: ignore[override]
        """A task of this loop."""
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks.append(task)
        return task

    def run_in_executor(self, _executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """At once: a thread would be a second order of steps."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as wrong:  # noqa: BLE001 - whoever waits gets it
            done.set_exception(wrong)
        return done

    def get_debug(self) -> bool:
        """Never."""
        return False

    def is_running(self) -> bool:
        """While it is asked."""
        return True

    def is_closed(self) -> bool:
        """Never."""
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what nobody has caught."""
        self.wrong.append(context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It stays planned, and is passed over."""


def in_part(loop: SimulatedLoop, part: str, main: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task, and all that it begins, as steps of `part`."""
    context = contextvars.copy_context()
    context.run(PART.set, part)
    return loop.create_task(main, context=context)
