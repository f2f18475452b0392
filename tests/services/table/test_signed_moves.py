"""Moves that nobody else can make: signed by their player, kept in the commit, checked by the audit."""

from __future__ import annotations

import json
from hashlib import sha256

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from services.ledger.audit.rules_check import by_the_rules
from services.ledger.views.tables import Line, Table
from services.table.view import view
from shared.eventlog.aggregates.aggregates import Committed, RefusedAt, Request
from shared.events import address
from shared.events.commit import decode, encode, signed_text
from shared.events.upcast import stored_table_events
from shared.rules.convention.options import to_document
from shared.rules.convention.rules_digest import rules_digest
from shared.rules.language.moves import Discard
from shared.rules.pulka import decider as match
from tests.audit import stranger
from tests.services.table.playing import PLAYERS, TABLE_ID, Playing

HOLDERS = {player: Ed25519PrivateKey.from_private_bytes(bytes([number + 1] * 32)) for number, player in enumerate(PLAYERS)}


def public(player):
    return HOLDERS[player].public_key().public_bytes_raw().hex()


def text_of(table, seat, move):
    """The text of a move as its client makes it, from what its view shows."""
    told = msgspec.to_builtins(move)
    if told["type"] == "discard":
        salt = bytes.fromhex(view(table, seat, "", 0, ())["discard_salt"])
        told = {"type": "discard", "digest": sha256(salt + " ".join(told["cards"]).encode()).hexdigest()}
    return json.dumps(told, separators=(",", ":"))


class Signing(Playing):
    """A table at which the players of the seats in `keyed` sign."""

    def __init__(self, keyed=(0, 2), **options):
        super().__init__(**options)
        keys = tuple(public(player) if seat in keyed else "" for seat, player in enumerate(PLAYERS[:3]))
        convention, target = self.opening.convention, self.opening.target
        digest = rules_digest(to_document(convention), 3, target, {})
        self.opening = msgspec.structs.replace(self.opening, keys=keys, rules_digest=digest)

    async def signature(self, player, move):
        loaded = await self.tables.load(TABLE_ID)
        seat = PLAYERS.index(player)
        told = signed_text(TABLE_ID, loaded.revision + 1, loaded.head_hash, text_of(loaded.state, seat, move))
        return HOLDERS[player].sign(told).hex()

    async def send(self, player, move, key=None, if_match=None, signature=None):
        self.now += 1_000
        request = Request(command_id=key or f"key-{next(self._keys)}", actor=player, digest=repr(move), now=self.now)
        if signature is None:
            signature = await self.signature(player, move) if self.opening.keys[PLAYERS.index(player)] else ""
        return await self.tables.move(TABLE_ID, player, move, if_match, request, signature)

    @property
    def commits(self):
        return [decode(stored.data) for stored in self.store.aggregate(address.table(TABLE_ID))]


def problems(commits):
    lines = [Line(Table(TABLE_ID), commit, stored_table_events(commit)) for commit in commits]
    return [(found.revision, found.code) for found in by_the_rules(TABLE_ID, lines)]


async def played(phase="auction", deal=1, **options):
    playing = await Signing(**options).open()
    await playing.until(phase, deal)
    return playing


async def test_a_whole_pulka_is_signed_and_checked():
    """Each move of who has a key is signed, a discard by the digest of its box; nobody else's, and no time-out."""
    playing = await Signing().open()
    while (await playing.table()).pulka.status != "over":
        await playing.step()
    signed = [commit for commit in playing.commits if commit.signed is not None]
    assert {commit.actor for commit in signed} == {"ann", "cid"}
    assert any(b'"digest"' in commit.signed.move.encode() for commit in signed)
    assert not any("cards" in commit.signed.move for commit in signed)
    assert all(commit.signed for commit in playing.commits if commit.actor in {"ann", "cid"})
    assert problems(playing.commits) == []


async def test_a_move_without_its_signature_is_refused():
    """So is one with a signature over another move, another revision, or by another key; nothing happens."""
    playing = await played()
    pulka = (await playing.table()).pulka
    while pulka.seats[match.to_act(pulka)] == "ben":
        await playing.step()
        pulka = (await playing.table()).pulka
    player, move = pulka.seats[match.to_act(pulka)], match.legal_moves(pulka, match.to_act(pulka))[0]
    before = (await playing.table()).revision
    missing = await playing.send(player, move, signature="")
    assert (missing.refused.code, missing.revision) == ("signature_missing", before)
    other = next(one for one in match.legal_moves(pulka, match.to_act(pulka)) if one != move)
    for wrong in ("00" * 64, "zz", await playing.signature(player, other), HOLDERS["ben"].sign(b"").hex()):
        refused = await playing.send(player, move, signature=wrong)
        assert isinstance(refused, RefusedAt)
        assert refused.refused.code == "signature_wrong"
    assert (await playing.table()).revision == before
    assert isinstance(await playing.send(player, move), Committed)


async def test_who_has_no_key_signs_nothing():
    """A signature of theirs would prove nothing, and is not kept."""
    playing = await played(keyed=(0,))
    while (pulka := (await playing.table()).pulka).seats[match.to_act(pulka)] == "ann":
        await playing.step()
    player, move = pulka.seats[match.to_act(pulka)], match.legal_moves(pulka, match.to_act(pulka))[0]
    done = await playing.send(player, move, signature=await playing.signature(player, move))
    assert done.commit.signed is None
    assert b"signed" not in done.stored.data


async def test_a_repeat_gets_its_first_answer():
    """Under the same key, with the signature of then or of now."""
    playing = await played(keyed=(0, 1, 2))
    pulka = (await playing.table()).pulka
    player, move = pulka.seats[match.to_act(pulka)], match.legal_moves(pulka, match.to_act(pulka))[0]
    signature = await playing.signature(player, move)
    first = await playing.send(player, move, key="one", signature=signature)
    again = await playing.send(player, move, key="one", signature=signature)
    assert (again.repeated, again.stored) == (True, first.stored)


async def test_the_salt_of_a_discard_is_the_declarers_alone():
    """In the phase in which they need it, and only where they sign."""
    for keyed, shown in (((0, 1, 2), True), ((), False)):
        playing = await played("discard", keyed=keyed)
        table = await playing.table()
        declarer = match.to_act(table.pulka)
        for eye in (None, 0, 1, 2):
            assert bool(view(table, eye, "", 0, ())["discard_salt"]) == (shown and eye == declarer)


@pytest.mark.parametrize(
    "lie",
    ["no signature", "another move", "another signature", "another discard", "a key that nobody has"],
)
async def test_a_lie_is_named(lie):
    """By revision and code, though all hashes were made anew."""
    playing = await played("between_deals", keyed=(0, 1, 2), seed=5)
    commits = playing.commits
    discards = lie == "another discard"
    place = next(
        number for number, commit in enumerate(commits)
        if commit.signed and (("digest" in commit.signed.move) if discards else ("play" in commit.signed.move))
    )  # fmt: skip
    changed = {
        "no signature": {"signed": None},
        "another move": {"signed": msgspec.structs.replace(commits[place].signed, move='{"type":"play","card":"7S"}')},
        "another signature": {"signed": msgspec.structs.replace(commits[place].signed, signature="00" * 64)},
        "another discard": {"signed": msgspec.structs.replace(commits[place].signed, move='{"type":"discard","digest":"00"}')},
        "a key that nobody has": {"actor": "service"},
    }[lie]
    commits[place] = msgspec.structs.replace(commits[place], **changed)
    found = problems([decode(encode(commit)) for commit in commits])
    assert found
    assert found[0] == (place + 1, "signature")


async def test_a_deal_that_is_folded_from_the_log_keeps_the_keys():
    """Another instance asks for signatures as well."""
    playing = await played()
    pulka = (await playing.table()).pulka
    assert pulka.keys == (public("ann"), "", public("cid"))
    assert isinstance(Discard(("7S", "8S")), Discard)


async def test_the_verifier_of_members_checks_signatures_too(tmp_path):
    """`verify.py` accepts what was signed, and names a signature that is missing, wrong or over another discard."""
    playing = await played("between_deals", keyed=(0, 1, 2), seed=5)
    commits = playing.commits
    table = {TABLE_ID: [encode(commit) for commit in commits]}
    assert stranger.problems(tmp_path / "export", stranger.exported(table)) == []
    place = next(number for number, commit in enumerate(commits) if commit.signed and "digest" in commit.signed.move)
    lies = (
        None,
        msgspec.structs.replace(commits[place].signed, signature="00" * 64),
        msgspec.structs.replace(commits[place].signed, move='{"type":"discard","digest":"00"}'),
    )
    for lie in lies:
        forged = [*commits[:place], msgspec.structs.replace(commits[place], signed=lie), *commits[place + 1 :]]
        table = {TABLE_ID: stranger.rechained([encode(commit) for commit in forged])}
        found = stranger.problems(tmp_path / "export", stranger.exported(table))
        assert (TABLE_ID, place + 1, "signature") in found
