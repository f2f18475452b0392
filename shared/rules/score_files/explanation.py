"""A score file as a scorer would tell it (`pulka score --explain`): every entry with rule, amount and reason, the settlement in both ways
of 4.2.14, the compensation of 4.2.12, the stakes of 4.2.13. Pure text, line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shared.rules.deck.contract import LEVEL, MISERE
from shared.rules.language.amount import Amount, divided, exact
from shared.rules.score_files.score_file import Scored, ScoredDeal
from shared.rules.score_files.scorer_words import Lang, contract, reason, said, signed
from shared.rules.scoring.compensation import compensation
from shared.rules.scoring.series import deal_factor
from shared.rules.scoring.settlement import WHISTS_A_POINT, closed_reason, divisor, minutes_to_play, net_by_whists, pool_weight, settle
from shared.rules.scoring.sheet import Sheet, write

INDENT = "  "


def explained(pulka: Scored, lang: Lang) -> Iterator[str]:
    """The pulka, deal after deal, to the settlement; lines without line breaks, those under a heading indented."""
    target = "" if pulka.target is None else said(lang, "to", target=pulka.target)
    stake = "" if pulka.stake is None else said(lang, "at", stake=pulka.stake)
    yield said(lang, "title", players=pulka.players, convention=pulka.convention.preset, target=target, stake=stake)
    yield said(lang, "start", sheet=_columns(lang, pulka.start.sheet))
    for deal in pulka.deals:
        yield from _deal(pulka, lang, deal)
    yield said(lang, "sheet", sheet=_columns(lang, pulka.end.sheet))
    yield _ending(pulka, lang)
    yield from _settlement(pulka, lang)


def _deal(pulka: Scored, lang: Lang, deal: ScoredDeal) -> Iterator[str]:
    yield said(lang, "deal", number=deal.after.deals, dealer=deal.outcome.dealer) + " " + _played(pulka, lang, deal) + "."
    sheet = deal.before.sheet
    for entry in deal.entries:
        sheet = write(sheet, [entry])
        column = {"pool": sheet.pool, "mountain": sheet.mountain, "whists": sheet.whists[entry.seat]}[entry.column]
        now = column[entry.seat if entry.on is None else entry.on]
        yield INDENT + said(
            lang,
            entry.column,
            seat=entry.seat,
            on=entry.on,
            amount=signed(entry.amount),
            now=now,
            why=reason(lang, entry.why),
            rule=entry.rule,
        )
    if not deal.entries:
        yield INDENT + said(lang, "nothing")


def _played(pulka: Scored, lang: Lang, deal: ScoredDeal) -> str:
    """What was played, in one sentence: contract, factors, calls, tricks."""
    outcome, series = deal.outcome, deal.before.series
    how = said(lang, "dark") if outcome.dark else ""
    if outcome.dark_pass:
        how += said(lang, "dark_pass", seats=_listed(map(str, outcome.dark_pass)))
    if outcome.contract is not None and (factor := deal_factor(pulka.convention, series, outcome)) != 1:
        how += said(lang, "factor", factor=factor)
    how += "".join(said(lang, word) for word in ("shared", "without_three", "conceded") if getattr(outcome, word))
    if any(outcome.calls):
        calls = [said(lang, "call", seat=seat, call=said(lang, call)) for seat, call in enumerate(outcome.calls) if call is not None]
        how += said(lang, "calls", calls=_listed(calls))
    if outcome.tricks:
        how += said(lang, "tricks", tricks=" ".join(map(str, outcome.tricks)))
    if outcome.contract in LEVEL:
        return said(lang, "plays", seat=outcome.declarer, contract=contract(outcome.contract or "", lang), how=how)
    if outcome.contract == MISERE:
        return said(lang, "misere", seat=outcome.declarer, how=how)
    if outcome.is_all_pass:
        row = said(lang, "row", number=series.all_pass_in_row + 1) if series.all_pass_in_row else ""
        return said(lang, "all_pass", row=row, how=how)
    return said(lang, "none")


def _columns(lang: Lang, sheet: Sheet) -> str:
    return "; ".join(
        said(
            lang,
            "columns",
            seat=seat,
            pool=sheet.pool[seat],
            mountain=sheet.mountain[seat],
            whists="".join(said(lang, "on", seat=on, whists=n) for on, n in enumerate(sheet.whists[seat]) if n),
        )
        for seat in range(sheet.players)
    )


def _ending(pulka: Scored, lang: Lang) -> str:
    """Whether and by which of its terms the pulka is over (4.2.3, 4.2.3.3)."""
    ended = closed_reason(pulka.convention, pulka.target, pulka.end.sheet, pulka.end.deals)
    if ended is not None:
        key = ended.partition(":")[0]
        return said(lang, key, players=pulka.players, target=pulka.target, deals=pulka.end.deals)
    minutes = minutes_to_play(pulka.convention)
    if minutes is not None:
        return said(lang, "time", minutes=minutes)
    return said(lang, "open")


# ---- The settlement ----------------------------------------------------------------------------------------------------


def _settlement(pulka: Scored, lang: Lang) -> Iterator[str]:
    sheet, share = pulka.end.sheet, divisor(pulka.convention, pulka.players)
    settled = settle(pulka.convention, pulka.target, sheet, pulka.last_dealer)
    yield said(lang, "settlement")
    if pulka.target is None:
        yield INDENT + said(lang, "no_target", full=max(sheet.pool))
    yield from (INDENT + line for line in _mountains(pulka, lang, settled.mountain))
    yield from (INDENT + line for line in _first_way(lang, settled.mountain, share))
    yield from (INDENT + line for line in _second_way(lang, settled.mountain, sheet, share, settled.net))
    assert settled.net == net_by_whists(settled.mountain, sheet, share)  # noqa: S101 - 4.2.14 says so, and so does the next line
    yield INDENT + said(lang, "agree", net=_by_seat(lang, settled.net))
    if settled.net == settled.rounded:
        yield INDENT + said(lang, "whole")
    else:
        yield INDENT + said(lang, "rounded", net=_by_seat(lang, settled.rounded))
        yield INDENT + _compensation(pulka, lang)
    if pulka.stake is not None:
        stake = pulka.stake
        amounts = _by_seat(lang, [exact(whists * stake) for whists in settled.net])
        payments = _by_seat(lang, [exact(whists * stake) for whists in settled.rounded])
        yield INDENT + said(lang, "stakes", stake=stake, amounts=amounts, payments=payments)


def _mountains(pulka: Scored, lang: Lang, settled: Sequence[Amount]) -> Iterator[str]:
    """Each mountain with what the pool lacks or has over, times its weight."""
    sheet, weight = pulka.end.sheet, pool_weight(pulka.convention)
    full = max(sheet.pool) if pulka.target is None else pulka.target
    for seat, (high, pool) in enumerate(zip(sheet.mountain, sheet.pool, strict=True)):
        lack = exact(full - pool)
        key = "exactly" if not lack else "short" if lack > 0 else "over"
        how = "" if weight == 1 else said(lang, "weight", weight=weight)
        yield said(lang, key, seat=seat, mountain=high, lack=max(lack, -lack), weight=how, settled=settled[seat])


def _first_way(lang: Lang, mountain: Sequence[Amount], share: int) -> Iterator[str]:
    lowest = min(mountain)
    yield said(lang, "way_1", lowest=lowest)
    for seat, high in enumerate(mountain):
        points = exact(high - lowest)
        if points:
            whists = divided(points * WHISTS_A_POINT, share)
            yield INDENT + said(lang, "above", seat=seat, points=points, share=share, whists=whists)


def _second_way(lang: Lang, mountain: Sequence[Amount], sheet: Sheet, share: int, net: Sequence[Amount]) -> Iterator[str]:
    average = divided(sum(mountain), sheet.players)
    yield said(lang, "way_2", average=average)
    for seat, high in enumerate(mountain):
        points, balance = exact(average - high), sheet.whist_balance(seat)
        yield INDENT + said(
            lang,
            "against",
            seat=seat,
            points=points,
            share=share,
            players=sheet.players,
            whists=signed(divided(points * WHISTS_A_POINT * sheet.players, share)),
            balance=signed(balance),
            net=signed(net[seat]),
        )


def _compensation(pulka: Scored, lang: Lang) -> str:
    """The alternative that needs no rounding."""
    found = compensation(pulka.convention, pulka.target, pulka.end.sheet)
    if found is None:
        return said(lang, "no_compensation")
    whists = WHISTS_A_POINT // divisor(pulka.convention, pulka.players)
    owners = [entry.seat for entry in found.entries if entry.column == "mountain"]
    entries = "; ".join(said(lang, "point_off", seat=seat, whists=whists) for seat in owners)
    return said(lang, "compensated", entries=entries, net=_by_seat(lang, found.net))


def _by_seat(lang: Lang, numbers: Iterable[Amount]) -> str:
    return _listed(said(lang, "result", seat=seat, amount=signed(number)) for seat, number in enumerate(numbers))


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts)
