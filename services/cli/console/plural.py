"""A number with its noun, singular or plural."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """So many of them: "1 table", "2 tables", "0 tables"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
