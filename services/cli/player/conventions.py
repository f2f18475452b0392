"""`pulka conventions`: what a convention agrees on, each line with the rule it turns on, and how two of them differ."""

from __future__ import annotations

from typing import Any, Literal, cast

import click
import msgspec
from rich.console import Console
from rich.table import Column, Table

from shared.rules.convention.options import PRESETS, VERSION, Convention, digest, resolve
from shared.rules.convention.sources import differences, option_lines
from shared.rules.language.documents import require_single
from shared.rules.language.refusal import Malformed
from shared.rules.score_files.convention_words import convention_name, convention_named, option_name, option_value, source_cited
from shared.rules.score_files.scorer_words import Lang


@click.command("conventions")
@click.argument("name", required=False)
@click.option("--diff", "other", metavar="OTHER", help="Only what differs from this one.")
@click.option("--lang", type=click.Choice(["en", "ru"]), default="en", show_default=True, help="Language of the tables.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def conventions(name: str | None, other: str | None, lang: str, *, as_json: bool) -> None:
    """Print the convention NAME: a preset, or an object such as '{"preset": "sochi", "ten": "checked"}'.

    Without NAME: all presets, each with what differs from sochi.
    """
    language = cast("Lang", lang)
    if name is None:
        if other is not None:
            raise click.UsageError("--diff compares with NAME; give one")
        _print_all(language, as_json=as_json)
    elif other is None:
        _print_one(_read(name), language, as_json=as_json)
    else:
        _print_differences((_read(name), _read(other)), (name, other), language, as_json=as_json)


def _read(text: str) -> Convention:
    """The record that a person named or wrote out."""
    return read_convention(text)[1]


def read_convention(text: str, target: int | None = None, version: Literal[1, 2] = VERSION) -> tuple[object, Convention]:
    """What a person named or wrote out, and the record that it means for a pulka to `target`; of `version` where no version is named."""
    try:
        said: object = msgspec.json.decode(text) if text.lstrip().startswith("{") else text
        if said is not text:
            require_single(text, "convention")
        return said, resolve(said, target, version=version)
    except Malformed as wrong:
        raise click.BadParameter(str(wrong), param_hint=repr(text)) from None
    except msgspec.DecodeError as wrong:
        raise click.BadParameter(f"convention: not JSON: {wrong}", param_hint=repr(text)) from None


def _print_one(convention: Convention, lang: Lang, *, as_json: bool) -> None:
    lines = option_lines(convention)
    if as_json:
        click.echo(msgspec.json.encode(_head(convention) | {"options": lines}))
        return
    if lang == "ru":
        table = Table(*_folding("условие", "как играют"), "пункт Кодекса")
        for line in lines:
            table.add_row(option_name(lang, line.option), option_value(lang, line.option, line.value), source_cited(lang, line.source))
        Console().print(table)
        return
    table = Table("option", *_folding("value", "question"), "source")
    for line in lines:
        table.add_row(line.option, _shown(line.value), line.question, line.source)
    Console().print(table)
    click.echo(f"version {convention.version}, digest {digest(convention)}")


def _print_differences(pair: tuple[Convention, Convention], names: tuple[str, str], lang: Lang, *, as_json: bool) -> None:
    found = differences(*pair)
    if as_json:
        heads = {side: _head(convention) for side, convention in zip(("left", "right"), pair, strict=True)}
        told = [{"option": one.option, "left": one.value, "right": two.value, "source": one.source} for one, two in found]
        click.echo(msgspec.json.encode(heads | {"differences": told}))
        return
    if not found:
        click.echo("no difference" if lang == "en" else "Условия те же самые.")
        return
    if lang == "ru":
        table = Table(*_folding("условие", *(convention_named(lang, convention) for convention in pair)), "пункт Кодекса")
    else:
        table = Table("option", *_folding(*names), "source")
    for one, two in found:
        if lang == "ru":
            values = (option_value(lang, one.option, line.value) for line in (one, two))
            table.add_row(option_name(lang, one.option), *values, source_cited(lang, one.source))
        else:
            table.add_row(one.option, _shown(one.value), _shown(two.value), one.source)
    Console().print(table)


def _print_all(lang: Lang, *, as_json: bool) -> None:
    presets = list(PRESETS.values())
    if as_json:
        click.echo(
            msgspec.json.encode({"conventions": [_head(convention) | {"options": option_lines(convention)} for convention in presets]})
        )
        return
    table = Table(*_folding(*{"en": ("convention", "differs from sochi in"), "ru": ("разновидность", "чем отличается от сочинки")}[lang]))
    for convention in presets:
        found = [theirs for _, theirs in differences(PRESETS["sochi"], convention)]
        if lang == "ru":
            told = [f"{option_name(lang, line.option)}: {option_value(lang, line.option, line.value)}" for line in found]
        else:
            told = [f"{line.option} {_shown(line.value)}" for line in found]
        table.add_row(convention_name(lang, convention.preset), {"en": ", ", "ru": "; "}[lang].join(told) or "-")
    Console().print(table)


def _folding(*heads: str) -> tuple[Column, ...]:
    """Columns in which a long text goes on below."""
    return tuple(Column(head, overflow="fold") for head in heads)


def _head(convention: Convention) -> dict[str, Any]:
    return {"preset": convention.preset, "version": convention.version, "digest": digest(convention)}


def _shown(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
