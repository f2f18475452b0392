"""Whether a recorded outcome can have happened. The auction is not checked: ladder, exits, the consent to share a misere (3.6.9)."""

from __future__ import annotations

from shared.rules.convention.options import Convention
from shared.rules.deck.contract import CONTRACTS, LEVEL, TRICKS
from shared.rules.deck.seats import active, defenders
from shared.rules.language.refusal import Malformed
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.whister import whisting

TALON_CARDS = 2  # each leads one trick of an all-pass deal, which may fall to the resting dealer (3.7.6.1)


def check(convention: Convention, players: int, outcome: DealOutcome, path: str) -> None:
    """Raises `Malformed`, with the field's place under `path`, for an outcome that no deal can have."""
    if outcome.contract is None:
        _check_no_contract(outcome, path)
        return
    if outcome.contract not in CONTRACTS:
        raise Malformed(f"{path}.contract", f"no such contract: {outcome.contract!r}")
    _check_declarer(players, outcome, path)
    _check_terms(convention, players, outcome, path)
    _check_calls(convention, players, outcome, path)
    _check_tricks(convention, players, outcome, path)
    _check_fines(convention, players, outcome, path)


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
    """What the convention or the kind of deal must allow."""
    playing = active(players, outcome.dealer)
    if outcome.shared and (not outcome.is_misere or outcome.dealer in playing):
        raise Malformed(f"{path}.shared", "only a misere is shared, with a resting dealer (3.6.9)")
    if outcome.without_three and LEVEL.get(outcome.contract or "") not in convention.without_three:
        raise Malformed(f"{path}.without_three", f"not allowed on {outcome.contract}: the option is {list(convention.without_three)}")
    if (outcome.dark or outcome.dark_pass) and not convention.dark:
        raise Malformed(f"{path}.{'dark' if outcome.dark else 'dark_pass'}", "dark calls are not in force: the option `dark` is false")
    if outcome.dark and outcome.is_all_pass:
        raise Malformed(f"{path}.dark", "nobody bid on all-pass")
    if len(set(outcome.dark_pass)) != len(outcome.dark_pass) or not set(outcome.dark_pass) <= set(playing):
        raise Malformed(f"{path}.dark_pass", "must name different seats that play the deal")


def _check_calls(convention: Convention, players: int, outcome: DealOutcome, path: str) -> None:
    place = f"{path}.calls"
    checked = convention.ten == "checked" and LEVEL.get(outcome.contract or "") == 10
    if not outcome.is_game or outcome.without_three or checked:
        if any(outcome.calls):
            raise Malformed(place, "a checked ten is played without whist calls" if checked else "nobody is asked for a whist here")
    elif outcome.calls:
        order = defenders(players, outcome.dealer, outcome.declarer or 0)
        _check_words(players, outcome, order, place)
        _check_whist(convention, outcome, order, place)
    elif not _ended_early(outcome):
        raise Malformed(place, "is required")


def _ended_early(outcome: DealOutcome) -> bool:
    """The deal could end before all had called or ten tricks were played: without all (3.5.4), or a wrong hand at the order (3.4.6)."""
    return outcome.conceded or bool(outcome.offences("3.4.6"))


def _check_words(players: int, outcome: DealOutcome, order: tuple[int, ...], place: str) -> None:
    """Who must have a last word, and who cannot."""
    for seat, call in enumerate(outcome.calls):
        if seat in order:
            if call is None and not _ended_early(outcome):
                raise Malformed(f"{place}[{seat}]", "a defender must whist, pass or go for half")
        elif call is not None and not _dealer_may_say(players, outcome, seat, call):
            raise Malformed(f"{place}[{seat}]", f"seat {seat} is not asked for {call!r}")


def _dealer_may_say(players: int, outcome: DealOutcome, seat: int, call: str) -> bool:
    return players == 4 and seat == outcome.dealer and call in ("whist", "pass")


def _check_whist(convention: Convention, outcome: DealOutcome, order: tuple[int, ...], place: str) -> None:
    """Half-whist, the dealer's whist and Stalingrad, as far as last words show them."""
    calls, contract = outcome.calls, outcome.contract or ""
    halves = [seat for seat in order if calls[seat] == "half"]
    if len(halves) > 1:
        raise Malformed(place, "only one defender can go for half (3.8.7)")
    if halves and LEVEL[contract] not in convention.half_whist:
        raise Malformed(f"{place}[{halves[0]}]", f"no half-whist on {contract}: the option `half_whist` is {list(convention.half_whist)}")
    if outcome.dealer not in order and calls[outcome.dealer] == "whist":
        if convention.dealer_whist == "off":
            raise Malformed(f"{place}[{outcome.dealer}]", "the dealer does not whist: the option `dealer_whist` is off")
        if any(calls[seat] == "whist" for seat in order):
            raise Malformed(f"{place}[{outcome.dealer}]", "the dealer whists only when no defender does (3.8.8)")
    if convention.stalingrad and contract == "6S" and not outcome.conceded and any(calls[seat] in ("pass", "half") for seat in order):
        raise Malformed(place, "both defenders must whist six spades: the option `stalingrad` is set")


def _check_tricks(convention: Convention, players: int, outcome: DealOutcome, path: str) -> None:
    place, tricks = f"{path}.tricks", outcome.tricks
    unfinished = _ended_early(outcome)
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
    talon_leads = outcome.is_all_pass and convention.all_pass.talon == "leads"
    for seat, taken in enumerate(tricks):
        if taken and seat not in playing and not (talon_leads and seat == outcome.dealer):
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


def _whisters(convention: Convention, players: int, outcome: DealOutcome) -> tuple[int | None, ...]:
    if not outcome.is_game:
        return ()
    calls = whisting(convention, players, outcome)
    return {"one": (calls.first,), "dealer": (calls.first,), "pair": (calls.first, calls.second)}.get(calls.kind, ())
