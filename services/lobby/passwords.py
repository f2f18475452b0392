"""Passwords: Argon2id, in a thread and few at a time, since one hash takes 64 MiB and some 50 ms of a core."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from shared.web.problems import unavailable

AT_ONCE: Final = 2  # 128 MiB, and the event loop still gets its share of two cores
WAITING: Final = 32  # at 50 ms each the last waits under a second; more is somebody guessing

T = TypeVar("T")


class Passwords:
    """Hashes and verifies. Parameters are argon2-cffi's (RFC 9106, low memory); `AT_ONCE` bounds what they cost together."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0
        self._nobodys: str | None = None

    async def hash(self, password: str) -> str:
        """The hash to keep, salt and parameters within. Raises 503 when too many wait."""
        return await self._in_turn(lambda: self._hasher.hash(password))

    async def verify(self, hashed: str | None, password: str) -> bool:
        """Whether `password` hashes to `hashed`; None takes as long and is False. Raises 503 when too many wait."""
        if hashed is None and self._nobodys is None:
            self._nobodys = await self.hash("")
        return await self._in_turn(lambda: self._matches(hashed or self._nobodys or "", password)) and hashed is not None

    def _matches(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except VerifyMismatchError:
            return False

    async def _in_turn(self, work: Callable[[], T]) -> T:
        if self._waiting >= WAITING:
            raise unavailable("Too many passwords are being checked.")
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1
