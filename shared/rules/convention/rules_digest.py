"""What a pulka is played by, in one digest that stands in the commitment of every deal."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec


def rules_digest(convention: dict[str, Any], players: int, target: int | None, terms: dict[str, Any]) -> str:
    """SHA-256, hex, of `{"convention", "players", "target", "terms"}` as JSON with sorted keys: `PulkaOpened` holds all of it."""
    agreed = {"convention": convention, "players": players, "target": target, "terms": terms}
    return hashlib.sha256(msgspec.json.encode(agreed, order="sorted")).hexdigest()
