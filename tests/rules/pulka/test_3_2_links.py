"""The deal that nobody can choose: chains, the cut, then the links, and a deck that follows from all of them (3.2.3-3.2.6)."""

from __future__ import annotations

import hashlib

import pytest

from shared.rules.convention.options import resolve
from shared.rules.deck import shuffle
from shared.rules.deck.chain import link_after, link_at
from shared.rules.language.chain_events import ChainCommitted, ChainsCommitted, DealerDrawn, DealerDrawStarted, LinkMissed, LinkOpened
from shared.rules.language.game_events import CardsDealt, DealStarted, DeckCut
from shared.rules.language.member_events import SeatsDrawn
from shared.rules.language.moves import CommitChain, Concede, Cut, Draw, OpenLink
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka import links
from shared.rules.pulka.decider import OpenPulka, Pulka, StartDeal
from tests.rules.pulka.test_3_2_dealer_and_cut import folded, refused

TABLE = "table"
LENGTH = 8  # links of each chain here
BEGINNINGS = {seat: f"{seat:064x}" for seat in range(-1, 5)}  # -1: the server's


def link_of(owner, round):  # noqa: A002 - the word of the documents
    """The link of `round` of a chain that is committed to before round 0."""
    return link_at(TABLE, BEGINNINGS[owner], LENGTH - 1 - round)


def end_of(owner):
    return link_at(TABLE, BEGINNINGS[owner], LENGTH)


def begun(players=3, committed=(), seating="fixed"):
    """A pulka with chains, the server's and those of the seats in `committed`."""
    ends = tuple(end_of(seat) if seat in committed else "" for seat in range(players))
    chains = ChainsCommitted(shuffle.CHAINED, end_of(-1), {}, ends, 0, LENGTH)
    terms = OpenPulka(
        resolve("sochi", 10), "00" * 32, players, 10, tuple("abcde"[:players]), {"seating": seating}, 0, link_of(-1, 0), chains
    )
    return folded(Pulka(TABLE), match.open_pulka(Pulka(TABLE), terms))


def opened_all(pulka, round):  # noqa: A002 - the word of the documents
    """All links of `round` that are asked for, opened at once."""
    return folded(pulka, match.open_links(pulka, tuple((seat, link_of(seat, round)) for seat in pulka.chains.waiting)))


def to_be_cut(committed=(0, 1, 2)):
    """Deal 1, started, the links of round 0 opened."""
    pulka = opened_all(begun(committed=committed), 0) if committed else begun()
    return folded(pulka, match.start_deal(pulka, StartDeal(1, link_of(-1, 1))))


def cut(pulka, at=11):
    return folded(pulka, match.decide(pulka, match.cutter(pulka), Cut(at)))


def test_a_link_is_what_a_shell_makes_of_it():
    """`printf 'pulka link 2 %s %s' table LINK | sha256sum`."""
    link = "ab" * 32
    assert link_after(TABLE, link) == hashlib.sha256(b"pulka link 2 table " + link.encode()).hexdigest()


def test_3_2_1_without_a_players_chain_the_first_dealer_is_drawn_at_once():
    """Nobody is asked for anything; the dealer follows from the server's link alone (3.2.1)."""
    pulka = begun()
    drawn = links.first_dealer(link_of(-1, 0), TABLE, "00" * 32, 3, ())
    assert (match.phase(pulka), pulka.next_dealer, pulka.chains.dealer_due) == ("between_deals", drawn, False)


def test_3_2_1_with_chains_the_first_dealer_follows_from_all_links():
    """The first dealer is drawn when the last link of round 0 has come (3.2.1)."""
    pulka = begun(committed=(0, 2))
    assert (match.phase(pulka), match.to_act(pulka), pulka.chains.waiting) == ("links", None, (0, 2))
    first = match.decide(pulka, 2, OpenLink(link_of(2, 0)))
    assert first == (LinkOpened(2, link_of(2, 0)),)
    pulka = folded(pulka, first)
    last = match.decide(pulka, 0, OpenLink(link_of(0, 0)))
    drawn = links.first_dealer(link_of(-1, 0), TABLE, "00" * 32, 3, ((0, link_of(0, 0)), (2, link_of(2, 0))))
    assert last == (LinkOpened(0, link_of(0, 0)), DealerDrawn(drawn, link_of(-1, 0)))
    pulka = folded(pulka, last)
    assert (match.phase(pulka), pulka.next_dealer, pulka.secrets.server_seed) == ("between_deals", drawn, "")


def test_3_1_1_seats_follow_from_the_links_too_and_each_takes_their_chain_along():
    """After the last card the links are asked for; then all sit down (3.1.1)."""
    pulka = begun(committed=(0, 1), seating="drawn")
    for seat in range(3):
        assert match.phase(pulka) == "draw"
        refused(pulka, 0, OpenLink(link_of(0, 0)), "wrong_phase", "3.2.3")
        pulka = folded(pulka, match.decide(pulka, seat, Draw(seat + 1)))
    assert match.phase(pulka) == "links"
    refused(pulka, 0, Draw(9), "wrong_phase", "3.2.3")
    ends = match.open_links(pulka, ((0, link_of(0, 0)), (1, link_of(1, 0))))
    assert [type(event) for event in ends] == [LinkOpened, LinkOpened, SeatsDrawn, DealerDrawn]
    sat = folded(pulka, ends)
    other = folded(pulka, match.links_over(pulka))
    assert sat.seats == next(event for event in ends if isinstance(event, SeatsDrawn)).seats
    assert {player: chain and chain.known for player, chain in zip(sat.seats, sat.chains.seats, strict=True)} == {
        "a": link_of(0, 0), "b": link_of(1, 0), "c": None
    }  # fmt: skip
    assert all(chain is None for chain in other.chains.seats)


def test_3_1_1_without_a_players_chain_all_sit_down_with_the_last_card():
    """Nobody is waited for (3.1.1)."""
    pulka = begun(seating="drawn")
    for seat in range(3):
        events = match.decide(pulka, seat, Draw(seat + 1))
        pulka = folded(pulka, events)
    assert [type(event).__name__ for event in events] == ["SeatCardDrawn", "SeatsDrawn", "DealerDrawn"]
    assert match.phase(pulka) == "between_deals"


def test_3_2_5_the_cut_comes_first_then_the_links_then_the_cards():
    """Nobody's link is known while somebody can still choose a cut (3.2.5)."""
    pulka = to_be_cut()
    refused(pulka, 0, OpenLink(link_of(0, 1)), "wrong_phase", "3.2.3")
    assert match.decide(pulka, match.cutter(pulka), Cut(11)) == (DeckCut(match.cutter(pulka), 11),)
    pulka = cut(pulka)
    assert (match.phase(pulka), pulka.chains.waiting) == ("links", (0, 1, 2))
    refused(pulka, match.cutter(pulka), Cut(12), "wrong_phase", "3.2.3")
    refused(pulka, 0, CommitChain("ab" * 32), "wrong_phase", "3.2.3")
    events = match.open_links(pulka, tuple((seat, link_of(seat, 1)) for seat in (2, 0, 1)))
    assert [type(event) for event in events] == [LinkOpened] * 3 + [CardsDealt]
    opened = tuple((seat, link_of(seat, 1)) for seat in (0, 1, 2))
    assert (events[-1].hands, events[-1].talon) == shuffle.deal_cards(link_of(-1, 1), TABLE, 1, "00" * 32, (), 11, 3, pulka.dealer, opened)


def test_3_2_3_a_deal_without_anybodys_chain_is_dealt_by_the_cut():
    """Whoever has no chain trusts the others: nothing is asked for, and no commit is added."""
    pulka = to_be_cut(committed=())
    events = match.decide(pulka, match.cutter(pulka), Cut(11))
    assert [type(event) for event in events] == [DeckCut, CardsDealt]
    assert (events[1].hands, events[1].talon) == shuffle.deal_cards(link_of(-1, 1), TABLE, 1, "00" * 32, (), 11, 3, pulka.dealer, ())


def test_3_2_3_who_does_not_open_in_time_is_named_and_has_no_chain_any_more():
    """To open or not is all that is left to choose, and the log names who did not."""
    pulka = cut(to_be_cut())
    pulka = folded(pulka, match.decide(pulka, 1, OpenLink(link_of(1, 1))))
    events = match.links_over(pulka)
    assert [event for event in events if isinstance(event, LinkMissed)] == [LinkMissed(0), LinkMissed(2)]
    dealt = next(event for event in events if isinstance(event, CardsDealt))
    assert dealt.talon == shuffle.deal_cards(link_of(-1, 1), TABLE, 1, "00" * 32, (), 11, 3, pulka.dealer, ((1, link_of(1, 1)),))[1]
    after = folded(pulka, events)
    assert ([chain is None for chain in after.chains.seats], after.chains.waiting) == ([True, False, True], ())
    assert match.decide(after, 0, CommitChain("ab" * 32)) == (ChainCommitted(0, "ab" * 32, 2),)


def test_3_2_3_only_the_link_of_the_round_fits():
    """A link of another round, or of another chain, is refused; the same one again is no new event."""
    pulka = cut(to_be_cut())
    for wrong in (link_of(0, 2), link_of(1, 1), "ab" * 32):
        refused(pulka, 0, OpenLink(wrong), "link_does_not_fit", "3.2.3")
    pulka = folded(pulka, match.decide(pulka, 0, OpenLink(link_of(0, 1))))
    assert match.decide(pulka, 0, OpenLink(link_of(0, 1))) == ()
    assert match.decide(pulka, 0, OpenLink(link_of(0, 0))) == ()  # of the round before: told already
    refused(pulka, 0, OpenLink(link_of(0, 2)), "wrong_phase", "3.2.3")


def test_3_2_3_a_chain_is_committed_to_before_the_cut_once_a_deal():
    """Before the cut a chain holds for this deal, later for the next; a fresh one is not exchanged for another."""
    pulka = to_be_cut(committed=())
    committed = match.decide(pulka, 0, CommitChain("ab" * 32))
    assert committed == (ChainCommitted(0, "ab" * 32, 1),)
    pulka = folded(pulka, committed)
    assert match.decide(pulka, 0, CommitChain("ab" * 32)) == ()
    refused(pulka, 0, CommitChain("cd" * 32), "call_not_allowed", "3.2.3")
    pulka = folded(cut(pulka), match.links_over(cut(pulka)))
    assert match.decide(pulka, 1, CommitChain("cd" * 32)) == (ChainCommitted(1, "cd" * 32, 2),)


def test_3_2_3_the_server_has_nothing_to_choose():
    """A deal begins with the server's link of its round, or not at all."""
    pulka = opened_all(begun(committed=(0,)), 0)
    for wrong in (link_of(-1, 2), "5e" * 32):
        with pytest.raises(ValueError, match="chain"):
            match.start_deal(pulka, StartDeal(1, wrong))
    started = match.start_deal(pulka, StartDeal(1, link_of(-1, 1)))
    assert started == (DealStarted(1, pulka.next_dealer, link_of(-1, 0), shuffle.CHAINED, link_of(-1, 1)),)


def test_3_2_3_a_chain_of_the_server_that_is_used_up_is_followed_by_another():
    """The new end is published with the deal that its first link belongs to."""
    pulka = opened_all(begun(committed=(0,)), 0)
    end = link_at(TABLE, "77" * 32, 3)
    renewed = ChainsCommitted(shuffle.CHAINED, end, {"key": "k"}, (), 1, 3)
    events = match.start_deal(pulka, StartDeal(1, link_at(TABLE, "77" * 32, 2), renewed))
    assert events == (renewed, DealStarted(1, pulka.next_dealer, end, shuffle.CHAINED, link_at(TABLE, "77" * 32, 2)))
    after = folded(pulka, events)
    assert (after.chains.root, after.chains.seats, after.chains.server.known) == ({"key": "k"}, pulka.chains.seats, end)


def test_3_2_3_the_link_of_a_round_after_missed_ones_is_checked_over_all_of_them():
    """A chain whose player was not asked for rounds (it was committed to for a later one) fits by as many steps."""
    chain = links.Chain(end_of(0), -1)
    assert chain.fits(TABLE, link_of(0, 3), 3)
    assert not chain.fits(TABLE, link_of(0, 3), 2)


def test_a_pulka_that_began_without_chains_has_none():
    """Commands about chains are refused, and what is dealt is algorithm 1."""
    terms = OpenPulka(resolve("sochi", 10), "00" * 32, 3, 10, ("a", "b", "c"), {}, 0)
    pulka = folded(Pulka(TABLE), match.open_pulka(Pulka(TABLE), terms))
    assert match.start_deal(pulka, StartDeal(1, "5e" * 32))[0].algorithm == shuffle.ALGORITHM
    refused(pulka, 0, CommitChain("ab" * 32), "wrong_phase", "3.2.3")
    refused(pulka, 0, OpenLink("ab" * 32), "wrong_phase", "3.2.3")
    assert match.links_over(pulka) == ()


def test_moves_of_the_deal_wait_for_the_cards():
    """While links are opened nobody can play, and when the cards lie nobody opens a link."""
    pulka = cut(to_be_cut())
    refused(pulka, 0, Concede(), "wrong_phase", "3.2.3")
    dealt = opened_all(pulka, 1)
    found = match.decide(dealt, 0, OpenLink(link_of(0, 2)))
    assert isinstance(found, Refused)
    assert found.code == "wrong_phase"


def test_nothing_of_round_zero_is_left_in_the_secrets():
    """The server's link of round 0 is told with the dealer, and kept no longer."""
    events = match.open_pulka(
        Pulka(TABLE),
        OpenPulka(
            resolve("sochi", 10), "00" * 32, 3, 10, ("a", "b", "c"), {}, 0, link_of(-1, 0),
            ChainsCommitted(shuffle.CHAINED, end_of(-1), {}, (end_of(0), "", ""), 0, LENGTH),
        ),
    )  # fmt: skip
    assert events[-1] == DealerDrawStarted(end_of(-1), link_of(-1, 0))
    pulka = folded(Pulka(TABLE), events)
    assert pulka.secrets.server_seed == link_of(-1, 0)
    assert folded(pulka, match.links_over(pulka)).secrets.server_seed == ""
