"""The signatures of players, checked from the log: a player who registered a key has signed every move that is in their name."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import msgspec

from shared.events.chain import Finding
from shared.events.commit import Commit, signed_text
from shared.events.keys import verify_signature
from shared.events.sealed import digest_of
from shared.rules.deck import shuffle
from shared.rules.language.chain_events import LinkOpened
from shared.rules.language.game_events import CardsDiscarded, Event
from shared.rules.language.moves import AnyMove, Discard
from shared.rules.pulka.state import Pulka

CODE = "signature"


_decode = msgspec.json.Decoder(cast("type[AnyMove]", AnyMove)).decode


class _Discarded(msgspec.Struct, tag_field="type", tag="discard", forbid_unknown_fields=True):
    """A discard as it is signed."""

    digest: str


_decode_discard = msgspec.json.Decoder(_Discarded).decode


def wrong_signature(pulka: Pulka, commit: Commit, acts: tuple[Event, ...], made: Callable[[int, AnyMove], bool]) -> Finding | None:
    """What is wrong with the signature of a commit on top of `pulka`; None where nobody had to sign, or it holds. `made(seat, move)` says
    whether the rules make just `acts` of that move.
    """
    seat = pulka.seats.index(commit.actor) if commit.actor in pulka.seats else None
    key = pulka.keys[seat] if seat is not None and seat < len(pulka.keys) else ""
    if seat is None or not key:
        return None if commit.signed is None else Finding(commit.revision, CODE, "It is signed, and by nobody who has a key here.")
    if isinstance(acts[0], LinkOpened):  # only one link fits, and only its player has it
        return None
    if commit.signed is None:
        return Finding(commit.revision, CODE, f"Seat {seat} signs their moves, and this one is not signed.")
    text = signed_text(commit.aggregate.rpartition(".")[2], commit.revision, commit.prev_hash, commit.signed.move)
    if not verify_signature(key, text, commit.signed.signature):
        return Finding(commit.revision, CODE, f"The signature of seat {seat} does not hold.")
    move = _signed_move(pulka, acts[0], commit.signed.move)
    if move is not None and made(seat, move):
        return None
    return Finding(commit.revision, CODE, f"What seat {seat} signed is not what happened.")


def _signed_move(pulka: Pulka, first: Event, text: str) -> AnyMove | None:
    """The move that was signed; None for what is none, or is another discard than the one in the log."""
    try:
        if not isinstance(first, CardsDiscarded):
            return _decode(text)
        cards = first.cards or ""
        digest = digest_of(shuffle.salt(pulka.secrets.server_seed, shuffle.DISCARD), cards)
        return Discard(tuple(cards.split())) if _decode_discard(text).digest == digest else None
    except msgspec.DecodeError:
        return None
