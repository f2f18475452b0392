"""Between plain and stored events: a whole round, and nothing hidden in what is stored."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.events import address
from shared.events.catalogue import SealedCardsDealt, SealedDealStarted
from shared.events.commit import decode, encode
from shared.events.keys import MasterKeys, UnknownKey
from shared.events.lobby_events import PlayerReady
from shared.events.sealed import Sealed, TamperedBox
from shared.events.sealing import LobbyCodec, TableCodec
from shared.events.upcast import stored_table_events
from shared.rules.deck import shuffle
from shared.rules.language import game_events as game
from tests.events import story

HEX32 = st.binary(min_size=32, max_size=32).map(bytes.hex)


def commit_of(*events, codec=story.CODEC):
    return decode(story.stored([events], codec=codec)[0])


def test_a_whole_table_comes_back():
    """Every event of a pulka, stored and opened, is what it was, salts included."""
    opened = [story.CODEC.open(decode(data)) for data in story.stored(story.whole())]
    assert opened == story.whole()


@given(
    seed=HEX32, dealer=st.integers(0, 3), cut_at=st.integers(4, 28), deal=st.integers(1, 99), entropy=st.binary(min_size=16, max_size=40)
)
def test_every_deal_comes_back(seed, dealer, cut_at, deal, entropy):
    """Whatever the cards are, sealed and opened they are the same, and each box shows one of the digests that the salts open."""
    hands, talon = shuffle.deal_cards(seed, story.TABLE.id, deal, story.RULES_DIGEST, (), cut_at, 4, dealer)
    labels = [shuffle.hand_label(seat) for seat in range(4)]
    salts = [shuffle.salt(seed, label) if hand else "" for label, hand in zip(labels, hands, strict=True)]
    dealt = game.CardsDealt(hands, talon, deal, (*salts, shuffle.salt(seed, shuffle.TALON)))
    looked = game.HandSeen(dealer, (dealer + 1) % 4, hands[(dealer + 1) % 4], deal, shuffle.salt(seed, shuffle.seen_label(dealer)))
    events = (dealt, looked)
    base = commit_of()
    assert story.CODEC.open(msgspec.structs.replace(base, events=story.CODEC.seal(story.TABLE, events, entropy))) == events


def test_no_hidden_card_is_stored_in_the_open():
    """Before the reveal no card, no pair of cards, no seed and no salt that is still hidden stands in the stored bytes of a table."""
    hands, talon = story.cards()
    lying = b"".join(story.stored(story.before_reveal()[:7]))  # to the end of the auction: no card has been shown yet
    for card in {*" ".join(hands).split(), *talon.split()}:
        assert f'"{card}'.encode() not in lying
        assert f" {card}".encode() not in lying
    played = b"".join(story.stored(story.before_reveal()))
    hidden = [hands[0] or "no hand", hands[1], story.discard(), story.SERVER_SEED, *story.revealed().salts.values()]
    for secret in hidden:
        assert secret.encode() not in played
        assert secret.encode().hex().encode() not in played


def test_the_same_decision_taken_again_looks_different():
    """Fresh entropy gives other nonces and boxes for the same cards; the digests, which the reveal must open, stay."""
    one, two = (story.CODEC.seal(story.TABLE, (story.dealt(),), entropy) for entropy in (b"1" * 32, b"2" * 32))
    first, second = (msgspec.json.decode(sealed[0], type=SealedCardsDealt) for sealed in (one, two))
    for before, after in zip(first.hands[1:], second.hands[1:], strict=True):
        assert isinstance(before, Sealed)
        assert isinstance(after, Sealed)
        assert before.nonce != after.nonce
        assert before.box != after.box
        assert before.digest == after.digest
    assert len({box.nonce for box in (*first.hands[1:], first.talon)}) == 4


@pytest.mark.parametrize(
    "event",
    [
        msgspec.structs.replace(story.started(), server_seed=None),
        msgspec.structs.replace(story.started(), server_seed="ab"),
        msgspec.structs.replace(story.dealt(), talon=None),
        msgspec.structs.replace(story.dealt(), hands=(None, *story.dealt().hands[1:])),
        msgspec.structs.replace(story.dealt(), salts=()),
        msgspec.structs.replace(story.dealt(), salts=story.dealt().salts[1:]),
        game.CardsDiscarded(1, None, 1, "00" * 16),
        game.CardsDiscarded(1, "7C 8C", 1),
        game.HandSeen(0, 2, None, 1, "00" * 16),
        game.HandSeen(0, 2, "7C", 1, "xy"),
    ],
)
def test_an_event_without_its_secret_is_not_stored(event):
    """What was not sealed could never be revealed: an event whose cards, seed or salt are missing is refused."""
    with pytest.raises(ValueError, match=r"secret|salt|seed|zip|hex"):
        story.CODEC.seal(story.TABLE, (event,), b"e" * 32)


def test_a_box_moved_to_another_place_does_not_open():
    """Two hands exchanged, a deal's number changed, or a commit carried to another table: the boxes notice."""
    commit = commit_of(story.dealt())
    stored = msgspec.json.decode(commit.events[0])
    stored["hands"][1], stored["hands"][2] = stored["hands"][2], stored["hands"][1]
    swapped = msgspec.structs.replace(commit, events=(msgspec.Raw(msgspec.json.encode(stored)),))
    renumbered = msgspec.structs.replace(commit, events=(msgspec.Raw(bytes(commit.events[0]).replace(b'"deal":1', b'"deal":2')),))
    elsewhere = msgspec.structs.replace(commit, aggregate="table.3.3-" + "ac" * 13)
    for moved in (swapped, renumbered, elsewhere):
        with pytest.raises(TamperedBox):
            story.CODEC.open(moved)


def test_an_unknown_key_is_named():
    """A log sealed under a key that is not here opens nothing and says which key is missing; the check before the start does, too."""
    other = MasterKeys((("tomorrow", b"t" * 32),))
    commit = commit_of(story.dealt())
    with pytest.raises(UnknownKey, match="corpus"):
        TableCodec(other).open(commit)
    with pytest.raises(UnknownKey, match="corpus"):
        other.require(frozenset({"corpus"}))


def test_an_old_key_still_opens():
    """After a new master key is put in front, it seals, and what the old one sealed still opens."""
    both = TableCodec(MasterKeys((("tomorrow", b"t" * 32), ("corpus", bytes(range(32))))))
    assert both.open(commit_of(story.dealt())) == (story.dealt(),)
    assert b'"key":"tomorrow"' in bytes(commit_of(story.dealt(), codec=both).events[0])


def test_an_auditor_needs_no_key():
    """Without any key a commit is read with its boxes closed: their digests, and everything that is no secret."""
    started, dealt = (stored_table_events(decode(data))[-1] for data in (story.stored(story.whole())[at] for at in (1, 4)))
    assert isinstance(started, SealedDealStarted)
    assert started.commitment == story.started().commitment
    assert isinstance(dealt, SealedCardsDealt)
    assert dealt.hands[0] == ""
    assert len({box.digest for box in dealt.hands if isinstance(box, Sealed)}) == 3


def test_what_the_catalogue_does_not_know_is_refused():
    """An event with an unknown name, or without a field that it must have, is an error and never skipped."""
    for raw in (b'{"type":"DeckEaten"}', b'{"type":"BidMade","seat":1}', b'{"type":"BidMade","seat":"1","bid":"pass"}', b"{}"):
        with pytest.raises(msgspec.ValidationError):
            story.CODEC.open(msgspec.structs.replace(commit_of(), events=(msgspec.Raw(raw),)))


def test_a_later_field_is_passed_over():
    """An older instance reads a commit with a field that was added after it: additive means that nothing breaks."""
    raw = msgspec.Raw(b'{"type":"BidMade","seat":1,"bid":"pass","mood":"hopeful"}')
    assert story.CODEC.open(msgspec.structs.replace(commit_of(), events=(raw,))) == (game.BidMade(1, "pass"),)


def test_the_lobby_stores_its_events_as_they_are():
    """A lobby event comes back as it was, and no entropy is needed for what is sealed already."""
    codec, ready = LobbyCodec(), PlayerReady(2, "0-anna")
    where = address.Address("lobby", "table", story.TABLE.id)
    commit = msgspec.structs.replace(commit_of(), aggregate=where.subject, events=codec.seal(where, (ready,), b""))
    assert codec.open(decode(encode(commit))) == (ready,)
