"""Whether a recorded outcome can have happened: whether it can be scored at all, and whether the convention allows what was said.

The auction is not checked: its ladder and exits, and whether a dealer agreed to share a misere (3.6.9).
"""

from __future__ import annotations

from shared.rules.convention.options import Convention
from shared.rules.deck.contract import CONTRACTS, LEVEL, MISERE, RANK, TRICKS
from shared.rules.deck.seats import DEALER_RESTS, active, defenders
from shared.rules.language.refusal import Malformed
from shared.rules.score_files.deal_calls import check_calls, ended_early
from shared.rules.scoring.all_pass import dealer_takes_tricks
from shared.rules.scoring.misere import objection_to_sharing
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.series import plays_dark
from shared.rules.scoring.trick_game import may_give_up_without_three
from shared.rules.scoring.whist_calls import is_checked
from shared.rules.scoring.whister import whisting

LATE_REVOKE = "3.9.16.2"
IN_PLAY = ("3.4.9", LATE_REVOKE, "3.9.18")  # from the first lead on; tricks and discard can be looked at before (3.9.11.2)
TALON_CARDS = 2  # each leads one trick of an all-pass deal, which may fall to the resting dealer (3.7.6.1)


def check(convention: Convention, players: int, outcome: DealOutcome, path: str) -> None:
    """Raises `Malformed`, with the field's place under `path`, for an outcome that no deal can have under this convention."""
    check_scorable(convention, players, outcome, path)
    if outcome.contract is not None:
        _check_agreed(convention, players, outcome, path)
        _check_occasions(players, outcome, f"{path}.infractions")
        check_calls(convention, players, outcome, f"{path}.calls")


def check_scorable(convention: Convention, players: int, outcome: DealOutcome, path: str) -> None:
    """The part of `check` without which there is nothing to score; all that an outcome needs that was written down before."""
    if outcome.contract is None:
        _check_no_contract(outcome, path)
        return
    if outcome.contract not in CONTRACTS:
        raise Malformed(f"{path}.contract", f"no such contract: {outcome.contract!r}; there are 6S to 10NT, misere and all_pass")
    _check_declarer(players, outcome, path)
    _check_terms(convention, players, outcome, path)
    _check_words(convention, players, outcome, f"{path}.calls")
    _check_tricks(convention, players, outcome, path)
    _check_fines(convention, players, outcome, path)


def check_dark_bid(outcome: DealOutcome, bid: str, place: str) -> None:
    """Raises `Malformed` where the contract cannot have followed the bid in the dark that won the auction (3.3.7, 3.3.19, 3.4.3)."""
    contract = outcome.contract or ""
    if bid == MISERE and not outcome.is_misere:
        raise Malformed(place, f"a misere that was bid is the contract, not {contract} (3.3.7)")
    if bid != MISERE and outcome.is_misere:
        raise Malformed(place, f"a misere said after {bid} in the dark is an open one, and nothing is doubled: leave it out (3.3.19)")
    if RANK.get(contract, 0) < RANK.get(bid, 0):
        raise Malformed(place, f"the contract {contract} is below the bid {bid} (3.4.3)")


def _check_no_contract(outcome: DealOutcome, path: str) -> None:
    """A deal can end before a contract only by an irregularity (3.2.17, 3.3.16.3)."""
    if not outcome.infractions:
        raise Malformed(f"{path}.contract", "is required")
    for field in ("declarer", "calls", "tricks", "shared", "without_three", "dark", "dark_pass", "conceded", "talon_refused"):
        if getattr(outcome, field) not in (None, (), False):
            raise Malformed(f"{path}.contract", f"is required with {field}")


def _check_declarer(players: int, outcome: DealOutcome, path: str) -> None:
    if outcome.is_all_pass:
        if outcome.declarer is not None:
            raise Malformed(f"{path}.declarer", "nobody declares on all-pass")
        return
    if outcome.declarer is None:
        raise Malformed(f"{path}.declarer", "is required")
    if outcome.declarer >= players:
        raise Malformed(f"{path}.declarer", f"must be 0 to {players - 1}")
    if outcome.declarer not in active(players, outcome.dealer):
        raise Malformed(f"{path}.declarer", f"seat {outcome.declarer} rests, seat {outcome.dealer} deals")


def _check_terms(convention: Convention, players: int, outcome: DealOutcome, path: str) -> None:
    """What the kind of deal must allow."""
    playing = active(players, outcome.dealer)
    if outcome.shared and (not outcome.is_misere or outcome.dealer in playing):
        raise Malformed(f"{path}.shared", "only a misere is shared, with a resting dealer (3.6.9)")
    if (outcome.dark or outcome.dark_pass) and not plays_dark(convention):
        raise Malformed(f"{path}.{'dark' if outcome.dark else 'dark_pass'}", "dark calls are not in force: the option `dark` is false")
    if outcome.dark and outcome.is_all_pass:
        raise Malformed(f"{path}.dark", "nobody bid on all-pass")
    if len(set(outcome.dark_pass)) != len(outcome.dark_pass) or not set(outcome.dark_pass) <= set(playing):
        raise Malformed(f"{path}.dark_pass", "must name different seats that play the deal")


def _check_agreed(convention: Convention, players: int, outcome: DealOutcome, path: str) -> None:
    """What the convention must allow beside the calls."""
    if outcome.without_three and not may_give_up_without_three(convention, outcome.contract):
        why = f"{outcome.contract} is not given up without three: the option `without_three` has no such level (3.5.4, FN40)"
        raise Malformed(f"{path}.without_three", why)
    if outcome.without_three and (outcome.conceded or outcome.talon_refused):
        raise Malformed(f"{path}.without_three", "who gives up without three neither plays on nor puts cards away (3.5.4, FN40)")
    refused = objection_to_sharing(convention, players) if outcome.shared else None
    if refused is not None:
        raise Malformed(f"{path}.shared", f"{refused.message} ({refused.rule})")
    if outcome.declarer in outcome.dark_pass:
        raise Malformed(f"{path}.dark_pass", f"seat {outcome.declarer} declares and cannot have passed: a pass is final (3.3.10)")
    if outcome.shared and outcome.dark:
        raise Malformed(f"{path}.dark", "who invites the dealer to a misere has looked at their own cards (3.6.9)")


def _check_words(convention: Convention, players: int, outcome: DealOutcome, place: str) -> None:
    """Who must have a last word, and who cannot."""
    checked = is_checked(convention, outcome.contract)
    if not outcome.is_game or outcome.without_three or checked:
        if any(outcome.calls):
            raise Malformed(place, "a checked ten is played without whist calls (FN39)" if checked else "nobody is asked for a whist here")
        return
    if not outcome.calls:
        if not ended_early(outcome):
            raise Malformed(place, "is required")
        return
    order = defenders(players, outcome.dealer, outcome.declarer or 0)
    for seat, call in enumerate(outcome.calls):
        if seat in order:
            if call is None and not ended_early(outcome):
                raise Malformed(f"{place}[{seat}]", "a defender must whist, pass or go for half")
        elif call is not None and not (players == DEALER_RESTS and seat == outcome.dealer and call != "half"):
            raise Malformed(f"{place}[{seat}]", f"seat {seat} is not asked for {call!r}")
    if sum(outcome.calls[seat] == "half" for seat in order) > 1:
        raise Malformed(place, "only one defender can go for half (3.8.7)")


def _check_tricks(convention: Convention, players: int, outcome: DealOutcome, path: str) -> None:
    place, tricks = f"{path}.tricks", outcome.tricks
    unfinished = ended_early(outcome)
    played = not outcome.is_game or whisting(convention, players, outcome).kind not in ("nobody", "half")
    if outcome.without_three or not (played or unfinished):
        if tricks:
            raise Malformed(place, "nothing was played: leave it out")
        return
    if not tricks:
        if not unfinished:
            raise Malformed(place, "is required")
        return
    playing = active(players, outcome.dealer)
    dealer_takes = outcome.is_all_pass and dealer_takes_tricks(convention, players, outcome.dealer)
    for seat, taken in enumerate(tricks):
        if taken and seat not in playing and not (dealer_takes and seat == outcome.dealer):
            raise Malformed(f"{place}[{seat}]", f"seat {seat} rests and takes no trick")
        if taken > TALON_CARDS and seat not in playing:
            raise Malformed(f"{place}[{seat}]", f"the talon wins seat {seat} at most {TALON_CARDS} tricks (3.7.6.1), not {taken}")
    total = sum(tricks)
    dummy_counts_for_nobody = players == 2 and not outcome.is_game
    if total > TRICKS or (total < TRICKS and not dummy_counts_for_nobody):
        raise Malformed(place, f"sum is {total}, must be {TRICKS}")


def _check_fines(convention: Convention, players: int, outcome: DealOutcome, path: str) -> None:
    """Fines that fall on a declarer or a whister need one; everybody else's are a ruling."""
    for index, one in enumerate(outcome.infractions):
        place = f"{path}.infractions[{index}].seat"
        if one.ruled:
            continue
        if one.rule in ("3.4.6", "3.4.9") and one.seat != outcome.declarer:
            raise Malformed(place, f"{one.rule} is the declarer's")
        if one.rule == "3.9.18" and one.seat != outcome.declarer and one.seat not in _whisters(convention, players, outcome):
            raise Malformed(place, "3.9.18 of a seat that neither declares nor whists is a ruling in whists, mountain or pool")


def _check_occasions(players: int, outcome: DealOutcome, place: str) -> None:
    """Whether there was an occasion for what a rule fines; a fine that would write nothing is told, not passed over in silence."""
    if outcome.talon_refused and outcome.is_all_pass:
        raise Malformed(place, "nobody takes the talon on all-pass, or refuses it (3.4.10)")
    unplayed = outcome.is_game and not outcome.tricks and not ended_early(outcome)
    for index, one in enumerate(outcome.infractions):
        if one.ruled:
            continue
        if unplayed and one.rule in IN_PLAY:
            raise Malformed(f"{place}[{index}]", f"{one.rule} is a fault in play, and nothing was played")
        if one.rule == "3.4.6" and (one.proved or 0) > LEVEL.get(outcome.contract or "", TRICKS):
            raise Malformed(f"{place}[{index}].proved", f"{outcome.contract} cannot fail by more than {LEVEL[outcome.contract or '']}")
        if one.rule == LATE_REVOKE and not outcome.is_all_pass:
            _check_late_revoke(players, outcome, f"{place}[{index}]", one.seat)


def _check_late_revoke(players: int, outcome: DealOutcome, place: str, seat: int) -> None:
    """A late revoke's trick goes to the other side, so `tricks` tell it; only one that nobody has is a fine (3.9.16.2)."""
    if outcome.is_misere:
        if seat != outcome.declarer:
            raise Malformed(place, "a defender's late revoke takes a trick off the declarer's: `tricks` tell it (3.9.16.2)")
        return
    alone = sum(one.rule == LATE_REVOKE for one in outcome.infractions) == 1  # after a second one a side may have got a trick again
    side = (seat,) if seat == outcome.declarer else defenders(players, outcome.dealer, outcome.declarer or 0)
    if alone and outcome.tricks and not outcome.conceded and any(outcome.tricks[one] for one in side):
        raise Malformed(place, "the trick of a late revoke goes to the other side: `tricks` tell it, while there is one to lose (3.9.16.2)")


def _whisters(convention: Convention, players: int, outcome: DealOutcome) -> tuple[int | None, ...]:
    if not outcome.is_game:
        return ()
    calls = whisting(convention, players, outcome)
    return {"one": (calls.first,), "dealer": (calls.first,), "pair": (calls.first, calls.second)}.get(calls.kind, ())
