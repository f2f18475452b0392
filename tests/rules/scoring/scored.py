"""How scoring tests speak: one deal under a convention, and what it wrote."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from shared.rules.score_files.score_file import score_document


def score(convention: Any = "sochi", players: int = 3, *deals: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """The answer to a score file of these deals; with four players and more seat 3 deals the first, unless the deal says otherwise."""
    first = {"dealer": 3} if players > 3 and deals and "dealer" not in deals[0] else {}
    file = {
        "convention": convention,
        "players": players,
        "deals": [first | deal if not index else deal for index, deal in enumerate(deals)],
    }
    return score_document(file | rest)


def one(convention: Any, players: int, deal: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """What a single deal wrote: `pool`, `mountain`, `whists`, without its entries."""
    written = score(convention, players, deal, **rest)["deals"][0]
    return {column: written[column] for column in ("pool", "mountain", "whists")}


def rules_cited(convention: Any, players: int, deal: dict[str, Any], **rest: Any) -> set[str]:
    """The rules that a single deal's entries cite."""
    return {entry["rule"] for entry in score(convention, players, deal, **rest)["deals"][0]["entries"]}


def net(answer: dict[str, Any]) -> list[Fraction]:
    """The exact settlement."""
    return [Fraction(whists) for whists in answer["settlement"]["net"]]


def written(pool: list[Any], mountain: list[Any], whists: list[list[Any]] | None = None) -> dict[str, Any]:
    """What a deal should have written."""
    return {"pool": pool, "mountain": mountain, "whists": whists or []}
