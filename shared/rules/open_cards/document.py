"""`pulka solve`: a position with all hands open, and its exact result (deploy/docs/open-cards.md). Pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from shared.rules.deck.cards import CARD_NUMBER, CARDS, mask_of
from shared.rules.deck.contract import ALL_PASS, CONTRACTS, TRICKS
from shared.rules.deck.seats import DUMMY, active, hands_at_play
from shared.rules.deck.trick import SUIT_OF_CARD
from shared.rules.language.documents import convert, decode
from shared.rules.language.refusal import Malformed
from shared.rules.open_cards.all_pass import AllPassPlay, all_pass_line, all_pass_tricks
from shared.rules.open_cards.declarer import best_line, declarer_tricks
from shared.rules.open_cards.search import Three

Document: TypeAlias = dict[str, Any]
Seat: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=4)]


class OpenCards(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document; `trick` are the cards on the table, each with its seat, from the leader on."""

    hands: Annotated[tuple[str, ...], msgspec.Meta(min_length=3, max_length=5)]
    leader: Seat
    contract: str
    declarer: Seat | None = None
    trick: Annotated[tuple[tuple[Seat, str], ...], msgspec.Meta(max_length=2)] = ()
    talon: str = ""
    players: Literal[2, 3, 4, 5] | None = None
    dealer: Seat | None = None
    format: Literal[1] = 1  # the only one there has been


class _Table(msgspec.Struct, frozen=True):
    """Who sits where: the number of players, the dealer if known, the seats at play in the order of play."""

    players: int
    dealer: int | None
    order: Three


def solve_document(document: bytes | str | Document) -> Document:
    """The answer of `pulka solve` to one document, as JSON text or already read. Raises `Malformed`."""
    asked = decode(document, OpenCards) if isinstance(document, bytes | str) else convert(document, OpenCards)
    if asked.contract not in CONTRACTS:
        raise Malformed("contract", f"{asked.contract!r} is no contract")
    if (asked.declarer is None) != (asked.contract == ALL_PASS):
        raise Malformed("declarer", "is required" if asked.declarer is None else "an all-pass has no declarer")
    hands = [_cards(text, f"hands[{seat}]") for seat, text in enumerate(asked.hands)]
    table = _table(asked, hands)
    trick = _trick(asked, table.order)
    size = _deal_out(hands, trick, table.order)
    hands += [0] * (table.players - len(hands))
    cards = tuple(card for _, card in trick)
    if asked.declarer is None:
        play = _all_pass(asked, tuple(hands), cards, table, size)
        tricks = all_pass_tricks(play)
        return {"tricks": list(tricks[: table.players]), "line": [CARDS[card] for card in all_pass_line(play)]}
    if asked.talon:
        raise Malformed("talon", "leads on all_pass only")
    if asked.declarer not in table.order[: table.players]:  # a dummy never does
        raise Malformed("declarer", f"seat {asked.declarer} does not play")
    question = (hands, asked.declarer, asked.leader, asked.contract, cards, table.order)
    return {"declarer_tricks": declarer_tricks(*question), "line": [CARDS[card] for card in best_line(*question)]}


def _cards(text: str, path: str) -> int:
    try:
        return mask_of(text)
    except KeyError as word:
        raise Malformed(path, f"{word.args[0]!r} is no card") from None
    except ValueError as word:
        raise Malformed(path, f"{word.args[0]} stands twice") from None


def _table(asked: OpenCards, hands: list[int]) -> _Table:
    """Three hands are seats 0, 1 and 2, with four players dealt by seat 3 unless all four stand there; who has no card then rests."""
    players = asked.players or len(hands)
    if len(hands) not in {2: (3,), 3: (3,), 4: (3, 4), 5: (5,)}[players]:
        raise Malformed("hands", f"has {len(hands)} hands, which does not go with {players} players")
    if asked.dealer is not None and asked.dealer >= players:
        raise Malformed("dealer", f"there is no seat {asked.dealer}")
    if players == 2:
        dealer = 1 if asked.dealer is None else asked.dealer
        first, second, third = hands_at_play(players, dealer)
        return _Table(players, dealer, (first, second, third))
    if players == 3:
        return _Table(players, asked.dealer, (0, 1, 2))
    in_trick = {seat for seat, _ in asked.trick}
    playing = {seat for seat, hand in enumerate(hands) if hand or seat in in_trick}
    for dealer in range(players):
        if set(active(players, dealer)) == playing and asked.dealer in (None, dealer):
            one, two, three = sorted(playing)
            return _Table(players, dealer, (one, two, three))
    deals = "" if asked.dealer is None else f" when seat {asked.dealer} deals"
    raise Malformed("hands", f"who has cards is not who plays with {players} players{deals}")


def _trick(asked: OpenCards, order: Three) -> list[tuple[int, int]]:
    """The cards on the table, seat and card: from the leader on, in the order of play."""
    if asked.leader not in order:
        raise Malformed("leader", f"seat {asked.leader} does not play")
    first = order.index(asked.leader)
    trick = []
    for place, (seat, word) in enumerate(asked.trick):
        turn = order[(first + place) % 3]
        if seat != turn:
            raise Malformed(f"trick[{place}][0]", f"this card is seat {turn}'s, not seat {seat}'s")
        if word not in CARD_NUMBER:
            raise Malformed(f"trick[{place}][1]", f"{word!r} is no card")
        trick.append((seat, CARD_NUMBER[word]))
    return trick


def _deal_out(hands: list[int], trick: list[tuple[int, int]], order: Three) -> int:
    """Check that no card is in two places and that the hands are equally long but for the trick's cards, which may stand in their hands
    too and are then taken out. Returns the number of cards that a hand had before the trick.
    """
    if trick and all(hands[seat] >> card & 1 for seat, card in trick):
        for seat, card in trick:
            hands[seat] ^= 1 << card
    seen = 0
    for seat, hand in enumerate(hands):
        _once(seen & hand, f"hands[{seat}]")
        seen |= hand
    for place, (_, card) in enumerate(trick):
        _once(seen & 1 << card, f"trick[{place}][1]")
        seen |= 1 << card
    played = [seat for seat, _ in trick]
    sizes = {seat: hands[seat].bit_count() + played.count(seat) for seat in order}
    size = sizes[next(seat for seat in order if seat not in played)]
    for seat in order:
        if sizes[seat] != size:
            raise Malformed(f"hands[{seat}]", f"has {hands[seat].bit_count()} cards, must have {size - played.count(seat)}")
    if not 1 <= size <= TRICKS:
        raise Malformed("hands", f"{size} cards a hand, must be 1 to {TRICKS}")
    return size


def _once(twice: int, path: str) -> None:
    if twice:
        raise Malformed(path, f"{CARDS[(twice & -twice).bit_length() - 1]} stands twice")


def _all_pass(asked: OpenCards, hands: tuple[int, ...], trick: tuple[int, ...], table: _Table, size: int) -> AllPassPlay:
    """The talon leads tricks 1 and 2, which are known by the number of cards; with two players it is not opened (3.7.6.4)."""
    laid = _cards(asked.talon, "talon")
    if asked.talon and laid.bit_count() != 2:
        raise Malformed("talon", f"has {laid.bit_count()} cards, must have 2")
    for hand in hands:
        _once(laid & hand, "talon")
    for card in trick:
        _once(laid & 1 << card, "talon")
    talon = tuple(CARD_NUMBER[word] for word in asked.talon.split())[TRICKS - size :] if table.players > 2 else ()
    dealer = table.dealer if table.players > 3 else None
    if talon:
        _check_talon_trick(asked, hands, trick, table, SUIT_OF_CARD[talon[0]])
    dummy = DUMMY if table.players == 2 else None
    return AllPassPlay(hands, asked.leader, trick, talon, dealer, dummy, table.order)


def _check_talon_trick(asked: OpenCards, hands: tuple[int, ...], trick: tuple[int, ...], table: _Table, led: int) -> None:
    first = asked.leader if table.dealer is None else active(table.players, table.dealer)[0]
    if asked.leader != first:
        raise Malformed("leader", f"seat {first} is the first hand, who plays first to a trick that the talon leads (3.7.6.1)")
    played = [seat for seat, _ in asked.trick]
    for place, (seat, card) in enumerate(zip(played, trick, strict=True)):
        if hands[seat] & led and not led >> card & 1:
            raise Malformed(f"trick[{place}][1]", f"{CARDS[card]} does not follow the talon card, and the hand could (3.7.5)")
