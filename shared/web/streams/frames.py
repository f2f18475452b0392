"""What a live stream says, and its two forms on the wire."""

from __future__ import annotations

import msgspec


class Frame(msgspec.Struct, frozen=True):
    """One thing a stream says: `event` (`view`, `commit`, `heartbeat`), `data` (one encoded JSON object), `id` (the cursor after it)."""

    event: str
    data: bytes
    id: int | None = None


def as_sse(frame: Frame) -> bytes:
    """The frame as a Server-Sent Event; encoded JSON has no line breaks."""
    head = f"event: {frame.event}\n" if frame.id is None else f"id: {frame.id}\nevent: {frame.event}\n"
    return b"%bdata: %b\n\n" % (head.encode(), frame.data)


def as_ndjson(frame: Frame) -> bytes:
    """The frame as one line: the same object with `frame` in front."""
    rest = frame.data[1:]
    return b'{"frame":"%b"%b%b\n' % (frame.event.encode(), b"" if rest == b"}" else b",", rest)
