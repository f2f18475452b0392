"""From JSON or plain objects to records, strictly: what is wrong is named by its place, `deals[0].tricks[1]`."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from shared.rules.language.refusal import Malformed, NotJson

T = TypeVar("T")

_PLACE = re.compile(r"(?s)(?P<what>.*?)(?: - at `(?:key in )?\$(?P<place>[^`]*)`)?")
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
    """Read JSON text as a `kind`. Raises `NotJson` for what is not JSON, `Malformed` for JSON of another shape."""
    try:
        return msgspec.json.decode(document, type=kind)
    except msgspec.ValidationError as error:
        _read_to_the_end(document, path)
        raise located(error, path) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise NotJson(path, f"not JSON: {error}") from None
    except RecursionError:
        raise Malformed(path, "nested too deeply") from None


def _read_to_the_end(document: bytes | str, path: str) -> None:
    """A wrong shape is seen before the rest is read; what is no JSON further on is no JSON."""
    try:
        msgspec.json.decode(document, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise NotJson(path, f"not JSON: {error}") from None
    except RecursionError:
        return  # too deep to tell; the complaint about its shape stands


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
