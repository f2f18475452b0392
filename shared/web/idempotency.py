"""The headers that make writes safe to repeat: `Idempotency-Key` and `If-Match`; and the one that makes them one's own, `Move-Signature`.

A handler that takes several things from headers best does so in one dependency of its own, out of `KeyHeader`, `TagHeader` and the
functions here: Litestar resolves more than one dependency in a task group, which costs more than the rest of a small request.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeAlias

from litestar.di import Provide
from litestar.params import HeaderParameter

from shared.web.problems import Problem, malformed

_KEY: Final = r"[\x21-\x7e]{1,128}"  # visible ASCII; 128 holds a UUID, a ULID, or a hash with a prefix
_TAG: Final = r'"(0|[1-9][0-9]{0,17})"'  # a strong entity tag; 18 digits stay within 64 bits
_key = re.compile(_KEY)
_tag = re.compile(_TAG)

KeyHeader: TypeAlias = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        description="1 to 128 visible ASCII characters: new for each new request, the same for a repeat",
        schema_extra={"pattern": f"^{_KEY}$"},
    ),
]
TagHeader: TypeAlias = Annotated[
    str | None,
    HeaderParameter(
        name="If-Match", description='The revision that the sender has seen, quoted: "17"', schema_extra={"pattern": rf"^({_TAG}|\*)$"}
    ),
]

SignatureHeader: TypeAlias = Annotated[
    str | None,
    HeaderParameter(
        name="Move-Signature", description="Ed25519 over the move, 128 hexadecimal digits", schema_extra={"pattern": "^[0-9a-f]{128}$"}
    ),
]


def idempotency_key(key: KeyHeader = None) -> str:
    """The required key; raises 400 `idempotency_key_missing` when it is missing or malformed."""
    if key is None or _key.fullmatch(key) is None:
        raise Problem(400, "idempotency_key_missing", "Send Idempotency-Key: 1 to 128 visible ASCII characters, new for each new request.")
    return key


def optional_key(key: KeyHeader = None) -> str | None:
    """The key if there is one; a malformed one is refused all the same, since its sender relies on it."""
    return None if key is None else idempotency_key(key)


def if_match(tag: TagHeader = None) -> int | None:
    """The revision in `If-Match: "<revision>"`, None without the header or for `*`; raises 400 when malformed."""
    if tag is None or tag == "*":
        return None
    found = _tag.fullmatch(tag)
    if found is None:
        raise malformed("If-Match", 'must be a quoted revision, as in "17"')
    return int(found[1])


DEPENDENCIES: Final = {
    "idempotency_key": Provide(idempotency_key, sync_to_thread=False),
    "optional_key": Provide(optional_key, sync_to_thread=False),
    "if_match": Provide(if_match, sync_to_thread=False),
}
"""`idempotency_key: NamedDependency[str]`, `optional_key: NamedDependency[str | None]`, `if_match: NamedDependency[int | None]`."""
