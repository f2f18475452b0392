"""The hash chain of one aggregate, checked without any key: every commit names the hash of the one before, so no byte changes unnoticed.

A chain alone cannot tell that its end was cut off or rewritten; a hash known from elsewhere can (the ledger's mirror, a signed checkpoint,
the `hash` that a player was answered with).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from shared.events.commit import FIRST_PREV_HASH, Commit, decode, hash_of
from shared.rules.language.documents import doubled

Damage = Literal["changed", "unreadable", "missing", "gap", "swapped", "added", "foreign", "time_back"]
ORDER: Final = ("unreadable", "foreign", "changed", "missing", "gap", "swapped", "added", "time_back")  # of several at one revision


class Finding(msgspec.Struct, frozen=True):
    """What is wrong, and at which revision. `code` is a stable word, `message` a sentence for people."""

    revision: int
    code: str
    message: str


class ChainReport(msgspec.Struct, frozen=True):
    """`verified`: nothing is wrong. `commits` were looked at; `head` is the hash of the one with the highest revision, `""` for none."""

    verified: bool
    commits: int
    head: str
    problems: tuple[Finding, ...]


class _Link(msgspec.Struct):
    """A commit where it lies. `revision` is its own word for it until another is proved to be its place."""

    commit: Commit
    hash: str
    revision: int


def verify_chain(commits: Iterable[bytes], aggregate: str | None = None, known: Mapping[int, str] | None = None) -> ChainReport:
    """Checks the stored bytes of one aggregate's commits in the order of the log.

    `aggregate` is its subject, by default the one that most of them name; `known` are hashes by revision that must be found. Codes:
    `changed` (bytes of this commit), `unreadable` (no commit any more, or one that names a member twice), `missing`, `gap` (the hashes
    follow, the numbers jump), `swapped` (out of its place), `added` (a second one of its revision), `foreign` (another aggregate's),
    `time_back`. Without `known`, a change to the last commit shows only if it breaks the link to the one before.
    """
    return _Chain(tuple(commits), aggregate, known or {}).report()


class _Chain:
    """One check, step by step; each step explains what it can and hands on the rest."""

    def __init__(self, stored: tuple[bytes, ...], aggregate: str | None, known: Mapping[int, str]) -> None:
        self._count = len(stored)
        self._aggregate = aggregate
        self._known = known
        self._problems: dict[tuple[int, Damage], str] = {}
        self._lost: set[int] = set()  # revisions whose commit lies there but cannot be read
        self._links = self._read(stored)

    def report(self) -> ChainReport:
        self._drop_foreign()
        self._place()
        self._drop_added()
        self._order()
        chain = {link.revision: link for link in self._links}
        self._find_missing(chain)
        self._find_changed(chain)
        self._find_time_back(chain)
        found = sorted(self._problems.items(), key=lambda problem: (problem[0][0], ORDER.index(problem[0][1])))
        problems = tuple(Finding(revision, code, message) for (revision, code), message in found)
        return ChainReport(not problems, self._count, chain[max(chain)].hash if chain else "", problems)

    def _note(self, revision: int, code: Damage, message: str) -> None:
        self._problems.setdefault((revision, code), message)

    def _read(self, stored: tuple[bytes, ...]) -> list[_Link]:
        links: list[_Link] = []
        before = 0
        for data in stored:
            try:
                commit = decode(data)
            except msgspec.DecodeError:
                before += 1
                self._lost.add(before)
                self._note(before, "unreadable", f"What lies at revision {before} is no commit.")
            else:
                before = commit.revision
                if (twice := doubled(data)) is not None:  # readers differ in which of the two they take (RFC 7493, 2.3)
                    self._note(before, "unreadable", f"Revision {before} names {twice} twice.")
                links.append(_Link(commit, hash_of(data), commit.revision))
        return links

    def _follows(self, link: _Link, hashes: Mapping[str, int]) -> int | None:
        """The revision at which `link` belongs by the hash that it names; `None` when nothing here has that hash."""
        before = 0 if link.commit.prev_hash == FIRST_PREV_HASH else hashes.get(link.commit.prev_hash)
        return None if before is None else before + 1

    def _drop_foreign(self) -> None:
        """Commits of another aggregate, unless they follow from this one: then only the name in them was changed."""
        if not self._links:
            return
        ours = self._aggregate or Counter(link.commit.aggregate for link in self._links).most_common(1)[0][0]
        own = [link for link in self._links if link.commit.aggregate == ours]
        hashes = {link.hash: link.revision for link in own}
        taken = {link.revision for link in own}
        for link in self._links:
            if link.commit.aggregate == ours:
                continue
            if hashes and link.revision not in taken and self._follows(link, hashes) == link.revision:
                self._note(
                    link.revision, "changed", f"Revision {link.revision} names another aggregate, and stands where this one's belongs."
                )
                own.append(link)
            else:
                self._note(link.revision, "foreign", f"A commit of {link.commit.aggregate} lies among those of {ours}.")
        kept = {id(link) for link in own}
        self._links = [link for link in self._links if id(link) in kept]

    def _place(self) -> None:
        """Commits whose revision was changed: the hash that they name shows where they belong, if that place is empty."""
        hashes = {link.hash: link.revision for link in self._links}
        taken = {link.revision for link in self._links}
        named = {link.commit.prev_hash for link in self._links}
        for link in self._links:
            place = self._follows(link, hashes)
            if place is None or place == link.revision or place in taken or link.hash in named:
                continue  # where it says, or followed by a commit that knows it with this number: then it was stored so
            self._note(place, "changed", f"Revision {place} calls itself {link.revision}.")
            link.revision = place
            taken.add(place)

    def _drop_added(self) -> None:
        """Of several commits with one revision, the one that the chain runs through stays."""
        hashes = {link.hash: link.revision for link in self._links}
        named = {link.commit.prev_hash for link in self._links}
        kept: dict[int, _Link] = {}
        for link in self._links:
            rival = kept.get(link.revision)
            if rival is not None:
                self._note(link.revision, "added", f"There is a second commit with revision {link.revision}.")
            if rival is None or self._held(link, hashes, named) > self._held(rival, hashes, named):
                kept[link.revision] = link
        self._links = [link for link in self._links if kept[link.revision] is link]

    def _held(self, link: _Link, hashes: Mapping[str, int], named: set[str]) -> int:
        """How well the chain holds `link`: by its hash known from elsewhere, by the next commit, by the one before."""
        known = self._known.get(link.revision) == link.hash
        return 4 * known + 2 * (link.hash in named) + (self._follows(link, hashes) == link.revision)

    def _order(self) -> None:
        """All commits outside the longest rising sequence of revisions are out of their place."""
        ends: list[int] = []  # of the best sequences of length 1, 2, …: the lowest revision that one of them ends with
        length: list[int] = []  # of the longest sequence that ends with each commit
        for link in self._links:
            place = bisect_left(ends, link.revision)
            ends[place : place + 1] = [link.revision]
            length.append(place + 1)
        wanted = len(ends)
        for link, reached in zip(reversed(self._links), reversed(length), strict=True):
            if reached == wanted:
                wanted -= 1
            else:
                self._note(link.revision, "swapped", f"Revision {link.revision} stands out of its place.")

    def _find_missing(self, chain: Mapping[int, _Link]) -> None:
        before = 0
        for revision in sorted({*chain, *self._lost}):
            if revision - before > 1:
                self._note_absent(chain, before + 1, revision - 1)
            before = revision
        if (end := max(self._known, default=0)) > before:
            self._note_absent(chain, before + 1, end)

    def _note_absent(self, chain: Mapping[int, _Link], first: int, last: int) -> None:
        after = chain.get(last + 1)
        if after is not None and after.commit.prev_hash == self._hash_at(chain, first - 1):
            self._note(first, "gap", f"Revision {last + 1} follows from revision {first - 1}: the numbers jump.")
        else:
            self._note(first, "missing", f"Revision {first} is missing." if first == last else f"Revisions {first} to {last} are missing.")

    def _find_changed(self, chain: Mapping[int, _Link]) -> None:
        """Where a hash does not fit, the fewest commits that explain it: one whose own hash and whose word for the one before are both
        wrong, else the earlier.
        """
        blamed = {revision for revision, known in self._known.items() if revision in chain and chain[revision].hash != known}
        broken = [revision for revision in sorted(chain) if self._breaks(chain, revision)]
        for revision in broken:
            if revision in blamed or revision - 1 in blamed:
                continue
            blamed.add(revision if revision == 1 or revision + 1 in broken else revision - 1)
            if revision > 1 and revision == max(chain) and revision not in self._known and revision - 1 not in self._known:
                either = f"Revision {revision} names another hash for the one before: one of the two was changed."
                self._note(revision - 1, "changed", either)
        for revision in blamed:
            self._note(revision, "changed", f"The bytes of revision {revision} are not those that were stored.")

    def _breaks(self, chain: Mapping[int, _Link], revision: int) -> bool:
        """Whether the commit at `revision` names another hash than that of the one before, where that one is here."""
        before = self._hash_at(chain, revision - 1)
        return before is not None and chain[revision].commit.prev_hash != before

    def _hash_at(self, chain: Mapping[int, _Link], revision: int) -> str | None:
        if revision == 0:
            return FIRST_PREV_HASH
        return chain[revision].hash if revision in chain else None

    def _find_time_back(self, chain: Mapping[int, _Link]) -> None:
        latest = 0
        for revision in sorted(chain):
            if (revision, "changed") in self._problems:
                continue  # its time proves nothing
            at = chain[revision].commit.at
            if at < latest:
                self._note(revision, "time_back", f"Revision {revision} is {latest - at} ms earlier than the one before.")
            latest = max(latest, at)
