"""From JSON or plain objects to records, strictly: what is wrong is named by its place, `deals[0].tricks[1]`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from shared.rules.language.refusal import Malformed, NotJson

T = TypeVar("T")

_PLACE = re.compile(r"(?s)(?P<what>.*?)(?: - at (?:`key` in )?`\$(?P<place>[^`]*)`)?")
_FIELD = re.compile(r"Object (?:contains unknown|missing required) field `(?P<field>[^`]*)`")


_WANTED: dict[str, str] = {}  # what msgspec says of a text that does not match, and what we say; filled by `text_like`


def text_like(pattern: str, wanted: str, most: int | None = None) -> msgspec.Meta:
    """The constraint that a text match `pattern`, of at most `most` characters; `wanted` is what a person is told of it ("must be …")."""
    _WANTED[f"Expected `str` matching regex {pattern!r}"] = wanted
    return msgspec.Meta(pattern=pattern, max_length=most)


def in_words(complaint: str) -> str:
    """What msgspec has against a value, without its place, for a person to read: no regular expressions."""
    return _WANTED.get(complaint, complaint)


def decode(document: bytes | str, kind: type[T], path: str = "") -> T:
    """Read JSON text as a `kind`. Raises `NotJson` for what is none, `Malformed` for another shape, or a member that is named twice."""
    try:
        read = msgspec.json.decode(document, type=kind)
    except msgspec.ValidationError as error:
        _read_to_the_end(document, path)
        require_single(document, path)
        raise located(error, path) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise NotJson(path, f"not JSON: {error}") from None
    except RecursionError:
        raise Malformed(path, "nested too deeply") from None
    require_single(document, path)
    return read


def require_single(document: bytes | str, path: str = "") -> None:
    """Raises `Malformed` at the first member that an object of `document`, which is JSON, names twice (RFC 7493, 2.3)."""
    if (twice := doubled(document)) is not None:
        raise Malformed(join(path, twice if twice.startswith("[") else f".{twice}"), "given more than once")


def doubled(document: bytes | str) -> str | None:
    """The place of the first member that an object of `document`, which is JSON, names twice; None where each comes once.

    Readers keep the last one, the first, or both, so what two of them read is not one document. Nearly every document has none, and that is
    seen quickly: what is left of it, written again, has as many colons. An escape could hide one, so text with escapes is read slowly.
    """
    text = document if isinstance(document, str) else str(document, "utf-8")
    try:
        if "\\" not in text and text.count(":") == _colons_left(document):
            return None
        return next(_doubles(_read_pairs(text), ""), None)
    except RecursionError:
        return None  # too deep to be anything that we read


def _colons_left(document: bytes | str) -> int:
    """In the document as it is written again; -1 where a number is too long for that."""
    try:
        return msgspec.json.encode(msgspec.json.decode(document)).count(b":")
    except msgspec.ValidationError:
        return -1


def _read_to_the_end(document: bytes | str, path: str) -> None:
    """A wrong shape is seen before the rest is read; what is no JSON further on is no JSON."""
    try:
        require_json(document)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise NotJson(path, f"not JSON: {error}") from None


def require_json(document: bytes | str) -> None:
    """Raises `msgspec.DecodeError` or `UnicodeError` for what is no JSON, wherever in it. What is nested too deeply to tell passes."""
    text = document if isinstance(document, str) else str(document, "utf-8")  # JSON is UTF-8, and whoever skips a text does not look
    with suppress(RecursionError):
        msgspec.json.decode(text, type=msgspec.Raw)


class _Members(list[tuple[str, Any]]):
    """An object of JSON with every member that it was written with."""


_read_pairs = json.JSONDecoder(object_pairs_hook=_Members, parse_int=str, parse_float=str).decode  # as text: a number may be of any length


def _doubles(value: object, place: str) -> Iterator[str]:
    if isinstance(value, _Members):
        seen: set[str] = set()
        for name, inner in value:
            at = f"{place}.{name}".removeprefix(".")
            if name in seen:
                yield at
            seen.add(name)
            yield from _doubles(inner, at)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _doubles(inner, f"{place}[{number}]")


def convert(value: object, kind: type[T], path: str = "") -> T:
    """Read plain objects (dicts, lists, strings, numbers) as a `kind`. Raises `Malformed`."""
    try:
        return msgspec.convert(value, type=kind)
    except msgspec.ValidationError as error:
        raise located(error, path) from None
    except RecursionError:
        raise Malformed(path, "nested too deeply") from None


def located(error: msgspec.ValidationError, prefix: str = "") -> Malformed:
    """The same complaint with its place as our documents write it; an unknown or missing field is itself the place."""
    match = _PLACE.fullmatch(str(error))
    what, place = (match["what"], match["place"] or "") if match else (str(error), "")
    field = _FIELD.match(what)
    if field:
        place += f".{field['field']}"
        what = "unknown field" if "unknown" in what else "is required"
    return Malformed(join(prefix, place), in_words(what))


def join(prefix: str, place: str) -> str:
    """`prefix` and `place` as one path; `place` begins with "." or "[" or is empty."""
    return (prefix + place).removeprefix(".")
