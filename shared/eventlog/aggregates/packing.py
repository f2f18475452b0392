"""Records as bytes and back, exactly: a tuple stays a tuple, a fraction a fraction, and an equal record comes out.

For what a program of the same version reads again, and nobody else: the bytes name no field. `fingerprint` says which version that is, by
the records' fields and their types.
msgspec alone cannot do it, since it reads no union of a number and a `Fraction`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from inspect import signature
from types import UnionType
from typing import Any, Final, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import astuple

R = TypeVar("R", bound=msgspec.Struct)

_TUPLE, _LIST, _DICT, _FRACTION, _SHARED, _SET = range(
    6
)  # what an array begins with; from `_FIRST` on it is the number of a record's class
_FIRST: Final = 8
_ATOMS: Final = frozenset({type(None), bool, int, float, str, bytes})
SHARED_AT_ONCE: Final = 256  # shared records that are kept to be handed out again: the conventions that a club plays

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


class Unpackable(Exception):
    """Bytes that this packing has not made."""


class Packing(Generic[R]):
    """For records of `root` and of every class that its fields may hold.

    `kinds` are classes that no field names, of which one stands in a base class's place. Records of the classes in `shared` come out once
    for many: whoever unpacks two that are equal gets the same one.
    """

    def __init__(self, root: type[R], shared: tuple[type[msgspec.Struct], ...] = (), kinds: Iterable[type[msgspec.Struct]] = ()) -> None:
        self._root = root
        self._shared = frozenset(shared)
        found = _classes(root, set())
        for kind in kinds:
            _classes(kind, found)
        classes = sorted(found, key=_name)
        self._numbers = {kind: number for number, kind in enumerate(classes, _FIRST)}
        self._of_kind: dict[type, Callable[[Any], list[Any]]] = {
            tuple: lambda value: [_TUPLE, *map(self._plain, value)],
            list: lambda value: [_LIST, *map(self._plain, value)],
            dict: lambda value: [_DICT, *(self._plain(one) for pair in value.items() for one in pair)],
            frozenset: lambda value: [_SET, *map(self._plain, sorted(value))],
            Fraction: lambda value: [_FRACTION, value.numerator, value.denominator],
        }
        self._of_kind |= {kind: self._writer_of(kind) for kind in classes}
        self._makers = {
            number: (_maker(kind), 1 + len(kind.__struct_fields__), [(place, self._reader(hint)) for place, hint in _places(kind)])
            for kind, number in self._numbers.items()
        }
        self._unpack_shared = lru_cache(maxsize=SHARED_AT_ONCE)(lambda data: self._record(_decode(data)))
        told = "\n".join(
            f"{_name(kind)}({', '.join(f'{name}: {spelled}' for name, spelled in _spelled(kind).items())})" for kind in classes
        )
        self.fingerprint: Final = hashlib.sha256(told.encode()).hexdigest()[:16]

    def pack(self, record: R) -> bytes:
        """The record's bytes. Raises `TypeError` for a value of no known class, `OverflowError` for a number beyond 64 bits."""
        return _encode(self._plain(record))

    def unpack(self, data: bytes) -> R:
        """The record that `pack` made these bytes of. Raises `Unpackable`."""
        try:
            record = self._record(_decode(data))
        except (msgspec.DecodeError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as wrong:
            raise Unpackable(type(wrong).__name__) from wrong
        if not isinstance(record, self._root):
            raise Unpackable(type(record).__name__)
        return record

    def _plain(self, value: Any) -> Any:
        kind = type(value)
        if kind in _ATOMS:
            return value
        write = self._of_kind.get(kind)
        if write is None:
            raise TypeError(f"{kind.__name__} is not packed")
        return write(value)

    def _writer_of(self, kind: type[msgspec.Struct]) -> Callable[[Any], list[Any]]:
        number = self._numbers[kind]
        writers = [(place, self._writer(hint)) for place, hint in _places(kind)]
        if not writers and kind not in self._shared:
            return lambda record: [number, *astuple(record)]

        def write(record: Any) -> list[Any]:
            plain: list[Any] = [number, *astuple(record)]
            for place, write in writers:
                plain[place] = write(plain[place])
            return plain

        return (lambda record: [_SHARED, _encode(write(record))]) if kind in self._shared else write

    def _record(self, plain: Any) -> Any:
        if type(plain) is not list:
            return plain
        first = plain[0]
        if first < _FIRST:
            return self._held(first, plain)
        make, length, places = self._makers[first]
        if len(plain) != length:
            raise ValueError(first)
        for place, read in places:
            if type(plain[place]) is list:
                plain[place] = read(plain[place])
        return make(*plain[1:])

    def _writer(self, hint: Any) -> Callable[[Any], Any]:
        """`_plain` for values of this type: where the type says what comes, nothing has to be found out."""
        parts = _parts(hint)
        if parts and all(map(_is_atom, parts)):
            return lambda value: [_TUPLE, *value] if type(value) is tuple else self._plain(value)
        if len(parts) != 1:
            return self._plain
        write = self._writer(parts[0])
        return lambda value: [_TUPLE, *map(write, value)] if type(value) is tuple else self._plain(value)

    def _reader(self, hint: Any) -> Callable[[list[Any]], Any]:
        """`_record` for lists that a value of this type was packed as."""
        parts = _parts(hint)
        if parts and all(map(_is_atom, parts)):
            return lambda plain: tuple(plain[1:]) if plain[0] == _TUPLE and list not in map(type, plain) else self._record(plain)
        if len(parts) != 1:
            return self._record
        read = self._reader(parts[0])
        return lambda plain: (
            tuple([read(one) if type(one) is list else one for one in plain[1:]]) if plain[0] == _TUPLE else self._record(plain)
        )

    def _held(self, first: int, plain: list[Any]) -> Any:
        """What is no record of a class, or a shared one."""
        if first == _SHARED:
            return self._unpack_shared(plain[1])
        values = [self._record(one) if type(one) is list else one for one in plain[1:]]
        if first == _TUPLE:
            return tuple(values)
        if first == _SET:
            return frozenset(values)
        if first == _LIST:
            return values
        if first == _DICT:
            return dict(zip(values[::2], values[1::2], strict=True))
        if first == _FRACTION:
            return Fraction(*values)
        raise LookupError(first)


def _spelled(kind: type[msgspec.Struct]) -> dict[str, str]:
    """A record's fields in their order, each with its type as it is written: that is the same under every Python."""
    written = {name: str(hint) for base in reversed(kind.__mro__) for name, hint in vars(base).get("__annotations__", {}).items()}
    return {name: written[name] for name in kind.__struct_fields__}


def _places(kind: type[msgspec.Struct]) -> list[tuple[int, Any]]:
    """Where a record's list has what may be more than an atom, and of which type; its number stands at 0."""
    hints = get_type_hints(kind)
    return [(place, hints[name]) for place, name in enumerate(kind.__struct_fields__, 1) if not _is_atom(hints[name])]


def _parts(hint: Any) -> tuple[Any, ...]:
    """The types of the elements of a tuple's type, one for a tuple of any length; none for what need be no tuple."""
    if get_origin(hint) in {Union, UnionType}:
        rest = [one for one in get_args(hint) if one is not type(None)]
        return _parts(rest[0]) if len(rest) == 1 else ()
    parts = get_args(hint) if get_origin(hint) is tuple else ()
    return parts[:1] if parts[1:] == (...,) else parts


def _is_atom(hint: Any) -> bool:
    """Whether every value of this type is packed as it is."""
    if get_origin(hint) is Literal:
        return True
    parts = get_args(hint)
    return all(map(_is_atom, parts)) if parts and get_origin(hint) in {Union, UnionType} else hint in _ATOMS


def _maker(kind: type[msgspec.Struct]) -> Callable[..., msgspec.Struct]:
    """Makes a record of its values in the order of its fields: twice as fast by place as by name, where the class allows it."""
    if any(parameter.kind is parameter.KEYWORD_ONLY for parameter in signature(kind).parameters.values()):
        return lambda *values: kind(**dict(zip(kind.__struct_fields__, values, strict=True)))
    return kind


def _name(kind: type[msgspec.Struct]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _classes(kind: Any, found: set[type[msgspec.Struct]]) -> set[type[msgspec.Struct]]:
    """Every class of records that a value of `kind` may hold, `kind` with it."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if kind not in found:
            found.add(kind)
            for hint in get_type_hints(kind).values():
                _classes(hint, found)
        return found
    for part in get_args(kind):
        _classes(part, found)
    return found
