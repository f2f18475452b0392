"""The same deals under another convention as a document: the object of `pulka score` there, and what differs, entry by entry."""

from __future__ import annotations

from typing import Any, TypeAlias

from shared.rules.language.amount import exact, written
from shared.rules.score_files.what_if import Compared, ComparedDeal, Pair, Remark
from shared.rules.score_files.what_if_words import remarked
from shared.rules.scoring.settlement import settlement
from shared.rules.scoring.sheet import written_by

Document: TypeAlias = dict[str, Any]


def what_if_document(compared: Compared, name: object) -> Document:
    """The object of `pulka score` under the other convention, `as` (its `name` or record), and `differences`.

    Where a deal cannot be scored there, or the pulka was over before it, it writes nothing.
    """
    pulka = compared.pulka
    was, would = compared.was, compared.would_be
    return {
        "deals": [
            written_by(pulka.players, deal.would).document() | {"entries": [entry.document() for entry in deal.would]}
            for deal in compared.deals
        ],
        "sheet": compared.end.sheet.document(),
        "closed": compared.closed_after is not None,
        "settlement": settlement(compared.convention, pulka.target, compared.end.sheet, pulka.stake, compared.last_dealer),
        "as": name,
        "differences": {
            "deals": [_deal_document(deal) for deal in compared.deals],
            "net": [str(written(exact(there - here))) for here, there in zip(was.net, would.net, strict=True)],
            "rounded": [there - here for here, there in zip(was.rounded, would.rounded, strict=True)],
            "closed_after": {"written": compared.ended_with, "would": compared.closed_after},
            "remarks": [_remark_document(remark) for remark in compared.remarks],
        },
    }


def _deal_document(deal: ComparedDeal) -> Document:
    fields: Document = {"deal": deal.number, "entries": [_pair_document(pair) for pair in deal.pairs]}
    if deal.problem is not None:
        fields["problem"] = _remark_document(deal.problem)
    if deal.over:
        fields["over"] = True
    if deal.remarks:
        fields["remarks"] = [_remark_document(remark) for remark in deal.remarks]
    return fields


def _pair_document(pair: Pair) -> Document:
    one = pair.entry
    on = {} if one.on is None else {"on": one.on}
    sides = {
        side: None if entry is None else {"amount": written(entry.amount), "rule": entry.rule, "why": entry.why}
        for side, entry in (("written", pair.written), ("would", pair.would))
    }
    return {"seat": one.seat, "column": one.column, **on, **sides, "difference": written(pair.difference)}


def _remark_document(remark: Remark) -> Document:
    return {"code": remark.code, "message": remarked(remark)}
