"""What verification notices: any damage to the log, to the rules' decisions, and to the rows; and that it needs no key."""

from __future__ import annotations

import json

import msgspec
import pytest

from services.ledger.audit.verify import verify_table
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events.commit import decode, encode, hash_of
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers


async def copied(played, change=lambda _revision, data: data, drop=(), *, rechain=False):
    """A log with the table's commits, some changed or left out; rechained as somebody would who knows how the hashes are made."""
    log, head, sequence = MemoryLog(MemoryStore()), None, 0
    for recorded in played.commits:
        if recorded.revision in drop:
            continue
        data = change(recorded.revision, recorded.data)
        if rechain and head is not None:
            data = encode(msgspec.structs.replace(decode(data), prev_hash=head))
        head = hash_of(data)
        sequence = log.store.store(played.address, data, recorded.revision).sequence
    assert sequence
    return log


def codes(verdict):
    return {(problem["revision"], problem["code"]) for problem in verdict["problems"]}


def with_event(revision, name, **fields):
    """Changes an event called `name` in that commit, or in the first that has one when `revision` is None."""
    done = []

    def change(at, data):
        commit = decode(data)
        events = [json.loads(raw) for raw in map(bytes, commit.events)]
        for event in events:
            if event["type"] == name and at == (revision or at) and not done:
                event.update({key: value(event[key]) for key, value in fields.items()})
                done.append(at)
        encoded = tuple(msgspec.Raw(json.dumps(event, separators=(",", ":")).encode()) for event in events)
        return encode(msgspec.structs.replace(commit, events=encoded))

    change.done = done
    return change


CLUB = {"preset": "classic", "shared_misere": True, "misere_no_talon": True}
TIMED = {"preset": "federation", "ends_when": "time:9"}


@pytest.mark.parametrize(
    ("convention", "players"),
    [("sochi", 3), ("leningrad", 4), ("rostov", 4), ("sochi", 2), ("rostov", 5), ("classic", 3), (CLUB, 4), (TIMED, 3), ("classic", 2)],
)
async def test_a_good_table_is_verified(projector, log, connection, convention, players):
    """A pulka is verified from its log and rows alone, at its end and in the middle of a deal."""
    played = await PlayedTable(log, 21, convention=convention, players=players).play(commits=70)
    for commits in (0, 2000):
        if commits:
            await played.play(commits=commits)
        assert await projector.at_least.wait(played.commits[-1].position)
        verdict = await verify_table(log, played.address, connection)
        assert verdict == {"verified": True, "commits": len(played.commits), "head": hash_of(played.commits[-1].data), "problems": []}


@pytest.mark.parametrize(
    ("event", "fields", "code"),
    [
        ("DealRevealed", {"server_seed": lambda seed: seed[::-1]}, "commitment"),
        ("DealRevealed", {"talon": lambda talon: " ".join(reversed(talon.split()))}, "shuffle"),
        ("DealRevealed", {"hands": lambda hands: [*hands[1:], hands[0]]}, "shuffle"),
        ("DealStarted", {"commitment": lambda _: "0" * 64}, "commitment"),
        ("DeckCut", {"at": lambda at: 4 if at == 16 else 16}, "shuffle"),
        ("CardPlayed", {"by": lambda by: (by + 1) % 3}, "not_by_the_rules"),
        ("BidMade", {"bid": lambda _: "10NT"}, "not_by_the_rules"),
        ("TrickWon", {"seat": lambda seat: (seat + 1) % 3}, "not_by_the_rules"),
        ("DealScored", {"entries": lambda entries: [{**entries[0], "amount": 99}, *entries[1:]]}, "not_by_the_rules"),
        ("PulkaClosed", {"settlement": lambda settlement: {**settlement, "rounded": [1, 1, -2]}}, "not_by_the_rules"),
    ],
)
async def test_a_forged_log_is_noticed_though_its_hashes_fit(log, event, fields, code):
    """Events that the server would have liked better, in a chain hashed anew, are found by recomputing deal and rules."""
    played = await PlayedTable(log, 22, target=4).play()
    forgery = with_event(None, event, **fields)
    verdict = await verify_table(await copied(played, forgery, rechain=True), played.address)
    assert forgery.done
    assert not verdict["verified"]
    assert code in {found for _, found in codes(verdict)}


async def test_damage_is_named(log, projector, connection):
    """A changed, missing or cut-off commit is named by its revision, by the hashes that the rows have mirrored."""
    played = await PlayedTable(log, 23).play(deals=2)
    assert await projector.at_least.wait(played.commits[-1].position)
    last = len(played.commits)
    flipped = await copied(played, lambda revision, data: data.replace(b'"at":', b'"at": ') if revision == 9 else data)
    assert (9, "changed") in codes(await verify_table(flipped, played.address, connection))
    assert (11, "missing") in codes(await verify_table(await copied(played, drop={11}), played.address, connection))
    assert (last, "missing") in codes(await verify_table(await copied(played, drop={last}), played.address, connection))


async def test_damage_behind_what_is_verified_is_not_told(log):
    """F20, F25: whoever sees a table some deals late hears of it as far as they see it, and of bytes that are no commit where they lie."""
    played = await PlayedTable(log, 23).play(deals=1)
    damaged = await copied(played)
    damaged.store.store(played.address, b"{", 0)
    last = len(played.commits)
    assert codes(await verify_table(damaged, played.address)) == {(last + 1, "unreadable")}
    assert (await verify_table(damaged, played.address, last_revision=last))["problems"] == []
    cut = await copied(played, lambda revision, data: b"{" if revision == last else data)
    assert (last, "unreadable") in codes(await verify_table(cut, played.address, last_revision=last))


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("UPDATE scores SET written = replace(written, '\"amount\":', '\"amount\":1') WHERE deal = 1", "rows_differ"),
        ("UPDATE scores SET sheet = replace(sheet, '[', '[1') WHERE deal = 2", "rows_differ"),
        ("DELETE FROM scores WHERE deal = 2", "rows_differ"),
        ("UPDATE revealed SET talon = 'AS KS' WHERE deal = 1", "rows_differ"),
        ("UPDATE audit_trail SET actor = 'nobody' WHERE revision = 4", "rows_differ"),
        ("UPDATE audit_trail SET hash = repeat('0', 64) WHERE revision = 4", "rows_differ"),
        ("DELETE FROM audit_trail WHERE revision > 8", "rows_missing"),
        ("UPDATE tables SET delay_deals = 3", "rows_differ"),
        ("UPDATE accounts SET rounded = rounded + 1 WHERE seat = 0", "rows_differ"),
        ("UPDATE player_deals SET whists = '1' WHERE deal = 1", "rows_differ"),
        ("DELETE FROM player_deals WHERE role = 'declarer'", "rows_differ"),
        ("UPDATE pulka_results SET net = reverse(net)", "rows_differ"),
        ("DELETE FROM pulka_results", "rows_differ"),
    ],
)
async def test_tampered_rows_are_noticed(log, projector, connection, statement, code):
    """Rows that somebody changed in Postgres are held against the log and named."""
    played = await PlayedTable(log, 24, target=4).play()
    assert await projector.at_least.wait(played.commits[-1].position)
    assert (await verify_table(log, played.address, connection))["verified"]
    assert await connection.execute(statement) not in ("UPDATE 0", "DELETE 0")
    verdict = await verify_table(log, played.address, connection)
    assert not verdict["verified"]
    assert code in {found for _, found in codes(verdict)}
