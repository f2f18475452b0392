"""What may never change: the names and fields of all stored events, and commits that must open for ever.

`tests/corpus/README.md` says how it grows.

`python -m tests.events.frozen` adds what is new and touches nothing that is there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec

from shared.eventlog.aggregates.decisions import Codec
from shared.events import address
from shared.events.catalogue import LANGUAGE
from shared.events.commit import SCHEMA, Commit, decode, encode
from shared.events.sealed import Sealed
from shared.events.sealing import LedgerCodec, LobbyCodec
from tests.events import court_story, story
from tests.events.played import play, play_chained

CORPUS = Path(__file__).parent.parent / "corpus"
GOLDEN = CORPUS / "language.json"
KINDS = ("story", "court", "played", "played_dark", "played_version_2", "played_dark_version_2", "drawn", "chained", "samples")
DARK_LOT = 3  # in whose deals somebody takes the talon in the dark, and somebody looks
OUTBID_LOT = 13  # in whose deals a dark pass is outbid five times, by sevens and more
Language = dict[str, dict[str, dict[str, dict[str, Any]]]]
MODULE_PATH = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")


class Broken(Exception):
    """The language lost or changed something that stands in logs."""


def language() -> Language:
    """Every stored struct as it is now: service, name, field, type and whether it must be there."""
    now: Language = {service: {_tag(event): _fields(event) for event in events} for service, events in LANGUAGE.items()}
    now["envelope"] = {"Commit": _fields(Commit), "Sealed": _fields(Sealed)}
    return now


def extended(golden: Language, now: Language) -> Language:
    """`golden` with what is new in `now`. Raises `Broken` for all that is not an addition."""
    for service, events in golden.items():
        for name, fields in events.items():
            if name not in now.get(service, {}):
                raise Broken(f"{service} {name} is gone")
            for field, shape in fields.items():
                if now[service][name].get(field, {}).get("type") != shape["type"]:
                    raise Broken(f"{service} {name}.{field} is gone or has another type")
            for field, shape in now[service][name].items():
                if shape["required"] and not fields.get(field, {"required": False})["required"]:
                    raise Broken(f"{service} {name}.{field} must be there, and is not in old commits")
    return now


def lines(name: str) -> list[dict[str, Any]]:
    """A file of the corpus: `commit` is what was stored, to the byte, `opened` what its events are."""
    path = CORPUS / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def codec_of(commit: Commit) -> Codec[Any]:
    """What opens a commit of the corpus."""
    return {"table": story.CODEC, "lobby": LobbyCodec(), "ledger": LedgerCodec()}[commit.aggregate.partition(".")[0]]


def line(data: bytes) -> str:
    """A commit as a line of the corpus."""
    commit = decode(data)
    codec = codec_of(commit)
    opened = json.loads(msgspec.json.encode(codec.open(commit), order="deterministic"))
    return json.dumps({"commit": data.decode(), "opened": opened}, ensure_ascii=False) + "\n"


def covered(service: str) -> set[str]:
    """The names of a service's events in the corpus of today's schema."""
    kept = [entry for kind in KINDS for entry in lines(f"{service}_{kind}_schema_{SCHEMA}")]
    return {event["type"] for entry in kept for event in entry["opened"]}


def samples(service: str, names: set[str]) -> list[bytes]:
    """One commit for each named event, with a value of the right type in every field."""
    where = address.table(story.TABLE.id) if service == "table" else address.Address(service, "sample", story.TABLE.id)
    commits = []
    for event in (event for event in LANGUAGE[service] if _tag(event) in names):
        value = {"type": _tag(event)} | {field.name: _sample(field.type) for field in msgspec.structs.fields(event)}
        base = decode(story.stored([()])[0])
        raw = msgspec.Raw(msgspec.json.encode(msgspec.convert(value, event), order="deterministic"))
        commits.append(encode(msgspec.structs.replace(base, aggregate=where.subject, events=(raw,))))
    return commits


def grow() -> None:
    """Add what is new to the corpus. Raises `Broken`, before it writes, when something is not new but other."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    GOLDEN.write_text(json.dumps(extended(golden, language()), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    pulkas = (
        ("played", play({"preset": "leningrad", "version": 1}, 4, 11, deals=4)[1]),
        ("played_dark", play({"preset": "classic", "version": 1}, 4, DARK_LOT, deals=6)[1]),
        ("played_version_2", play({"preset": "leningrad", "version": 2}, 4, 11, deals=4)[1]),
        ("played_dark_version_2", play({"preset": "classic", "version": 2}, 4, OUTBID_LOT, deals=6)[1]),
        ("drawn", play({"preset": "sochi", "version": 1}, 3, 11, deals=0, seating="drawn")[1]),
        ("chained", play_chained(3, 11, deals=4)[1]),
    )
    for kind, told in (("story", story.whole()), ("court", court_story.whole()), *pulkas):
        path = CORPUS / f"table_{kind}_schema_{SCHEMA}.jsonl"
        if not path.exists():
            path.write_text("".join(map(line, story.stored(told))), encoding="utf-8")
    for service, events in LANGUAGE.items():
        missing = {_tag(event) for event in events} - covered(service)
        with (CORPUS / f"{service}_samples_schema_{SCHEMA}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(map(line, samples(service, missing)))


def _tag(event: type[msgspec.Struct]) -> str:
    return str(event.__struct_config__.tag)


def _fields(struct: type[msgspec.Struct]) -> dict[str, dict[str, Any]]:
    return {field.name: {"type": _spelled(field.type), "required": field.required} for field in msgspec.structs.fields(struct)}


def _spelled(kind: Any) -> str:
    """A type without the modules that its parts live in: a file that moves does not change what is stored."""
    plain = isinstance(kind, type) and not get_args(kind)
    return str(kind.__name__) if plain else MODULE_PATH.sub("", str(kind))


def _sample(kind: Any) -> Any:
    if get_origin(kind) is tuple:
        return [_sample(get_args(kind)[0])]
    if get_origin(kind) is dict or kind is dict:
        return {"sochi": 1}
    if get_args(kind):  # a union: its first member that is not None
        return _sample(next(member for member in get_args(kind) if member is not type(None)))
    return {int: 1, str: "text", bool: True, Sealed: msgspec.to_builtins(Sealed("corpus", b"nonce", b"box", "digest"))}[kind]


if __name__ == "__main__":
    grow()
