"""`pulka conventions`: what a convention agrees on, each line with the rule it turns on, and how two of them differ."""

from __future__ import annotations

from typing import Any, Literal

import click
import msgspec
from rich.console import Console
from rich.table import Column, Table

from shared.rules.convention.options import PRESETS, VERSION, Convention, digest, resolve
from shared.rules.convention.sources import differences, option_lines
from shared.rules.language.refusal import Malformed


@click.command("conventions")
@click.argument("name", required=False)
@click.option("--diff", "other", metavar="OTHER", help="Only what differs from this one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def conventions(name: str | None, other: str | None, *, as_json: bool) -> None:
    """Print the convention NAME: a preset, or an object such as '{"preset": "sochi", "ten": "checked"}'.

    Without NAME: all presets, each with what differs from sochi.
    """
    if name is None:
        if other is not None:
            raise click.UsageError("--diff compares with NAME; give one")
        _print_all(as_json=as_json)
    elif other is None:
        _print_one(_read(name), as_json=as_json)
    else:
        _print_differences({"left": _read(name), "right": _read(other)}, (name, other), as_json=as_json)


def _read(text: str) -> Convention:
    """The record that a person named or wrote out."""
    return read_convention(text)[1]


def read_convention(text: str, target: int | None = None, version: Literal[1, 2] = VERSION) -> tuple[object, Convention]:
    """What a person named or wrote out, and the record that it means for a pulka to `target`; of `version` where no version is named."""
    try:
        said: object = msgspec.json.decode(text) if text.lstrip().startswith("{") else text
        return said, resolve(said, target, version=version)
    except Malformed as wrong:
        raise click.BadParameter(str(wrong), param_hint=repr(text)) from None
    except msgspec.DecodeError as wrong:
        raise click.BadParameter(f"convention: not JSON: {wrong}", param_hint=repr(text)) from None


def _print_one(convention: Convention, *, as_json: bool) -> None:
    lines = option_lines(convention)
    if as_json:
        click.echo(msgspec.json.encode(_head(convention) | {"options": lines}))
        return
    table = Table("option", Column("value", overflow="fold"), Column("question", overflow="fold"), "source")
    for line in lines:
        table.add_row(line.option, _shown(line.value), line.question, line.source)
    Console().print(table)
    click.echo(f"version {convention.version}, digest {digest(convention)}")


def _print_differences(pair: dict[str, Convention], names: tuple[str, str], *, as_json: bool) -> None:
    found = differences(*pair.values())
    if as_json:
        heads = {side: _head(convention) for side, convention in pair.items()}
        told = [{"option": one.option, "left": one.value, "right": two.value, "source": one.source} for one, two in found]
        click.echo(msgspec.json.encode(heads | {"differences": told}))
        return
    if not found:
        click.echo("no difference")
        return
    table = Table("option", *(Column(name, overflow="fold") for name in names), "source")
    for one, two in found:
        table.add_row(one.option, _shown(one.value), _shown(two.value), one.source)
    Console().print(table)


def _print_all(*, as_json: bool) -> None:
    presets = list(PRESETS.values())
    if as_json:
        click.echo(
            msgspec.json.encode({"conventions": [_head(convention) | {"options": option_lines(convention)} for convention in presets]})
        )
        return
    table = Table("convention", Column("differs from sochi in", overflow="fold"))
    for convention in presets:
        found = differences(PRESETS["sochi"], convention)
        table.add_row(convention.preset, ", ".join(f"{line.option} {_shown(line.value)}" for _, line in found) or "-")
    Console().print(table)


def _head(convention: Convention) -> dict[str, Any]:
    return {"preset": convention.preset, "version": convention.version, "digest": digest(convention)}


def _shown(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
