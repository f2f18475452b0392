"""Between the events that the rules know, in which every card is plain, and those in the log, in which cards are sealed until they may be
known. What is sealed is said in `hidden`.

A box belongs to one place: table, deal, kind (`server_seed`, `hand`, `talon`, `discard`, `seen`, `peeked`, `returned_hand`,
`returned_talon`) and seat. Taken to another place it does not open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from shared.events.address import Address
from shared.events.catalogue import encode_event
from shared.events.commit import Commit
from shared.events.hidden import BOXED, BOXED_NAMES, NO_SEAT, Row, deal_of, parts
from shared.events.keys import MasterKeys
from shared.events.ledger_events import AnyLedgerEvent
from shared.events.lobby_events import AnyLobbyEvent
from shared.events.sealed import Opened, Sealed, nonce_from
from shared.events.upcast import stored_ledger_events, stored_lobby_events, stored_table_events
from shared.rules.deck.shuffle import SERVER_SEED, framed, salt
from shared.rules.language.game_events import Event

BEGINNING: Final = "chain_beginning"  # the kind of the box in which the server's chain begins; it is never told
_SALTS: Final = frozenset({"salt", "salts"})  # the fields that go into the boxes and are not stored beside them


class TableCodec:
    """Seals what a table decided, and opens what its log holds."""

    def __init__(self, keys: MasterKeys) -> None:
        self._keys = keys

    def seal(self, address: Address, events: tuple[Event, ...], entropy: bytes) -> tuple[msgspec.Raw, ...]:
        """The events in stored form. `entropy` is fresh for every decision, at least 16 bytes.

        Raises `ValueError` for an event whose secret or salt is missing: what the log does not hold can never be revealed.
        """
        sealing = _Sealing(self._keys, address.subject, entropy)
        return tuple([msgspec.Raw(encode_event(_sealed(event, sealing, index))) for index, event in enumerate(events)])

    def seal_beginning(self, address: Address, beginning: str, first: int, entropy: bytes) -> Sealed:
        """The beginning of the server's chain whose first link is that of round `first`; `entropy` as in `seal`."""
        return _Sealing(self._keys, address.subject, entropy).box(
            Opened(beginning, salt(beginning, BEGINNING)), first, BEGINNING, NO_SEAT, 0
        )

    def open_beginning(self, address: Address, box: Sealed, first: int) -> str:
        """What `seal_beginning` sealed. Raises `UnknownKey`, `TamperedBox`."""
        return Boxes(self._keys, address.subject).opened(box, first, BEGINNING).text

    def open(self, commit: Commit) -> tuple[Event, ...]:
        """The events of `commit` in today's form, all boxes open. Raises `UnknownKey`, `TamperedBox`, `NewerSchema`,
        `msgspec.ValidationError`.
        """
        stored = stored_table_events(commit)
        if BOXED.keys().isdisjoint(map(type, stored)):
            return stored  # nearly every commit: nothing in it was ever secret
        boxes = Boxes(self._keys, commit.aggregate)
        return tuple([_opened(event, boxes) for event in stored])

    def seal_state(self, address: Address, data: bytes) -> bytes:
        """What is kept of a table beside its log, sealed: the id of the key, and the box, which fits this table alone."""
        key = self._keys.box_key(address.subject)
        return key.id.encode() + b":" + key.seal_bytes(data, _kept(address))

    def open_state(self, address: Address, data: bytes) -> bytes:
        """What `seal_state` sealed. Raises `UnknownKey`, `TamperedBox`."""
        key_id, _, box = data.partition(b":")
        return self._keys.box_key(address.subject, key_id.decode("ascii", "replace")).open_bytes(box, _kept(address))


def _kept(address: Address) -> bytes:
    """The place of a kept state: no box of an event has it."""
    return framed("pulka kept state 1", address.subject)


class LobbyCodec:
    """The lobby's events are stored as they are: what is personal in them is sealed before they are decided, under a key that may be
    destroyed.
    """

    def seal(self, address: Address, events: tuple[AnyLobbyEvent, ...], entropy: bytes) -> tuple[msgspec.Raw, ...]:  # noqa: ARG002  # the port of all codecs
        """The events in stored form."""
        return tuple([msgspec.Raw(encode_event(event)) for event in events])

    def open(self, commit: Commit) -> tuple[AnyLobbyEvent, ...]:
        """The events of `commit` in today's form. Raises `NewerSchema`, `msgspec.ValidationError`."""
        return stored_lobby_events(commit)


class LedgerCodec:
    """The ledger's own events are stored as they are: nothing in them is anybody's secret."""

    def seal(self, address: Address, events: tuple[AnyLedgerEvent, ...], entropy: bytes) -> tuple[msgspec.Raw, ...]:  # noqa: ARG002  # the port of all codecs
        """The events in stored form."""
        return tuple([msgspec.Raw(encode_event(event)) for event in events])

    def open(self, commit: Commit) -> tuple[AnyLedgerEvent, ...]:
        """The events of `commit` in today's form. Raises `NewerSchema`, `msgspec.ValidationError`."""
        return stored_ledger_events(commit)


class Boxes:
    """Opens the boxes of one table."""

    def __init__(self, keys: MasterKeys, aggregate: str) -> None:
        self._keys = keys
        self._aggregate = aggregate

    def opened(self, box: Sealed, deal: int, kind: str, seat: int = NO_SEAT) -> Opened:
        """What is in the box of that place. Raises `UnknownKey`, `TamperedBox`."""
        return self._keys.box_key(self._aggregate, box.key).open(box, _place(self._aggregate, deal, kind, seat))


class _Named(msgspec.Struct):
    """The name of a stored event, the rest passed over."""

    type: str


_name = msgspec.json.Decoder(_Named).decode


def name_of(event: msgspec.Raw) -> str:
    """The name of a stored event, which no schema ever changed."""
    return _name(event).type


def has_boxes(commit: Commit) -> bool:
    """Whether something in a table's commit is sealed; tells it by the events' names, under any schema so far."""
    return any(_name(event).type in BOXED_NAMES for event in commit.events)


class _Sealing:
    """Makes the boxes of one commit."""

    def __init__(self, keys: MasterKeys, aggregate: str, entropy: bytes) -> None:
        self._keys = keys
        self._aggregate = aggregate
        self._entropy = entropy

    def box(self, content: Opened, deal: int, kind: str, seat: int, index: int) -> Sealed:
        """The box of `content` for its place; `index` is the event's in the commit."""
        place = _place(self._aggregate, deal, kind, seat)
        return self._keys.box_key(self._aggregate).seal(content, nonce_from(self._entropy, place, index), place)


def _place(aggregate: str, deal: int, kind: str, seat: int) -> bytes:
    return framed("pulka box 1", aggregate, deal, kind, seat)


def _sealed(event: Event, sealing: _Sealing, index: int) -> Event:
    rows = BOXED.get(type(event))
    if rows is None:
        return event
    values, salts = _beside(event, rows), _salts(event)
    for row in rows:
        boxes = [_boxed(row, event, owner, text, salts, sealing, index) for owner, text in parts(row, event)]
        values[row.field] = tuple(boxes) if row.owner == "place" else boxes[0]
    return rows[0].form(**values)


def _boxed(row: Row, event: Event, owner: int, text: str | None, salts: Iterator[str], sealing: _Sealing, index: int) -> Sealed | str:
    """One box; the text itself where there is nothing to hide: who rests has no hand, and some things were shown to all."""
    own = salt(text, SERVER_SEED) if row.kind == SERVER_SEED and text is not None else next(salts, "")
    if text is None:
        raise ValueError(f"{type(event).__name__} without its secret")
    if (row.owner == "place" and not text) or (row.only is not None and not row.only.hides(event)):
        return text
    return sealing.box(Opened(text, own), deal_of(event), row.kind, owner, index)


def _salts(event: Event) -> Iterator[str]:
    """The salts that came with the event, in the order of its boxes."""
    return iter(getattr(event, "salts", None) or (getattr(event, "salt", ""),))


def _beside(event: Event, rows: tuple[Row, ...]) -> dict[str, Any]:
    """What of an event stands beside its boxes."""
    boxed = {row.field for row in rows}
    return {name: getattr(event, name) for name in event.__struct_fields__ if name not in boxed and name not in _SALTS}


def _opened(event: Event, boxes: Boxes) -> Event:
    rows = BOXED.get(type(event))
    if rows is None:
        return event
    values, salts, kind = _beside(event, rows), list[str](), rows[0].event
    for row in rows:
        found = [
            Opened(box, "") if isinstance(box, str) else boxes.opened(box, deal_of(event), row.kind, owner)
            for owner, box in parts(row, event)
        ]
        values[row.field] = tuple(one.text for one in found) if row.owner == "place" else found[0].text
        salts += [one.salt for one in found]
    if "salts" in kind.__struct_fields__:
        values["salts"] = tuple(salts)
    elif "salt" in kind.__struct_fields__:
        values["salt"] = salts[0]
    return kind(**values)
