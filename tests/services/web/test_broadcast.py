"""A broadcast by itself: turns, slices, and what is kept for those who are behind."""

from __future__ import annotations

import asyncio

from shared.web.streams import broadcast
from shared.web.streams.broadcast import Broadcast, Deliveries
from shared.web.streams.frames import Frame, as_ndjson
from tests.services.cli.processes import until_async


class Connection:
    """Takes what it is sent, or does not."""

    def __init__(self, caller=None):
        self.place, self.last, self.caller = 0, None, caller
        self.took = []
        self.takes = True
        self.said = []

    def take(self, message):
        self.took.append(message["body"])
        return self.takes

    def dismiss(self):
        self.said.append("dismissed")

    def finish(self):
        self.said.append("finished")


def commit(revision):
    return Frame("commit", b'{"revision":%d}' % revision, revision)


def nothing():
    """Nobody is told who comes and goes."""


async def heartbeat(last):
    return Frame("heartbeat", b'{"revision":%d}' % last)


def joined(count, keep=4, beat=60.0):
    """A broadcast at revision 5, and as many connections in its round."""
    house, shown, deliveries = [Connection(number) for number in range(count)], Broadcast(5, heartbeat, nothing, nothing), Deliveries()
    channels = [shown.join(member, as_ndjson, deliveries, keep, beat) for member in house]
    assert all(channel.enter(member) for channel, member in zip(channels, house, strict=True))
    return house, shown, deliveries, channels[0]


async def turns(count):
    for _ in range(count):
        await asyncio.sleep(0)


async def test_everybody_gets_the_very_same_bytes():
    """A frame is encoded once a form: not even a copy of it is made for each."""
    house, shown, *_ = joined(50)
    shown.publish(commit(6))
    await turns(3)
    assert {tuple(map(id, member.took)) for member in house} == {(id(house[0].took[0]),)}
    assert house[0].took == [as_ndjson(commit(6))]
    assert {member.last for member in house} == {6}


async def test_others_run_between_two_slices(monkeypatch):
    """However many there are to serve, whoever else wants to run does so after each slice."""
    monkeypatch.setattr(broadcast, "SLICE", 0.0)
    house, shown, *_ = joined(50)
    shown.publish(commit(6))
    served = []
    while not house[-1].took:
        await asyncio.sleep(0)
        served.append(sum(bool(member.took) for member in house))
    assert max(after - before for before, after in zip([0, *served], served, strict=False)) == 1


async def test_who_moves_is_answered_first(monkeypatch):
    """While a command is being answered nothing is sent at once, and then it does not wait for ever."""
    monkeypatch.setattr(broadcast, "SLICE", 0.0)
    house, shown, deliveries, _ = joined(3)
    with deliveries.behind():
        shown.publish(commit(6))
        await turns(20)
        assert not any(member.took for member in house)
        await until_async(lambda: house[-1].took)


async def test_what_came_meanwhile_goes_out_in_one_piece():
    """Frames that follow faster than the round are sent together, once each and in order."""
    house, shown, *_ = joined(3)
    for revision in (6, 7, 8):
        shown.publish(commit(revision))
    await turns(3)
    assert [member.took for member in house] == [[b"".join(as_ndjson(commit(revision)) for revision in (6, 7, 8))]] * 3


async def test_what_is_kept_for_who_is_behind_is_bounded():
    """Who is behind finds what they missed, up to the bound; beyond it they are told to look elsewhere, and nothing is kept for them."""
    house, shown, _, channel = joined(3, keep=4)
    house[0].takes = False
    for revision in range(6, 10):
        shown.publish(commit(revision))
        await turns(3)
    assert channel.next_for(house[0])["body"] == b"".join(as_ndjson(commit(revision)) for revision in (7, 8, 9))
    assert (house[0].last, channel.next_for(house[0])["body"]) == (9, b"")
    for revision in range(10, 20):
        shown.publish(commit(revision))
        await turns(3)
    assert channel.next_for(house[0]) is None
    assert len(channel._entries) <= 4
    shown.leave(house[0])
    shown.publish(commit(20))
    await turns(3)
    assert len(channel._entries) == 0
    assert [len(member.took) for member in house] == [1, 15, 15]


async def test_a_heartbeat_says_no_less_than_was_shown():
    """A commit that comes while a heartbeat is made is not followed by one that speaks of the revision before it."""
    asked, go_on = [], asyncio.Event()

    async def slow(last):
        asked.append(last)
        await go_on.wait()
        return await heartbeat(last)

    member, shown = Connection(), Broadcast(5, slow, nothing, nothing)
    channel = shown.join(member, as_ndjson, Deliveries(), 4, 0.001)
    channel.enter(member)
    await until_async(lambda: asked)
    shown.publish(commit(6))
    go_on.set()
    await until_async(lambda: b"heartbeat" in b"".join(member.took))
    shown.leave(member)
    lines = b"".join(member.took).splitlines(keepends=True)
    assert lines[:2] == [as_ndjson(commit(6)), as_ndjson(await heartbeat(6))]
    assert asked[:2] == [5, 6]


async def test_the_end_and_who_stays():
    """Whoever sees otherwise is dismissed; the rest get everything before they are told the end."""
    house, shown, *_ = joined(3)
    shown.sift(lambda caller: caller != 1)
    shown.publish(commit(6))
    shown.close()
    await turns(3)
    assert [member.said for member in house] == [["finished"], ["dismissed", "finished"], ["finished"]]  # who is dismissed leaves by itself
    assert all(member.took == [as_ndjson(commit(6))] for member in house)
