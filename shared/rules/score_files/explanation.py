"""A score file as a scorer would tell it (`pulka score --explain`): every entry with rule, amount and reason, the settlement in both ways
of 4.2.14, the compensation of 4.2.12, the stakes of 4.2.13. Pure text, line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shared.rules.deck.contract import LEVEL, MISERE
from shared.rules.deck.seats import active, clockwise_from, resting
from shared.rules.language.amount import Amount, divided, exact
from shared.rules.score_files.convention_words import pulka_title
from shared.rules.score_files.entry_reasons import offence, reason
from shared.rules.score_files.players_called import Called, called, called_in_deal
from shared.rules.score_files.score_file import Scored, ScoredDeal
from shared.rules.score_files.scorer_words import Lang, contract, deals_counted, minutes_counted, rule_cited, said, signed
from shared.rules.scoring.compensation import compensation
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.series import deal_factor
from shared.rules.scoring.settlement import (
    WHISTS_A_POINT,
    Settlement,
    closed_reason,
    divisor,
    minutes_to_play,
    net_by_whists,
    pool_weight,
    settle,
)
from shared.rules.scoring.sheet import Entry, Sheet, empty_sheet, write

INDENT = "  "


def explained(pulka: Scored, lang: Lang) -> Iterator[str]:
    """The pulka, deal after deal, to the settlement; lines without line breaks, those under a heading indented.

    Players are called by the file's names. Without names, Russian calls them in a deal by their hands, elsewhere by their seats.
    """
    players = called(lang, pulka.players, pulka.names)
    target = "" if pulka.target is None else said(lang, "to", target=pulka.target)
    stake = "" if pulka.stake is None else said(lang, "at", stake=pulka.stake)
    yield said(lang, "title", convention=pulka_title(lang, pulka.convention, pulka.players), target=target, stake=stake)
    start = pulka.start.sheet
    yield said(lang, "blank") if start == empty_sheet(pulka.players) else said(lang, "start", sheet=_columns(lang, start, players))
    for deal in pulka.deals:
        yield from _deal(pulka, lang, deal, players)
    yield said(lang, "sheet", sheet=_columns(lang, pulka.end.sheet, players))
    yield _ending(pulka, lang)
    yield from _settlement(pulka, lang, players)


def _deal(pulka: Scored, lang: Lang, deal: ScoredDeal, everywhere: Sequence[Called]) -> Iterator[str]:
    dealer = deal.outcome.dealer
    players = called_in_deal(lang, pulka.players, dealer, pulka.names)
    key = "deal" if pulka.names else "deal_by_hand"
    first = everywhere[active(pulka.players, dealer)[0]].who
    told = said(lang, key, number=deal.after.deals, who=everywhere[dealer].who, opening=everywhere[dealer].opening, first=first)
    yield f"{told} {_played(pulka, lang, deal, players)}."
    sheet = deal.before.sheet
    for entry in deal.entries:
        sheet = write(sheet, [entry])
        column = {"pool": sheet.pool, "mountain": sheet.mountain, "whists": sheet.whists[entry.seat]}[entry.column]
        now = column[entry.seat if entry.on is None else entry.on]
        yield INDENT + said(
            lang,
            entry.column,
            who=players[entry.seat].who,
            on="" if entry.on is None else players[entry.on].on,
            amount=signed(entry.amount),
            now=now,
            why=_why(lang, entry, players),
            rule=rule_cited(lang, entry.rule),
        )
    if not deal.entries:
        yield INDENT + said(lang, "nothing")


def _why(lang: Lang, entry: Entry, players: Sequence[Called]) -> str:
    """The reason; of a fine that a rule fixes also what was done."""
    done = offence(lang, entry.rule) if entry.why.startswith("fine: ") else ""
    return reason(lang, entry.why, players) + (f" ({done})" if done else "")


def _played(pulka: Scored, lang: Lang, deal: ScoredDeal, players: Sequence[Called]) -> str:
    """What was played, in one sentence: contract, factors, calls, tricks."""
    outcome, series = deal.outcome, deal.before.series
    how = said(lang, "dark") if outcome.dark else ""
    if outcome.dark_pass:
        how += said(lang, "dark_pass", players=_listed(players[seat].who for seat in outcome.dark_pass))
    if outcome.contract is not None and (factor := deal_factor(pulka.convention, series, outcome)) != 1:
        how += said(lang, "factor", factor=factor)
    how += "".join(said(lang, word) for word in ("shared", "without_three", "conceded") if getattr(outcome, word))
    if any(outcome.calls):
        order = sorted(clockwise_from(pulka.players, outcome.declarer or 0), key=resting(pulka.players, outcome.dealer).__contains__)
        spoken = [(seat, call) for seat in order if (call := outcome.calls[seat])]  # a resting dealer is asked last (3.8.8)
        calls = _listed(said(lang, "call", who=players[seat].who, call=said(lang, call)) for seat, call in spoken)
        how += said(lang, "calls", calls=calls)
    if outcome.tricks:
        how += said(lang, "tricks", tricks=_listed(_taken(pulka, lang, outcome, players)))
    if outcome.contract in LEVEL:
        return said(lang, "plays", opening=players[outcome.declarer or 0].opening, contract=contract(outcome.contract, lang), how=how)
    if outcome.contract == MISERE:
        return said(lang, "misere", opening=players[outcome.declarer or 0].opening, how=how)
    if outcome.is_all_pass:
        row = said(lang, "row", number=series.all_pass_in_row + 1) if series.all_pass_in_row else ""
        return said(lang, "all_pass", row=row, how=how)
    return said(lang, "none")


def _taken(pulka: Scored, lang: Lang, outcome: DealOutcome, players: Sequence[Called]) -> Iterator[str]:
    """Who took how many, named ones by seat, hands in their order; of those who rest only whom the talon won a trick."""
    playing = active(pulka.players, outcome.dealer)
    seats = range(pulka.players) if pulka.names or lang == "en" else (*playing, *resting(pulka.players, outcome.dealer))
    for seat in seats:
        if outcome.tricks[seat] or seat in playing:
            yield said(lang, "took", who=players[seat].who, tricks=outcome.tricks[seat])


def _columns(lang: Lang, sheet: Sheet, players: Sequence[Called]) -> str:
    return "; ".join(
        said(
            lang,
            "columns",
            who=who.who,
            pool=sheet.pool[seat],
            mountain=sheet.mountain[seat],
            whists="".join(said(lang, "on", on=players[on].on, whists=n) for on, n in enumerate(sheet.whists[seat]) if n),
        )
        for seat, who in enumerate(players)
    )


def _ending(pulka: Scored, lang: Lang) -> str:
    """Whether and by which of its terms the pulka is over (4.2.3, 4.2.3.3)."""
    ended = closed_reason(pulka.convention, pulka.target, pulka.end.sheet, pulka.end.deals)
    if ended is not None:
        key = ended.partition(":")[0]
        return said(lang, key, players=pulka.players, target=pulka.target, deals=deals_counted(lang, pulka.end.deals))
    minutes = minutes_to_play(pulka.convention)
    if minutes is not None:
        return said(lang, "time", minutes=minutes_counted(lang, minutes))
    return said(lang, "open")


# ---- The settlement ----------------------------------------------------------------------------------------------------


def _settlement(pulka: Scored, lang: Lang, players: Sequence[Called]) -> Iterator[str]:
    sheet, share = pulka.end.sheet, divisor(pulka.convention, pulka.players)
    settled = settle(pulka.convention, pulka.target, sheet, pulka.last_dealer)
    yield said(lang, "settlement")
    if pulka.target is None:
        yield INDENT + (said(lang, "no_target", full=max(sheet.pool)) if len(set(sheet.pool)) > 1 else said(lang, "level"))
    yield from (INDENT + line for line in _mountains(pulka, lang, players, settled.mountain))
    yield from (INDENT + line for line in _first_way(lang, players, settled.mountain, share))
    yield from (INDENT + line for line in _second_way(lang, players, sheet, share, settled))
    assert settled.net == net_by_whists(settled.mountain, sheet, share)  # noqa: S101 - 4.2.14 says so, and so does the next line
    yield INDENT + said(lang, "agree", net=_by_player(lang, players, settled.net))
    if settled.net == settled.rounded:
        yield INDENT + said(lang, "whole")
    else:
        yield INDENT + said(lang, "rounded", net=_by_player(lang, players, settled.rounded))
        yield INDENT + _compensation(pulka, lang, players)
    if pulka.stake is not None:
        stake = pulka.stake
        amounts = _by_player(lang, players, [exact(whists * stake) for whists in settled.net])
        payments = _by_player(lang, players, [exact(whists * stake) for whists in settled.rounded])
        key = "stakes_whole" if settled.net == settled.rounded else "stakes"
        yield INDENT + said(lang, key, stake=stake, amounts=amounts, payments=payments)


def _mountains(pulka: Scored, lang: Lang, players: Sequence[Called], settled: Sequence[Amount]) -> Iterator[str]:
    """Each mountain with what the pool lacks or has over, times its weight."""
    sheet, weight = pulka.end.sheet, pool_weight(pulka.convention)
    full = max(sheet.pool) if pulka.target is None else pulka.target
    enough = "exactly" if pulka.target is not None else "largest" if len(set(sheet.pool)) > 1 else "only_mountain"
    for seat, (high, pool) in enumerate(zip(sheet.mountain, sheet.pool, strict=True)):
        lack = exact(full - pool)
        key = enough if not lack else "short" if lack > 0 else "over"
        how = "" if weight == 1 else said(lang, "weight", weight=weight)
        yield said(lang, key, who=players[seat].who, mountain=high, lack=max(lack, -lack), weight=how, settled=settled[seat])


def _first_way(lang: Lang, players: Sequence[Called], mountain: Sequence[Amount], share: int) -> Iterator[str]:
    lowest = min(mountain)
    yield said(lang, "way_1", lowest=lowest)
    if max(mountain) == lowest:
        yield INDENT + said(lang, "level_mountains")
    for who, high in zip(players, mountain, strict=True):
        points = exact(high - lowest)
        if points:
            whists = divided(points * WHISTS_A_POINT, share)
            yield INDENT + said(lang, "above", on=who.on, points=points, share=share, whists=whists)


def _second_way(lang: Lang, players: Sequence[Called], sheet: Sheet, share: int, settled: Settlement) -> Iterator[str]:
    average = divided(sum(settled.mountain), sheet.players)
    yield said(lang, "way_2", average=average)
    for seat, high in enumerate(settled.mountain):
        points, balance = exact(average - high), sheet.whist_balance(seat)
        yield INDENT + said(
            lang,
            "against",
            who=players[seat].who,
            points=points,
            share="" if share == sheet.players else said(lang, "share", players=sheet.players, share=share),
            whists=signed(divided(points * WHISTS_A_POINT * sheet.players, share)),
            balance=signed(balance),
            net=signed(settled.net[seat]),
        )


def _compensation(pulka: Scored, lang: Lang, players: Sequence[Called]) -> str:
    """The alternative that needs no rounding."""
    found = compensation(pulka.convention, pulka.target, pulka.end.sheet)
    if found is None:
        return said(lang, "no_compensation")
    whists = WHISTS_A_POINT // divisor(pulka.convention, pulka.players)
    owners = [players[entry.seat] for entry in found.entries if entry.column == "mountain"]
    entries = "; ".join(said(lang, "point_off", who=owner.who, on=owner.on, whists=whists) for owner in owners)
    return said(lang, "compensated", entries=entries, net=_by_player(lang, players, found.net))


def _by_player(lang: Lang, players: Sequence[Called], numbers: Iterable[Amount]) -> str:
    return _listed(said(lang, "result", who=who.who, amount=signed(number)) for who, number in zip(players, numbers, strict=True))


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts)
