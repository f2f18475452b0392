"""A table's commit as one viewer may see it: every event, and of what is hidden only what is theirs. It depends on commit and viewer, never
on when they ask.

Who may see what is said in `hidden`. A hand is known to its owner, where calls are made in the dark once they have looked (3.3.19), a
discard and a talon taken in the dark to the declarer, a hand that the resting dealer looked at to them (3.8.8), what somebody peeked at or
took to them (3.2.19-3.2.21), and the talon to nobody. That a card is a revoke is shown to nobody: it would tell what its hand holds. The
arbiter of an adjudicated table sees all of that [conv]; the server's seed nobody does, nor salts: with one, a guess could be tried on its
digest.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shared.events.catalogue import StoredTableEvent, encode_event
from shared.events.commit import SCHEMA, Commit
from shared.events.hidden import BOXED, HIDING, MARKS, Row, deal_of, may_see, parts
from shared.events.keys import MasterKeys
from shared.events.sealed import Sealed
from shared.events.sealing import Boxes, has_boxes
from shared.events.upcast import stored_table_events
from shared.rules.adjudicated.court import Maker
from shared.rules.language.chain_events import ChainsCommitted
from shared.rules.language.game_events import Event


class PublicCodec:
    """Makes what may be shown. Without keys it serves spectators, who are shown the content of no box."""

    def __init__(self, keys: MasterKeys | None = None) -> None:
        self._keys = keys

    def redacted(self, commit: Commit, eye: Maker | None) -> list[dict[str, Any]]:
        """The events as JSON objects for the player at a seat, the arbiter, or a spectator (`None`); `None` in them: not for them to know.

        Raises `ValueError` without keys for anybody but a spectator, `UnknownKey`, `TamperedBox`, `NewerSchema`, `msgspec.ValidationError`.
        """
        viewer = _Viewer(self._keys, commit.aggregate, eye)
        return [_shown(event, viewer) for event in stored_table_events(commit)]

    def encoded(self, commit: Commit, eye: Maker | None) -> tuple[msgspec.Raw, ...]:
        """`redacted` as JSON text. Events of today's schema that have no boxes hide nothing and are shown as they are stored, but for the
        mark of a revoke: it would tell what its hand holds (3.9.19).
        """
        if commit.schema == SCHEMA and not has_boxes(commit) and not any(mark in bytes(event) for event in commit.events for mark in MARKS):
            return commit.events
        return tuple(msgspec.Raw(encode_event(event)) for event in self.redacted(commit, eye))


class _Viewer:
    """Whoever looks at a table: a seat, the arbiter, or nobody in particular."""

    def __init__(self, keys: MasterKeys | None, aggregate: str, eye: Maker | None) -> None:
        if eye is not None and keys is None:
            raise ValueError("a player's own cards cannot be shown without keys")
        self._boxes = None if keys is None else Boxes(keys, aggregate)
        self._eye = eye

    def sees(self, row: Row, event: Event, owner: int, content: Sealed | str) -> str | None:
        """What is hidden there, if it is theirs to know, else the row's blank."""
        if not may_see(row, event, owner, self._eye):
            return content if row.owner == "place" and content == "" else row.blank  # who rests has no hand, and no box
        if isinstance(content, str):
            return content
        return None if self._boxes is None else self._boxes.opened(content, deal_of(event), row.kind, owner).text


def _shown(event: StoredTableEvent, viewer: _Viewer) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.json.decode(encode_event(_told(event, viewer)))
    if type(event) in BOXED:  # its salts are told by `DealRevealed`, which hides nothing
        shown.pop("salts", None)
        shown.pop("salt", None)
    return shown


def _told(event: Event, viewer: _Viewer) -> Event:
    """The event as the rules have it, without salts; what is not this viewer's is blank."""
    rows = HIDING.get(type(event))
    if rows is None:  # the beginning of the server's chain is told to nobody, not even in its box
        return msgspec.structs.replace(event, root={}) if isinstance(event, ChainsCommitted) else event
    values = {name: getattr(event, name) for name in event.__struct_fields__}
    for row in rows:
        seen = [viewer.sees(row, event, owner, content) for owner, content in parts(row, event)]
        values[row.field] = tuple(seen) if row.owner == "place" else seen[0]
    return rows[0].event(**values)
