"""Pages by keyset: a cursor names the last row that was sent, so pages run to the end whatever is added meanwhile.

A cursor is opaque to clients and not signed: it says where to go on and grants nothing; a client that makes one up
reads only what it may read anyway.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from shared.web.problems import malformed

K = TypeVar("K")
R = TypeVar("R")

LARGEST: Final = (1 << 63) - 1  # of a number in a sort key: Postgres' bigint


def to_cursor(key: Any) -> str:
    """The cursor after the row whose sort key is `key`."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).rstrip(b"=").decode()


def from_cursor(cursor: str, kind: type[K]) -> K:
    """The sort key in `cursor`, a number or text or several, each one that Postgres can hold; raises 400 `malformed` at `cursor`."""
    try:
        key = msgspec.json.decode(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True), type=kind)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise malformed("cursor", "not a cursor of this list") from None
    if not all(_fits(part) for part in (key if isinstance(key, tuple) else (key,))):
        raise malformed("cursor", "not a cursor of this list")
    return key


def begins_after(cursor: str | None, kind: type[K]) -> K | None:
    """Where a page begins: after that sort key, None for the first page. Raises as `from_cursor`."""
    return None if cursor is None else from_cursor(cursor, kind)


def paged(found: list[R], limit: int, key: Callable[[R], Any]) -> tuple[list[R], str | None]:
    """The page of `limit` rows and the cursor after it, None on the last one; `found` holds one row more when there are more."""
    page = found[:limit]
    return page, to_cursor(key(page[-1])) if len(found) > limit else None


def _fits(part: object) -> bool:
    return 0 <= part <= LARGEST if isinstance(part, int) else "\0" not in str(part)
