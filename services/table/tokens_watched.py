"""A token that does not hold any more shows nothing any more: streams that it opened end with it, not with the pulka."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from shared.web.auth import Tokens
from shared.web.streams.streaming import Streams

LOOK_S: Final = 1.0  # seconds between two looks whether a key has gone: as often as its file is looked at
ENDS_S: Final = 60  # seconds between two looks whether tokens have ended: their end is told with as much leeway


class TokensWatched:
    """Ends the streams of one process whose tokens have ended, or whose keys are gone; `clock` is milliseconds since 1970."""

    def __init__(self, tokens: Tokens, streams: Streams, clock: Callable[[], int]) -> None:
        self._tokens = tokens
        self._streams = streams
        self._clock = clock
        self._changes = tokens.public.changes
        self._next = 0
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Look from now on."""
        self._task = asyncio.create_task(self._run(), name="tokens watched")

    def look(self) -> None:
        """Look once; where nothing can have changed it asks nobody's token."""
        self._tokens.public.refresh()
        now, changes = self._clock() // 1000, self._tokens.public.changes
        if changes == self._changes and now < self._next:
            return
        self._changes, self._next = changes, now + ENDS_S
        self._streams.dismiss(lambda caller: self._tokens.holds(caller, now))

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self.look()
