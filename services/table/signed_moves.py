"""Moves that nobody else can make: a player who has registered a public key signs each of theirs (deploy/docs/signed-moves.md).

The signature stands in the commit. It is over the move and its place in the table's history, so that it fits nowhere else. Where a move
hides cards, the digest on their box stands for them: whoever does not know its salt cannot try a guess on the signature.
"""

from __future__ import annotations

from typing import Final

import msgspec

from services.table.table import Table, seat_of
from shared.eventlog.aggregates.aggregates import Loaded
from shared.events.commit import SignedMove, signed_text
from shared.events.keys import verify_signature
from shared.events.sealed import digest_of
from shared.rules.deck import shuffle
from shared.rules.language.moves import AnyMove, Discard, OpenLink
from shared.rules.language.refusal import Refused
from shared.rules.pulka.state import Pulka

MISSING: Final = Refused("signature_missing", "", "You have registered a key for this pulka: sign your moves (`Move-Signature`).")

_encode = msgspec.json.Encoder(order="deterministic").encode


def key_of(table: Table, player: str) -> str:
    """The public key with which a player signs here, "" for none."""
    seat, keys = seat_of(table, player), table.pulka.keys
    return keys[seat] if seat is not None and seat < len(keys) else ""


def text_of(pulka: Pulka, wanted: AnyMove) -> str:
    """The text of a move as it is signed: JSON without blanks, `type` first, then the fields in the documents' order, defaults left out."""
    if isinstance(wanted, Discard):
        digest = digest_of(discard_salt(pulka), " ".join(wanted.cards))
        return msgspec.json.encode({"type": "discard", "digest": digest}).decode()
    return _encode(wanted).decode()


def discard_salt(pulka: Pulka) -> str:
    """The salt of the discard's box in the present deal: its declarer needs it to sign, and nobody else learns it before the reveal."""
    return shuffle.salt(pulka.secrets.server_seed, shuffle.DISCARD) if pulka.secrets.server_seed else ""


def signed(table: Table, player: str, wanted: AnyMove, signature: str) -> SignedMove | None:
    """What of a signature goes into the commit; None for a player without a key, whose signature would prove nothing."""
    needless = isinstance(wanted, OpenLink)  # only one link fits, and only its player has it
    return SignedMove(text_of(table.pulka, wanted), signature) if signature and not needless and key_of(table, player) else None


def refusal(now: Loaded[Table], player: str, wanted: AnyMove, given: SignedMove | None) -> Refused | None:
    """Why a move is not taken as signed, if it is not."""
    key = key_of(now.state, player)
    if not key or isinstance(wanted, OpenLink):
        return None
    if given is None:
        return MISSING
    told = signed_text(now.address.id, now.revision + 1, now.head_hash, text_of(now.state.pulka, wanted))
    if given.move == text_of(now.state.pulka, wanted) and verify_signature(key, told, given.signature):
        return None
    where = f"revision {now.revision + 1} after the commit {now.head_hash}"
    return Refused("signature_wrong", "", f"The signature is not over this move as {where}; look again, and sign anew.")
