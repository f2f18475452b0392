"""The hash chain: every damage is noticed, and named with its revision."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from shared.events import address
from shared.events.chain import verify_chain
from shared.events.commit import decode, encode, hash_of
from tests.events import story

CHAIN = story.stored(story.whole()[:9])
HASHES = {revision: hash_of(data) for revision, data in enumerate(CHAIN, 1)}
ELSEWHERE = story.stored(story.whole()[:9], table=address.table("3-" + "cd" * 13))


def damages(lying, **told):
    return [(problem.code, problem.revision) for problem in verify_chain(lying, **told).problems]


def relinked(lying):
    """The commits with every `prev_hash` made right again, as somebody would who forges on purpose."""
    forged: list[bytes] = []
    for data in lying:
        before = hash_of(forged[-1]) if forged else "0" * 64
        forged.append(encode(msgspec.structs.replace(decode(data), prev_hash=before)))
    return forged


def test_an_intact_chain_is_verified():
    """A whole chain has no problems; its report says how many commits there are and what the last one's hash is."""
    report = verify_chain(CHAIN, aggregate=story.TABLE.subject, known=HASHES)
    assert report.verified
    assert (report.commits, report.head, report.problems) == (9, HASHES[9], ())
    assert verify_chain([]).verified


@pytest.mark.parametrize("index", [0, 3, 8])
def test_a_changed_byte_is_found(index):
    """Any byte changed in a commit makes that commit's revision the one named, and no other; of the last, once its hash is known."""
    whole, known = CHAIN[index], {9: HASHES[9]}
    for at in range(len(whole)):
        data = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        found = damages([*CHAIN[:index], data, *CHAIN[index + 1 :]], known=known)
        assert found
        assert {revision for _, revision in found} == {index + 1}, (data, found)
        assert {code for code, _ in found} <= {"changed", "unreadable"}


def test_a_last_commit_is_held_by_a_known_hash_only():
    """A chain cannot hold its own end: a hash from elsewhere does, a mirrored head or one that a player was answered with."""
    last = CHAIN[-1].replace(b'"actor":"service"', b'"actor":"serving"')
    assert damages([*CHAIN[:-1], last]) == []
    assert damages([*CHAIN[:-1], last], known={9: HASHES[9]}) == [("changed", 9)]
    broken = CHAIN[-1].replace(HASHES[8].encode(), HASHES[7].encode())
    assert damages([*CHAIN[:-1], broken]) == [("changed", 8)]
    assert "one of the two" in verify_chain([*CHAIN[:-1], broken]).problems[0].message
    assert damages([*CHAIN[:-1], broken], known={9: HASHES[9]}) == [("changed", 9)]


def test_a_chain_rewritten_from_a_commit_on_is_found_by_a_known_hash():
    """Somebody who changes a commit and makes every later hash fit is found by any hash that was told before."""
    forged = relinked([*CHAIN[:4], CHAIN[4].replace(b'"at":11', b'"at":12'), *CHAIN[5:]])
    assert damages(forged) == []
    assert damages(forged, known={7: HASHES[7]}) == [("changed", 7)]


@pytest.mark.parametrize("index", range(9))
def test_a_missing_commit_is_found(index):
    """A commit taken out is missing at its revision; the last one, once it is known to have been there."""
    known = {9: HASHES[9]} if index == 8 else {}
    assert damages([*CHAIN[:index], *CHAIN[index + 1 :]], known=known) == [("missing", index + 1)]


def test_several_missing_commits_are_one_gap():
    """A run of commits taken out is named once, with its first and last revision, also at the end."""
    report = verify_chain([*CHAIN[:2], *CHAIN[5:]])
    assert [(problem.code, problem.revision) for problem in report.problems] == [("missing", 3)]
    assert "3 to 5" in report.problems[0].message
    assert damages(CHAIN[:6], known=HASHES) == [("missing", 7)]
    assert damages([], known={1: HASHES[1]}) == [("missing", 1)]


@pytest.mark.parametrize(("one", "other"), [(0, 1), (2, 6), (7, 8)])
def test_swapped_commits_are_found(one, other):
    """Two commits that changed places are out of place, and those between them are not."""
    lying = list(CHAIN)
    lying[one], lying[other] = lying[other], lying[one]
    found = damages(lying)
    assert {code for code, _ in found} == {"swapped"}
    named = {revision for _, revision in found}
    assert named <= {one + 1, other + 1}
    assert len(named) == (1 if other - one == 1 else 2)


@pytest.mark.parametrize("index", range(9))
def test_an_added_commit_is_found(index):
    """A commit told twice, or a second one with the revision of a real one, is added, and the real one stays the chain's."""
    forged = CHAIN[index].replace(b'"actor":"service"', b'"actor":"somebody"')
    known = {9: HASHES[9]}
    assert damages([*CHAIN[: index + 1], CHAIN[index], *CHAIN[index + 1 :]], known=known) == [("added", index + 1)]
    assert damages([*CHAIN[:index], forged, *CHAIN[index:]], known=known) == [("added", index + 1)]
    assert damages([*CHAIN[: index + 1], forged, *CHAIN[index + 1 :]], known=known) == [("added", index + 1)]


def test_a_foreign_commit_is_found():
    """A commit of another table is foreign, whether it stands between ours or in the place of one."""
    assert damages([*CHAIN[:4], ELSEWHERE[4], *CHAIN[4:]]) == [("foreign", 5)]
    assert damages([*CHAIN[:4], ELSEWHERE[4], *CHAIN[5:]]) == [("foreign", 5), ("missing", 5)]
    assert {code for code, _ in damages(ELSEWHERE, aggregate=story.TABLE.subject)} == {"foreign"}


def test_a_jump_in_the_numbers_is_found():
    """A writer that skipped a number made a gap: the hashes follow, nothing was taken away."""
    jumped = [encode(msgspec.structs.replace(decode(data), revision=decode(data).revision + 3)) for data in CHAIN[4:]]
    report = verify_chain(relinked([*CHAIN[:4], *jumped]))
    assert [(problem.code, problem.revision) for problem in report.problems] == [("gap", 5)]


def test_time_does_not_go_back():
    """A commit that is earlier than the one before it is named; one at the same time is not."""
    times = [5, 7, 7, 6, 8]
    lying = relinked([encode(msgspec.structs.replace(decode(data), at=at)) for data, at in zip(CHAIN, times, strict=False)])
    assert damages(lying) == [("time_back", 4)]


def test_several_damages_are_each_named():
    """Damages far from each other do not hide one another."""
    lying = [*CHAIN[:1], CHAIN[1].replace(b"service", b"servant"), CHAIN[2], *CHAIN[4:6], ELSEWHERE[0], CHAIN[7], CHAIN[6], CHAIN[8], b"{"]
    found = damages(lying)
    assert ("changed", 2) in found
    assert ("missing", 4) in found
    assert ("foreign", 1) in found
    assert ("unreadable", 10) in found
    assert any(code == "swapped" and revision in {7, 8} for code, revision in found)
    assert len(found) == 5


@pytest.mark.parametrize("data", [b"", b"\xff", b"[" * 100_000, CHAIN[4].replace(b'"events":[', b'"events":[' + b"[" * 100_000)])
def test_what_is_no_commit_is_unreadable(data):
    """Whatever lies in a commit's place, the check goes on and names that place."""
    assert damages([*CHAIN[:4], data, *CHAIN[5:]]) == [("unreadable", 5)]


def test_a_wild_number_does_not_stall():
    """A revision of any size is judged at once: what was damaged cannot make the check run for ever."""
    wild = encode(msgspec.structs.replace(decode(CHAIN[4]), revision=10**18, prev_hash=hashlib.sha256(b"").hexdigest()))
    assert ("missing", 5) in damages([*CHAIN[:4], wild])


@pytest.mark.parametrize(
    ("was", "becomes"),
    [(b'"at":', b'"at":5,"at":'), (b'"events":[{', b'"events":[{"type":"DeckCut",'), (b'"actor":', rb'"\u0061ctor":"clock","actor":')],
)
def test_a_commit_that_names_a_member_twice_is_unreadable(was, becomes):
    """F11, F20: what one reader takes another does not (RFC 7493, 2.3); we write no such thing, so somebody else did."""
    last = CHAIN[-1].replace(was, becomes, 1)
    assert last != CHAIN[-1]
    assert damages([*CHAIN[:-1], last]) == [("unreadable", 9)]
