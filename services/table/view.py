"""The table as one viewer may see it: the one function that says what of its state leaves the service (deploy/docs/http.md: Table).

A player sees their own cards, what lies on the table and what was shown to them; a spectator what lies on the table. Which hidden cards a
viewer knows is asked of `shared.events.hidden`, as for the frames of a stream; nobody else sees one before `DealRevealed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from services.table.court_view import court_view, talon
from services.table.signed_moves import discard_salt
from services.table.table import Table, deadline
from shared.events.hidden import knows
from shared.rules.adjudicated.court import ARBITER, AnyDeal, Court, Maker, game_of
from shared.rules.convention.options import to_document
from shared.rules.deal import exposed
from shared.rules.deal.incidents import Invitation, OpenClaim, Proposal, Question
from shared.rules.deal.position import NOBODY, Course
from shared.rules.deck.cards import CARD_NUMBER, CARDS, DECK, hand_text, mask_of
from shared.rules.deck.seats import hand_count
from shared.rules.deck.trick import SUIT_OF_CARD
from shared.rules.language.correction_events import AnnulmentOrdered, PulkaAnnulled, ResultCorrected
from shared.rules.language.game_events import BidMade, CardPlayed, TalonCardOpened
from shared.rules.pulka import decider as match
from shared.rules.pulka import links, rounds


def view(table: Table, eye: Maker | None, position: str, now: int, presence: Sequence[bool]) -> dict[str, Any]:
    """The body of the table's address for the player at a seat, for the arbiter, or for a spectator (`None`).

    `position` is where the log stood, `now` milliseconds since 1970, `presence` who has a live stream, by seat.
    """
    pulka = table.pulka
    seat = eye if isinstance(eye, int) else None
    if not table.revision:
        return {
            "table_id": pulka.table_id,
            "status": pulka.status,
            "phase": "waiting",
            "revision": table.revision,
            "seat": None,
            "to_act": None,
            "legal": [],
        }
    to_act = match.to_act(pulka)
    asked = bool(pulka.chains.asked) or match.awaits_confirmation(pulka)  # several at once, and no turn
    mine = to_act == seat if to_act is not None else asked
    return {
        "table_id": pulka.table_id,
        "status": pulka.status,
        "revision": table.revision,
        "turn_revision": table.turn_revision,
        "position": position,
        "mode": table.terms.mode,
        "seat": seat,
        "players": pulka.players,
        "seats": list(pulka.seats),
        "target": pulka.target,
        "stake": table.terms.stake,
        "seating": table.terms.seating,
        "convention": to_document(pulka.convention),
        "deal": pulka.number,
        "dealer": pulka.dealer,
        "commitment": pulka.commitment or None,
        "keys": list(pulka.keys) or None,
        "discard_salt": _discard_salt(table, seat),
        "chains": links.document(pulka.chains, rounds.present(pulka)),
        "draw": None if pulka.draw is None else {"commitment": pulka.draw.commitment, "drawn": [list(pair) for pair in pulka.draw.drawn]},
        "phase": match.phase(pulka),
        "to_act": to_act,
        "legal": []
        if seat is None
        else [*map(msgspec.to_builtins, match.entries_due(pulka, seat)), *(match.offer(pulka, seat) if mine else ())],
        **_cards(table, eye),
        "court": court_view(pulka),
        "sheet": pulka.sheet.document(),
        **pulka.members.document(pulka.players),
        "all_pass_in_row": pulka.series.all_pass_in_row,
        "bombs": [list(own) for own in pulka.series.bombs] or [[] for _ in pulka.seats],
        "closed": pulka.status == "over",
        "stopping": pulka.stopping or pulka.annulling is not None,
        "recorded": table.recorded,
        "settlement": pulka.settlement,
        "corrections": [_told(event) for event in pulka.corrections],
        "annulled": None if pulka.annulled is None else _told(pulka.annulled),
        "annulling": None if pulka.annulling is None else _told(pulka.annulling),
        "clock": {"now": max(now, table.runs_since), "deadline": deadline(table), **msgspec.to_builtins(table.terms.clock)},
        "presence": list(presence),
        "spectators": msgspec.to_builtins(table.terms.spectators),
    }


def _discard_salt(table: Table, seat: int | None) -> str | None:
    """What a declarer who signs moves needs to sign a discard: the salt of its box, which is nobody else's before the reveal."""
    signs = seat is not None and seat < len(table.pulka.keys) and bool(table.pulka.keys[seat])
    discards = match.phase(table.pulka) == "discard" and match.to_act(table.pulka) == seat
    return discard_salt(table.pulka) if signs and discards else None


def _told(event: ResultCorrected | AnnulmentOrdered | PulkaAnnulled) -> dict[str, Any]:
    """What organisers have decided, without the name of the event."""
    return {name: getattr(event, name) for name in event.__struct_fields__}


def _cards(table: Table, eye: Maker | None) -> dict[str, Any]:
    """Everything about the deal in progress; the same names, empty, when there is none. With two players the dummy's hand is third."""
    pulka, hidden, seat = table.pulka, table.hidden, eye if isinstance(eye, int) else None
    deal, seats, hands = pulka.deal, range(pulka.players), range(hand_count(pulka.players))
    if deal is None:
        return {
            "hand": None, "hands": [None for _ in hands], "counts": [0 for _ in hands], "talon": None, "discard": None,
            "auction": [], "declarer": None, "bid": None, "contract": None, "calls": [None for _ in seats], "open": None,
            "dark": False, "no_talon": False, "shared": False,
            "trick": None, "last_trick": None, "tricks": [0 for _ in seats], "pending": None, "exposed": [None for _ in hands],
        }  # fmt: skip
    game = deal.game
    return {
        "hand": hand_text(deal.held(seat)) if seat is not None and knows(seat, "hand", hidden, seat) else None,
        "hands": [hand_text(shown) if (shown := _shown_hand(table, deal, eye, owner)) is not None else None for owner in hands],
        "counts": [deal.held(owner).bit_count() for owner in hands],
        "talon": talon(pulka) if _talon_open(deal) or knows(eye, "talon", hidden) else None,
        "discard": pulka.secrets.discard if knows(eye, "discard", hidden) else None,
        "auction": [_call(call) for call in deal.auction.calls],
        "declarer": deal.declarer,
        "bid": game.bid or None,
        "contract": deal.contract,
        "dark": game.dark,
        "no_talon": game.no_talon,
        "shared": deal.shared,
        "calls": list(game.calls) or [None for _ in seats],
        "open": None if deal.play is None else bool(game.laid),
        "trick": _trick(deal),
        "last_trick": _last_trick(deal),
        "tricks": list(deal.tricks),
        "pending": pending(deal),
        "exposed": [hand_text(_face_up(deal, owner)) or None for owner in hands],
    }


def _shown_hand(table: Table, deal: AnyDeal, eye: Maker | None, owner: int) -> int | None:
    """The cards of `owner` that the viewer knows, None where they see nothing: laid hands, a hand that lies face up card by card (3.9.15),
    those that were shown to them; of another's hand that they looked at what is left of its ten cards (3.8.8, 3.6.9).
    """
    held = deal.held(owner)
    if deal.game.laid >> owner & 1 or (held and held == _face_up(deal, owner)):
        return held
    if not knows(eye, "hand", table.hidden, owner):
        return None
    return held if eye in (owner, ARBITER) else deal.setup.dealt[owner] & ~(0 if deal.play is None else deal.play.played)


def _talon_open(deal: AnyDeal) -> bool:
    """It was shown to all (3.4.1): neither taken in the dark (3.3.19) nor left where it lies, covered (FN41)."""
    return deal.declarer is not None and not deal.game.no_talon and not deal.game.dark


def _call(call: BidMade) -> dict[str, Any]:
    manner = {name: True for name in ("dark", "no_talon") if getattr(call, name)}
    return {"seat": call.seat, "bid": call.bid, **manner}


def _face_up(deal: AnyDeal, owner: int) -> int:
    """The cards of `owner` that lie exposed, or were shown: with a claim that waits for an answer, or before the play (3.9.15)."""
    lying = exposed.lying(game_of(deal), owner)
    shown = deal.pending.hand if isinstance(deal.pending, OpenClaim) else 0
    for seat, cards in deal.shown if isinstance(deal, Court) else ():
        shown |= mask_of(cards) if seat == owner else 0
    return lying | shown & deal.held(owner)


def pending(deal: AnyDeal) -> dict[str, Any] | None:
    """What waits for an answer, the same for everybody (deploy/docs/http.md: Table): what it is, whose, and who is asked, in order."""
    match deal.pending:
        case OpenClaim(seat=seat, tricks=tricks, line=line, waiting=waiting):
            return {"what": "claim", "seat": seat, "tricks": tricks, "line": [CARDS[card] for card in line], "asked": list(waiting)}
        case Proposal(seat=seat, what=what, tricks=proposed, trick=number, waiting=waiting):
            figures = {"tricks": list(proposed), "trick": number}
            return {"what": what, "seat": seat} | {name: value for name, value in figures.items() if value} | {"asked": list(waiting)}
        case Invitation(seat=seat, waiting=waiting):
            return {"what": "invitation", "seat": seat, "asked": list(waiting)}
        case Question(of=of, choices=choices, cards=cards, rule=rule, waiting=waiting):
            named = hand_text(cards).split()
            return {"what": "remedy", "of": of, "choices": list(choices), "cards": named, "rule": rule, "asked": list(waiting)}
    return None


def _trick(deal: AnyDeal) -> dict[str, Any] | None:
    play = deal.play
    return None if play is None or deal.phase == "scored" else _shown_trick(play.number, play.trick)


def _last_trick(deal: AnyDeal) -> dict[str, Any] | None:
    """The last closed trick, which anybody may ask to see (3.9.8)."""
    play = deal.play
    if play is None or not play.previous:
        return None
    return _shown_trick(play.number - 1, play.previous) | {"winner": _winner(play.course, play.previous)}


def _winner(course: Course, cards: Sequence[CardPlayed | TalonCardOpened]) -> int:
    """Who took a closed trick: the last that beat what held it (3.9.4); a talon card holds it for the resting dealer or nobody (3.7.6)."""
    winner, beating = NOBODY, DECK
    for one in cards:
        card = CARD_NUMBER[one.card]
        if isinstance(one, TalonCardOpened):
            winner, beating = course.talon_seat, SUIT_OF_CARD[card] if course.talon_seat == NOBODY else course.beating[card]
        elif beating >> card & 1:
            winner, beating = one.seat, course.beating[card]
    return winner


def _shown_trick(number: int, cards: Sequence[CardPlayed | TalonCardOpened]) -> dict[str, Any]:
    talon = next((opened.card for opened in cards if isinstance(opened, TalonCardOpened)), None)
    played = [[card.seat, card.card] for card in cards if isinstance(card, CardPlayed)]
    return {"number": number, "leader": played[0][0] if played and talon is None else None, "talon": talon, "cards": played}
