"""The part of the page that tells a pulka under another convention: deal by deal what was written and what would have been."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from services.ledger.sheet.page import contract_told, table, text, with_minus
from services.ledger.sheet.sheet_words import word
from shared.rules.score_files.players_called import called
from shared.rules.score_files.scorer_words import Lang, signed
from shared.rules.score_files.what_if import Compared
from shared.rules.score_files.what_if_words import deal_lines, ending_line, head_lines


def comparison(compared: Compared, names: Sequence[str], lang: Lang) -> Iterator[str]:
    """What is compared, when it would have ended, the results side by side, and every deal."""
    yield f"<section><h2>{text(word(lang, 'comparison'))}</h2>"
    for line in (*head_lines(compared, lang), ending_line(compared, lang)):
        yield f"<p>{text(line)}</p>"
    players = called(lang, len(names), names)
    rows = [
        [text(name), text(with_minus(was)), text(with_minus(would)), f"<b>{text(signed(would - was))}</b>"]
        for name, was, would in zip(names, compared.was.rounded, compared.would_be.rounded, strict=True)
    ]
    head = [word(lang, key) for key in ("player", "was", "would", "difference")]
    yield from table(map(text, head), rows, dict.fromkeys((1, 2, 3), "number"))
    yield f"</section><section><h2>{text(word(lang, 'deals'))}</h2>"
    told = [
        [
            str(deal.number),
            text(contract_told(lang, deal.outcome)),
            "" if deal.outcome.declarer is None else text(names[deal.outcome.declarer]),
            f"<ul>{''.join(f'<li>{text(line)}</li>' for line in deal_lines(deal, players, lang))}</ul>",
        ]
        for deal in compared.deals
    ]
    columns = [text(word(lang, key)) for key in ("deal", "contract", "declarer", "entries")]
    yield from table(columns, told, {0: "number", 1: "contract", 3: "entries"}, labelled=(0, 2))
    yield "</section>"
