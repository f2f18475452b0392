"""From stored commits to an aggregate's state, link by link: nothing here asks the log, and nothing is taken that does not follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic

import msgspec

from shared.eventlog.aggregates.copies import is_copy
from shared.eventlog.aggregates.decisions import BrokenChain, Codec, Committed, E, Loaded, S, command_key
from shared.eventlog.command_keys import CommandKeys
from shared.eventlog.port import Stored
from shared.events.address import Address
from shared.events.commit import Commit, decode, hash_of
from shared.events.sealed import TamperedBox
from shared.rules.language.refusal import Malformed

#: What the fold of an event that cannot stand where it does raises; a fold rejects nothing itself.
_NO_NEXT: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, Malformed)


class Folded(msgspec.Struct, Generic[S, E], frozen=True):
    """An aggregate, its last commit (None when it has none here), the keys of all its commands, and at what revision it was `kept` last."""

    loaded: Loaded[S]
    last: Committed[S, E] | None = None
    keys: CommandKeys = CommandKeys()
    kept: int = 0


class Folding(Generic[S, E]):
    """How one kind of aggregate is folded: `initial(address)` is a state before any commit, `fold(state, commit, events)` the one after it.

    `alone(events)`: a commit with these events is an aggregate's last, and what came before it may have left the log; it then is folded
    from `initial`, and no earlier command is remembered.
    """

    def __init__(
        self,
        codec: Codec[E],
        initial: Callable[[Address], S],
        fold: Callable[[S, Commit, tuple[E, ...]], S],
        alone: Callable[[tuple[E, ...]], bool],
    ) -> None:
        self._codec = codec
        self._initial = initial
        self._fold = fold
        self._alone = alone

    def empty(self, address: Address) -> Folded[S, E]:
        """The aggregate before any commit."""
        return Folded(Loaded(address, self._initial(address)))

    def stored(self, folded: Folded[S, E], stored: Stored) -> Folded[S, E]:
        """After one commit as the log has it; the copy of the last one changes its place only. Raises `BrokenChain`."""
        if folded.last is not None and is_copy(stored, folded.last.stored):
            return _at_copy(folded, stored)
        before = folded.loaded
        commit = _commit_in(stored, before)
        return self.commit(folded, stored, commit, self._opened(stored, commit, before))

    def all_stored(
        self, folded: Folded[S, E], commits: Sequence[Stored], closes: Callable[[Loaded[S], tuple[E, ...]], bool] | None = None
    ) -> tuple[Folded[S, E], Folded[S, E] | None]:
        """After all of `commits`; and as it was at the last of them after which `closes(loaded, events)`, None where that was after none.

        Raises `BrokenChain`.
        """
        closed: Folded[S, E] | None = None
        for stored in commits:
            folded = self.stored(folded, stored)
            if closes is not None and folded.last is not None and closes(folded.loaded, folded.last.events):
                closed = folded
        return folded, closed

    def commit(self, folded: Folded[S, E], stored: Stored, commit: Commit, events: tuple[E, ...]) -> Folded[S, E]:
        """After `commit`, whose events in plain are `events` and which lies in the log as `stored`. Raises `BrokenChain`."""
        before = folded.loaded
        if commit.aggregate == before.address.subject and commit.revision > before.revision and self._alone(events):
            return self._begun_with(stored, before, commit, events)
        follows = (before.address.subject, before.revision + 1, before.head_hash)
        if (commit.aggregate, commit.revision, commit.prev_hash) != follows:
            raise BrokenChain(
                f"{stored.position} does not follow revision {before.revision} of {before.address.subject}", before.revision + 1
            )
        own_hash = hash_of(stored.data)
        state = self._after(stored, before, before.state, commit, events)
        after = Loaded(before.address, state, commit.revision, stored.sequence, own_hash, commit.at)
        keys = folded.keys.added(command_key(commit.actor, commit.command_id))
        return Folded(after, Committed(stored, commit, own_hash, events, after), keys, folded.kept)

    def restored(self, loaded: Loaded[S], keys: CommandKeys, stored: Stored) -> Folded[S, E]:
        """The aggregate that a snapshot tells of. Raises `BrokenChain` where `stored` is not the commit that it names."""
        if (stored.sequence, hash_of(stored.data)) != (loaded.sequence, loaded.head_hash):
            raise BrokenChain(f"{stored.position} is not what a snapshot of {loaded.address.subject} names", loaded.revision)
        commit = _commit_in(stored, loaded)
        if (commit.aggregate, commit.revision, commit.at) != (loaded.address.subject, loaded.revision, loaded.at):
            raise BrokenChain(f"{stored.position} is another commit than a snapshot of {loaded.address.subject} says", loaded.revision)
        return Folded(
            loaded, Committed(stored, commit, loaded.head_hash, self._opened(stored, commit, loaded), loaded), keys, loaded.revision
        )

    def _begun_with(self, stored: Stored, before: Loaded[S], commit: Commit, events: tuple[E, ...]) -> Folded[S, E]:
        """An aggregate of whose commits only the last is there, or soon will be; and no command is remembered that cannot be answered."""
        own_hash, state = hash_of(stored.data), self._after(stored, before, self._initial(stored.address), commit, events)
        after = Loaded(stored.address, state, commit.revision, stored.sequence, own_hash, commit.at)
        return Folded(after, Committed(stored, commit, own_hash, events, after), CommandKeys(first=commit.revision + 1))

    def _opened(self, stored: Stored, commit: Commit, before: Loaded[S]) -> tuple[E, ...]:
        """Raises `BrokenChain` for events that no program of ours writes, or whose boxes were changed."""
        try:
            return self._codec.open(commit)
        except (msgspec.DecodeError, TamperedBox) as wrong:
            raise BrokenChain(f"{stored.position} of {before.address.subject} has an event that is none", before.revision + 1) from wrong

    def _after(self, stored: Stored, before: Loaded[S], state: S, commit: Commit, events: tuple[E, ...]) -> S:
        """Raises `BrokenChain` for events that cannot happen where they stand."""
        try:
            return self._fold(state, commit, events)
        except _NO_NEXT as wrong:
            raise BrokenChain(f"{stored.position} of {before.address.subject} cannot follow", before.revision + 1) from wrong


def last_of(folded: Folded[S, E]) -> Committed[S, E]:
    """The last commit. Raises `BrokenChain` for an aggregate that has lost what it had."""
    if folded.last is None:
        raise BrokenChain(f"{folded.loaded.address.subject} lost commits that it had", 1)
    return folded.last


def _at_copy(folded: Folded[S, E], stored: Stored) -> Folded[S, E]:
    """The same aggregate, whose last commit lies at the place of its copy `stored` too: there the next one is expected to follow."""
    if folded.last is None:
        return folded
    after = msgspec.structs.replace(folded.loaded, sequence=stored.sequence)
    return msgspec.structs.replace(folded, loaded=after, last=msgspec.structs.replace(folded.last, stored=stored, loaded=after))


def _commit_in(stored: Stored, before: Loaded[S]) -> Commit:
    """Raises `BrokenChain` for bytes that are no commit."""
    try:
        return decode(stored.data)
    except msgspec.DecodeError:
        raise BrokenChain(f"{stored.position} of {before.address.subject} is no commit", before.revision + 1) from None
