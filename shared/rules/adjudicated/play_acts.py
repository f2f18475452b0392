"""Cards played against the rules (3.9.14, 3.9.16, 3.9.18): the act, and what follows when attention is called to it in time."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from shared.rules.adjudicated import damages
from shared.rules.adjudicated.court import TURN, Act, Court, Maker, OwedTrick, Replay, settled
from shared.rules.adjudicated.placing import breaches, card_played, closing, ended, player, seats_in
from shared.rules.deal import exposed
from shared.rules.deal.decider import decide as deal_decides
from shared.rules.deal.incidents import NONE, Bound
from shared.rules.deal.laying import catchers_laid, dummy_laid
from shared.rules.deal.play import legal_cards
from shared.rules.deal.position import Deal, TrickPlay
from shared.rules.deck.cards import CARD_NUMBER, CARDS, DECK, SUIT_MASKS, SUITS
from shared.rules.deck.contract import ALL_PASS, MISERE, TRICKS
from shared.rules.deck.seats import defenders
from shared.rules.language.game_events import CardExposed, CardPlayed, Event, RemedyAsked
from shared.rules.language.irregular_events import AttentionCalled, CardNamed, FineWritten, LeadRestricted, RestForfeited, TricksTakenBack
from shared.rules.language.moves import Play
from shared.rules.language.refusal import Refused
from shared.rules.scoring.infraction_document import infraction_document
from shared.rules.scoring.outcome import Infraction

Decided = tuple[Event, ...] | Refused

# ---- the act -----------------------------------------------------------------------------------------------------------


def decide_play(court: Court, seat: int, move: Play) -> Decided:
    """A card that the seat holds, or whose hand it plays, in turn or not, following or not; only a bound card must be played."""
    deal, play = court.deal, court.deal.play
    card, hand = CARD_NUMBER.get(move.card), seat if move.hand is None else move.hand
    if card is None or play is None or deal.phase != "play" or not 0 <= hand < len(deal.full_hands):
        return deal_decides(deal, seat, move)  # refused there
    if hand not in deal.setup.order or player(play, hand) != seat:
        code = "not_your_hand" if seat == deal.to_act else "not_your_turn"
        return Refused(code, "3.9.2", f"Seat {seat} does not play the cards of seat {hand}.")
    if not deal.held(hand) >> card & 1:
        return Refused("card_not_held", "3.9.2", f"{move.card} is not in the hand of seat {hand}.")
    found = breaches(deal, hand, card)
    if hand == play.turn and exposed.allowed(deal) != legal_cards(play, deal.held(hand)):
        against = exposed.objection(deal, move)
        if against is not None:
            return against
    played = CardPlayed(hand, move.card, seat, found[0][1] if found else "")
    after = card_played(court, played)
    return (played, *_laid(deal), *closing(after))


def _laid(deal: Deal) -> Iterator[Event]:
    """After the first card hands are laid where they do not lie yet: on misere (3.6.6), and the dummy's on an all-pass of two."""
    if deal.play is None or deal.play.played or deal.game.laid:
        return
    if deal.game.contract == MISERE:
        yield from catchers_laid(deal)
    elif deal.game.contract == ALL_PASS and deal.setup.has_dummy:
        yield dummy_laid(deal)


# ---- evolve ------------------------------------------------------------------------------------------------------------


def tricks_taken_back(court: Court, event: TricksTakenBack) -> Court:
    """The deal as it stood before the act; what has been laid or exposed since stays so."""
    now, before = court.deal, court.acts[event.act].before
    deal = replace(before, game=replace(before.game, laid=before.game.laid | now.game.laid), incidents=_without_bound(now), pending=None)
    replayed = None
    if event.rule != "3.9.16.1" and court.acts[event.act].kind == "revoke" and now.play is not None:
        replayed = Replay(court.acts[event.act].seat, now.play.played.bit_count())
    acts = settled(court.acts, event.act, since=True)
    kept = tuple(one for one in court.infractions if one.rule != damages.REST_FORFEITED)  # what followed from the result goes with it
    shown = court.tricks_shown & (1 << court.acts[event.act].trick) - 1
    return replace(
        court, deal=deal, acts=acts, infractions=kept, results=(), heard=0, ended=None, stopped=False, confirmed=0,
        replay=replayed or court.replay, tricks_shown=shown,
    )  # fmt: skip


def _without_bound(deal: Deal) -> object:
    return None if deal.incidents is None else replace(deal.incidents, bound=None)


def lead_restricted(court: Court, event: LeadRestricted) -> Court:
    """The hand on lead must or must not lead the suit, if it can do so."""
    suit, held = SUIT_MASKS[SUITS.index(event.suit)], court.deal.held(event.seat)
    wanted = held & suit if event.choice == "order" else held & ~suit
    return bound(court, event.seat, wanted or DECK, event.rule)


def card_named(court: Court, event: CardNamed) -> Court:
    """The hand must play this card."""
    return bound(court, event.seat, 1 << CARD_NUMBER[event.card], event.rule)


def bound(court: Court, hand: int, cards: int, rule: str) -> Court:
    """The next card of `hand` is one of the mask `cards`."""
    deal = court.deal
    if deal.play is None:
        return court
    incidents = replace(deal.incidents or NONE, bound=Bound(hand, cards, deal.play.played, rule))
    return replace(court, deal=replace(deal, incidents=incidents))


def rest_forfeited(court: Court, event: RestForfeited) -> Court:
    """The cards are put down; the result follows, and what may be claimed besides."""
    return replace(court, deal=replace(court.deal, to_act=None), results=event.results, stopped=True)


# ---- attention: out of turn --------------------------------------------------------------------------------------------


def out_of_turn(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """A card out of turn, before its trick is complete (3.9.14.1-3.9.14.3, 3.9.14.5); in the last trick nothing follows (3.9.21)."""
    play = court.deal.play
    if play is None or play.number != act.trick or not _lies(play, act.card) or court.ended is not None:
        if act.kind == "surplus":
            return wrong_count(court, maker, index, act)
        return Refused("call_not_allowed", "3.9.14.5", "The trick was completed before anybody spoke: the card stands, the winner leads.")
    if act.trick == TRICKS:
        return Refused("call_not_allowed", "3.9.21", "What is done in the last trick is not punished.")
    called = AttentionCalled(act.rule, act.seat, maker, index)
    if act.rule == "3.9.14.3":
        return called, *forfeited(court, act)
    if act.rule == "3.9.14.2":
        return called, *taken_back(court, index, act, act.rule, "demand")
    choices = ("accept", "card", "forbid", "order") if _partners_lead(act) else ("accept", "card")
    return called, RemedyAsked(TURN, (court.deal.game.declarer,), act.seat, choices, "", act.rule)


def _lies(play: TrickPlay, card: int) -> bool:
    return any(CARD_NUMBER[one.card] == card for one in play.trick)


def _partners_lead(act: Act) -> bool:
    """Whether the lead was rightly the other defender's: then its suit may be forbidden or ordered (3.9.14.1, FN64)."""
    play, game = act.before.play, act.before.game
    return play is not None and not play.trick and play.turn not in (act.seat, game.declarer)


def remedy_out_of_turn(court: Court, index: int, choice: str) -> tuple[Event, ...]:
    """What the declarer's choice causes: the card stands, or lies exposed, and perhaps the rightful lead is restricted."""
    act = court.acts[index]
    if choice == "accept":
        return ()
    back = taken_back(court, index, act, act.rule, "forbid")
    play = act.before.play
    if choice == "card" or play is None:
        return back
    return *back, LeadRestricted(play.turn, choice, SUITS[act.card >> 3], act.rule)


def taken_back(court: Court, index: int, act: Act, rule: str, command: str) -> tuple[Event, ...]:
    """The act's card and those after it go back, and it lies exposed from now on."""
    cards = cards_since(court.deal, act)
    back = TricksTakenBack(index, rule, act.trick, tuple(card for _, card in cards), tuple(seat for seat, _ in cards))
    return back, CardExposed(act.seat, CARDS[act.card], command, opponents(act.before, act.seat), rule)


def cards_since(deal: Deal, act: Act) -> tuple[tuple[int, str], ...]:
    """The cards that were played from the act on, in order."""
    if deal.play is None or act.before.play is None:
        return ()
    tricks = (*deal.play.closed, deal.play.trick)[act.trick - 1 :]
    before = len(seats_in(act.before.play))
    cards = [(one.seat, one.card) for trick in tricks for one in trick if isinstance(one, CardPlayed)]
    return tuple(cards[before:])


def opponents(deal: Deal, hand: int) -> tuple[int, ...]:
    """Who commands the exposed cards of `hand`, in turn: declarer a defender's, whoever plays the defence, left of declarer first, the
    declarer's; in all-pass the next player.
    """
    game, play = deal.game, deal.play
    if play is None:
        return ()
    if game.contract == ALL_PASS:
        return (_next_player(play, hand),)
    if hand != game.declarer:
        return (game.declarer,)
    opposed = defenders(deal.setup.players, deal.setup.dealer, game.declarer)
    return tuple(dict.fromkeys(play.course.player_of[seat] for seat in opposed))


def _next_player(play: TrickPlay, hand: int) -> int:
    """Whoever plays the next hand that is not the same player's: of two, the other (Decision 19)."""
    own, after = player(play, hand), play.course.after[hand]
    return play.course.player_of[after if play.course.player_of[after] != own else play.course.after[after]]


def forfeited(court: Court, act: Act) -> tuple[Event, ...]:
    """In all-pass every trick from this one on is the offender's, and the deal is over (3.9.14.3)."""
    tricks = list(court.deal.play.taken if court.deal.play is not None else ())
    tricks[act.seat] += TRICKS - sum(tricks)
    results = damages.of_forfeited_tricks(act, tuple(tricks))
    return RestForfeited("3.9.14.3", act.seat, tuple(tricks), results), ended(court.deal, tuple(tricks))


# ---- attention: revoke -------------------------------------------------------------------------------------------------


def revoke(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """Called before the next trick's first card the card is changed (3.9.16.1, FN67), later tricks are played again (3.9.16.2)."""
    play = court.deal.play
    if play is None:
        return Refused("call_not_allowed", "3.9.17", "The play is over.")
    in_time = court.ended is None and (play.number == act.trick or (play.number == act.trick + 1 and not seats_in(play)))
    rule = "3.9.16.1" if in_time else "3.9.16.2"
    return AttentionCalled(rule, act.seat, maker, index), *taken_back(court, index, act, rule, "forbid")


def revoke_called(court: Court, event: AttentionCalled) -> Court:
    """A late one will cost a trick at the end."""
    return replace(court, owed=(*court.owed, OwedTrick(event.seat, event.by))) if event.rule == "3.9.16.2" else court


# ---- attention: wrong number of cards ----------------------------------------------------------------------------------


def wrong_count(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """A wrong number of cards found in play: it is played out, and counted so at the end (3.9.18). Of a seat that neither declares nor
    whists the arbiter says what it costs.
    """
    called = AttentionCalled("3.9.18", act.seat, maker, index)
    seat, game = act.seat, court.deal.game
    answers = seat == game.declarer or (game.contract != MISERE and bool(game.calls) and game.calls[seat] == "whist")
    if any(one.rule == "3.9.18" and one.seat == seat for one in court.infractions):
        return (called,)
    return (called, fine(court, Infraction("3.9.18", seat))) if answers else (called,)


def fine(court: Court, one: Infraction, entries: tuple[dict[str, object], ...] = ()) -> FineWritten:
    """The event of an infraction that will be scored."""
    return FineWritten(one.rule, one.seat, entries, infraction_document(one, court.deal.setup.players))
