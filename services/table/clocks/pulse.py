"""The heartbeat of every stream: when its leader last answered, what of that is written down, and so what is an outage.

An outage is a silence of the log: more than `OUTAGE` without an answer, as this instance and the beats of all others tell. Work that is
late, this instance's or Postgres's, is none: an instance that had answers all the while says so when it writes its next beat.

Time is measured twice. The wall clock is that of the log's times and can be set; `steady` counts seconds and cannot. Where they differ the
wall clock was set, forward it makes a time in which nobody lived, which is given back as well; backward it finds what it wrote itself in
its own future, which counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

import msgspec

from services.table.clocks.store import Beat, Silence

OUTAGE: Final = 3_000  # milliseconds without an answer of the log that are an outage; also of all instances, when none was there
LEEWAY: Final = 500  # milliseconds that the wall clock may go another way than the steady one in a second: NTP turns it by far less
CUT_OFF: Final = 1_500  # milliseconds that others have heard a stream after this instance last did: it is the instance that is cut off
DOUBT_S: Final = 3.0  # seconds that answers prove nothing after an append was not stored: the log may be full, or store nothing


class Watch(msgspec.Struct):
    """One stream as this instance sees it, in seconds of the steady clock: when its leader last answered, since when it did without an
    outage, when that was last seen written down, and until when an answer proves nothing. `cut_off`: others hear it, this one does not.
    """

    last: float = -1.0
    since: float = -1.0
    settled: float = -1.0
    doubted: float = -1.0
    failed: bool = False
    cut_off: bool = False


class WentBack(Exception):
    """A beat lies in the future and nobody lives who wrote it: a clock was ahead."""


class Pulse:
    """The streams' beats, as one instance knows them. `holder` is its name in them."""

    def __init__(self, holder: str, streams: Iterable[str], steady: Callable[[], float]) -> None:
        self._holder = holder
        self._steady = steady
        self._watches = {stream: Watch() for stream in streams}
        self._told: dict[str, tuple[float, bool]] = {}  # by stream the answer that was last told of, and whether an outage hangs on it
        self._apart: float | None = None  # milliseconds of the wall clock when the steady one began, as of the last beat
        self._measured = 0.0  # the same as of the last call of `silences`
        self._ahead: dict[str, tuple[Beat, float]] = {}  # beats of others that lie in the future, and since when each has stood

    def answered(self, stream: str) -> None:
        """The stream's leader has answered just now."""
        watch, now = self._watches[stream], self._steady()
        watch.failed = watch.cut_off = False
        if now < watch.doubted:
            return
        if watch.last < 0 or (now - watch.last) * 1000 > OUTAGE:
            watch.since = now
        watch.last = now

    def failed(self, stream: str) -> bool:
        """The stream's leader has not answered; returns whether that is news."""
        watch = self._watches[stream]
        news, watch.failed = not watch.failed, True
        return news

    def not_stored(self, stream: str) -> None:
        """An append was not stored: whatever reads say, nobody can move."""
        self._watches[stream].doubted = self._steady() + DOUBT_S

    def silent(self) -> list[str]:
        """The streams that did not answer when they were last asked."""
        return [stream for stream, watch in self._watches.items() if watch.failed]

    def is_cut_off(self, stream: str) -> bool:
        """Whether others hear the stream, as they have written down, and this instance does not: it cannot look after it."""
        return self._watches[stream].cut_off

    def knows(self, stream: str) -> bool:
        """Whether every outage of the stream is known here: it answers, and has done so without one since that was seen written down.

        While it does not, no turn ends; while Postgres is away it may go on to.
        """
        watch = self._watches[stream]
        return watch.settled >= watch.since >= 0 and (self._steady() - watch.last) * 1000 <= OUTAGE

    def was_set(self, now: int) -> bool:
        """Whether the wall clock, which says `now`, was set since what was answered was last written down."""
        return self._apart is not None and abs(now - self._steady() * 1000 - self._apart) > LEEWAY

    def silences(self, beats: Mapping[str, Beat], now: int) -> list[Silence]:
        """What is to be written down, `now` by the wall clock, of what was answered; `beats` is what is. Raises `WentBack`."""
        found: list[Silence] = []
        steady = self._steady()
        self._told.clear()
        self._measured = now - steady * 1000
        for stream, watch in self._watches.items():
            self._compare(watch, _beat(beats, stream), now, steady)
            if watch.last < 0:
                continue
            at, was, until = now - round((steady - watch.last) * 1000), _beat(beats, stream), 0
            if was is not None and was.at - now > OUTAGE:  # in the future; later than what this instance has heard may be true
                if was.holder == self._holder or self._stands(stream, was, steady):
                    raise WentBack
            elif was is not None:
                since = at - round((watch.last - max(watch.since, watch.settled)) * 1000)
                until = since if since - was.at > OUTAGE else 0
            self._told[stream] = (watch.last, bool(until))
            if was is None or at > was.at:
                found.append(Silence(stream, was.at if was else 0, at, until))
        return found

    def _compare(self, watch: Watch, was: Beat | None, now: int, steady: float) -> None:
        """What another's newest beat says of a stream that did not answer when it was last asked."""
        if not watch.failed or was is None or was.holder == self._holder:
            return
        heard = now - round((steady - watch.last) * 1000) if watch.last >= 0 else 0
        watch.cut_off = was.at - heard > CUT_OFF and now - was.at <= OUTAGE

    def settle(self, moved: Collection[str]) -> None:
        """What `silences` told is written down as far as it `moved`, and all outages that are written down are known here."""
        self._apart = self._measured
        for stream, (last, outage) in self._told.items():
            if not outage or stream in moved:
                self._watches[stream].settled = max(self._watches[stream].settled, last)

    def back(self, beats: Mapping[str, Beat], now: int) -> list[Silence]:
        """The beats as they shall be after the wall clock went back to `now`."""
        was = {stream: _beat(beats, stream) for stream in self._watches}
        return [Silence(stream, beat.at, now) for stream, beat in was.items() if beat is not None and beat.at > now]

    def _stands(self, stream: str, beat: Beat, steady: float) -> bool:
        """Whether another's beat that lies in the future has stood for an outage's time: whoever wrote it has died, or set its clock."""
        seen, since = self._ahead.get(stream, (None, 0.0))
        if seen != beat:
            self._ahead[stream] = (beat, steady)
            return False
        return (steady - since) * 1000 > OUTAGE


def _beat(beats: Mapping[str, Beat], stream: str) -> Beat | None:
    """The stream's own, or, before it has one, the one of all streams that an instance of an earlier version kept."""
    return beats.get(stream) or beats.get("")
