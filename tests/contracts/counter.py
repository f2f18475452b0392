"""The smallest aggregate there is: a number that is added to, and that refuses to go over a limit."""

import msgspec

from shared.eventlog.aggregates.aggregates import Aggregates, Request
from shared.eventlog.aggregates.packing import Unpackable
from shared.rules.language.refusal import Refused

LIMIT = 1000


class Added(msgspec.Struct, frozen=True, tag_field="type"):
    """`amount` was added to a counter that stood at `seen`. `last`: that is all there will be."""

    amount: int
    seen: int
    box: str = ""
    last: bool = False


class Clear:
    """A codec that stores what it is given; the entropy shows in the stored form, as a sealed box's nonce does."""

    def seal(self, _address, events, entropy):
        return tuple(msgspec.Raw(msgspec.json.encode(msgspec.structs.replace(event, box=entropy.hex()))) for event in events)

    def open(self, commit):
        return tuple(msgspec.structs.replace(msgspec.json.decode(raw, type=Added), box="") for raw in commit.events)


def fold(total, _commit, events):
    for event in events:
        assert event.last or event.seen == total, "an event was decided on a stale total"
        total = event.seen + event.amount
    return total


class CounterBooks:
    """Counters close their books at every commit."""

    version = "1"

    def closes(self, _loaded, _events):
        return True

    def pack(self, _address, state):
        return msgspec.json.encode(state)

    def unpack(self, _address, data):
        try:
            return msgspec.json.decode(data, type=int)
        except msgspec.DecodeError as wrong:
            raise Unpackable("no number") from wrong


def counters(log, **settings):
    """The counters as one instance of a service sees them."""
    return Aggregates(log, Clear(), lambda _address: 0, fold, **{"books": CounterBooks(), **settings})


def add(amount, calls=None):
    """Decide to add `amount`, over the limit refused, 0 nothing to do; each call is noted in `calls`."""

    def decide(loaded, _at):
        if calls is not None:
            calls.append(loaded.revision)
        if loaded.state + amount > LIMIT:
            return Refused("over_the_limit", "", "No more fits.")
        return (Added(amount, loaded.state),) if amount else ()

    return decide


def request(command_id, *, digest="d", actor="player", now=1, former_digests=()):
    return Request(command_id, actor, digest, now, former_digests=former_digests)
