"""What a live stream says, and its two forms on the wire."""

from __future__ import annotations

from typing import Final

import msgspec

LEAVING: Final = "leaving"


class Frame(msgspec.Struct, frozen=True):
    """One thing a stream says: `event` (`view`, `commit`, `heartbeat`), `data` (one encoded JSON object), `id` (the cursor after it).

    `retry_ms` is how long whoever comes back is asked to wait; a browser knows it by a field of its own.
    """

    event: str
    data: bytes
    id: int | None = None
    retry_ms: int | None = None


def leaving(revision: int | None, retry_ms: int) -> Frame:
    """The last frame of a stream whose process stops: come back, elsewhere, after `retry_ms`, with the cursor `revision`.

    None where it is not sure what the client has got: it goes on behind the last frame that came.
    """
    return Frame(LEAVING, msgspec.json.encode({"revision": revision, "retry_ms": retry_ms}), retry_ms=retry_ms)


def as_sse(frame: Frame) -> bytes:
    """The frame as a Server-Sent Event; encoded JSON has no line breaks."""
    head = f"event: {frame.event}\n" if frame.id is None else f"id: {frame.id}\nevent: {frame.event}\n"
    if frame.retry_ms is not None:
        head += f"retry: {frame.retry_ms}\n"
    return b"%bdata: %b\n\n" % (head.encode(), frame.data)


def as_ndjson(frame: Frame) -> bytes:
    """The frame as one line: the same object with `frame` in front."""
    rest = frame.data[1:]
    return b'{"frame":"%b"%b%b\n' % (frame.event.encode(), b"" if rest == b"}" else b",", rest)
