"""`pulka conventions`: what a convention agrees on, each line with the rule it turns on, and how two of them differ."""

from __future__ import annotations

from typing import Any, Literal, cast

import click
import msgspec
from rich.console import Console
from rich.table import Column, Table

from shared.rules.convention.customs import CUSTOMS, Elsewhere, Origin, origin
from shared.rules.convention.options import PRESETS, VERSION, Convention, digest, resolve
from shared.rules.convention.presets import merged
from shared.rules.convention.sources import differences, option_lines
from shared.rules.language.documents import require_single
from shared.rules.language.refusal import Malformed
from shared.rules.score_files.convention_words import (
    convention_name,
    convention_named,
    option_name,
    option_value,
    source_cited,
    who_plays,
)
from shared.rules.score_files.scorer_words import Lang


@click.command("conventions")
@click.argument("name", required=False)
@click.option("--diff", "other", metavar="OTHER", help="Only what differs from this one; without a preset it is NAME, changed.")
@click.option("--lang", type=click.Choice(["en", "ru"]), default="en", show_default=True, help="Language of the tables.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def conventions(name: str | None, other: str | None, lang: str, *, as_json: bool) -> None:
    """Print the convention NAME: a preset, or an object such as '{"preset": "sochi", "ten": "checked"}'.

    Each option says where its value comes from and what is played elsewhere. Without NAME: all presets, each with what differs from sochi.
    """
    language = cast("Lang", lang)
    if name is None:
        if other is not None:
            raise click.UsageError("--diff compares with NAME; give one")
        _print_all(language, as_json=as_json)
    elif other is None:
        _print_one(_read(name), language, as_json=as_json)
    else:
        _print_differences((_read(name), _read_other(name, other)), (name, other), language, as_json=as_json)


def _read(text: str) -> Convention:
    """The record that a person named or wrote out."""
    return read_convention(text)[1]


def _read_other(name: str, text: str) -> Convention:
    """The record to compare with: a name, a record, or what is laid over the one that `name` says."""
    try:
        changes = msgspec.json.decode(text) if text.lstrip().startswith("{") else None
    except msgspec.DecodeError:
        changes = None  # `_read` says what is wrong with it
    if not isinstance(changes, dict) or "preset" in changes:
        return _read(text)
    said, _ = read_convention(name)
    whole = merged(said if isinstance(said, dict) else {"preset": said}, changes)
    try:
        require_single(text, "convention")
        return resolve(whole)
    except Malformed as wrong:
        raise click.BadParameter(str(wrong), param_hint=repr(text)) from None


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
    if as_json:
        click.echo(msgspec.json.encode(_head(convention) | {"options": _option_documents(convention)}))
        return
    if lang == "ru":
        table = Table(*_folding("условие", "как играют", "откуда, и как играют ещё"), show_lines=True)
    else:
        table = Table("option", *_folding("value, and what it answers", "where it comes from, and what others play"), show_lines=True)
    for line in option_lines(convention):
        told = origin(convention, line.option)
        sources = "\n".join((_came_from(told, line.source, lang), *(_elsewhere(line.option, one, lang) for one in told.elsewhere)))
        if lang == "ru":
            table.add_row(_with_key(option_name(lang, line.option), line.option), option_value(lang, line.option, line.value), sources)
        else:
            table.add_row(line.option, f"{_shown(line.value)}\n{line.question}", sources)
    Console().print(table)
    if lang == "en":
        click.echo(f"Any of these is said as an option: pulka conventions {convention.preset} --diff '{_shown({'ten': 'checked'})}'")
        click.echo(f"version {convention.version}, digest {digest(convention)}")


def _option_documents(convention: Convention) -> list[dict[str, Any]]:
    """Every option with its value, rule and source, and what is played elsewhere, as JSON has it."""
    return [msgspec.to_builtins(line) | msgspec.to_builtins(origin(convention, line.option)) for line in option_lines(convention)]


def _came_from(told: Origin, rules: str, lang: Lang) -> str:
    """Who plays a value, and the rules that its option turns on."""
    cited = source_cited(lang, rules)
    return who_plays(told.came_from, lang) + (f": {cited}" if cited else "")


def _elsewhere(option: str, other: Elsewhere, lang: Lang) -> str:
    """A value that others play, with the options that go with it, and who they are."""
    value = option_value(lang, option, other.value) if lang == "ru" else _shown(other.value)
    outer = {name: values for name, values in other.say.items() if name != "all_pass"}
    outer |= {f"all_pass.{name}": values for name, values in other.say.get("all_pass", {}).items()}
    needed = [(name, values) for name, values in outer.items() if name != option]
    who = who_plays(other.played_by, lang)
    if lang == "ru":
        more = ", ".join(f"{option_name(lang, name)}: {option_value(lang, name, values)}" for name, values in needed)
        return f"или: {value} ({who})" + (f"; тогда {more}" if more else "")
    more = ", ".join(f"{name} {_shown(values)}" for name, values in needed)
    return f"elsewhere: {value} ({who})" + (f", with {more}" if more else "")


def _print_differences(pair: tuple[Convention, Convention], names: tuple[str, str], lang: Lang, *, as_json: bool) -> None:
    found = differences(*pair)
    if as_json:
        heads = {side: _head(convention) for side, convention in zip(("left", "right"), pair, strict=True)}
        told = [
            {"option": one.option, "left": one.value, "right": two.value, "source": one.source}
            | {f"{side}_from": _who(convention, one.option) for side, convention in zip(("left", "right"), pair, strict=True)}
            for one, two in found
        ]
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
            values = [option_value(lang, one.option, line.value) for line in (one, two)]
        else:
            values = [_shown(one.value), _shown(two.value)]
        sources = (who_plays(_who(convention, one.option), lang) for convention in pair)
        sides = (f"{value}\n({told})" if told else value for value, told in zip(values, sources, strict=True))
        name = _with_key(option_name(lang, one.option), one.option) if lang == "ru" else one.option
        table.add_row(name, *sides, source_cited(lang, one.source))
    Console().print(table)


def _who(convention: Convention, option: str) -> tuple[str, ...]:
    """Who plays the convention's value; nobody for its version, which no table agrees on."""
    return origin(convention, option).came_from if option in CUSTOMS else ()


def _print_all(lang: Lang, *, as_json: bool) -> None:
    presets = list(PRESETS.values())
    if as_json:
        click.echo(
            msgspec.json.encode({"conventions": [_head(convention) | {"options": _option_documents(convention)} for convention in presets]})
        )
        return
    table = Table(*_folding(*{"en": ("convention", "differs from sochi in"), "ru": ("разновидность", "чем отличается от сочинки")}[lang]))
    for convention in presets:
        found = [theirs for _, theirs in differences(PRESETS["sochi"], convention)]
        if lang == "ru":
            told = [f"{option_name(lang, line.option)}: {option_value(lang, line.option, line.value)}" for line in found]
        else:
            told = [f"{line.option} {_shown(line.value)}" for line in found]
        name = convention_name(lang, convention.preset)
        table.add_row(_with_key(name, convention.preset) if lang == "ru" else name, {"en": ", ", "ru": "; "}[lang].join(told) or "-")
    Console().print(table)


def _with_key(name: str, key: str) -> str:
    """A Russian name, and below it the key that commands and documents take."""
    return f"{name}\n[dim]{key}[/dim]"


def _folding(*heads: str) -> tuple[Column, ...]:
    """Columns in which a long text goes on below."""
    return tuple(Column(head, overflow="fold") for head in heads)


def _head(convention: Convention) -> dict[str, Any]:
    return {"preset": convention.preset, "version": convention.version, "digest": digest(convention)}


def _shown(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
