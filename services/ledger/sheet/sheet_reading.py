"""What a reader of the sheet asks for: which form, by `Accept`, and which language, by `lang` or `Accept-Language`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from shared.rules.score_files.scorer_words import Lang
from shared.web.problems import Problem, malformed

JSON, SVG, HTML = "application/json", "image/svg+xml", "text/html"
FORMS: Final[Mapping[str, str]] = {
    JSON: JSON, "application/*": JSON, "*/*": JSON, SVG: SVG, "image/*": SVG, HTML: HTML, "text/*": HTML, "application/xhtml+xml": HTML,
}  # fmt: skip
LANGUAGES: Final = ("en", "ru")


def form_wanted(accept: str | None) -> str:
    """The media type to answer with: what `Accept` likes best, of equals the first; JSON without it. Raises 406 for none of ours."""
    if not (accept or "").strip():
        return JSON
    for name in _by_liking(accept):
        if name in FORMS:
            return FORMS[name]
    raise Problem(406, "not_acceptable", f"A sheet comes as {JSON}, {SVG} or {HTML}.")


def language_wanted(lang: str | None, accept_language: str | None) -> Lang:
    """The language of words: `lang`, else what `Accept-Language` likes best of ours, else English. Raises 400 for another `lang`."""
    if lang is not None:
        if lang not in LANGUAGES:
            raise malformed("lang", f"must be one of {', '.join(LANGUAGES)}")
        return cast("Lang", lang)
    liked = (name.partition("-")[0] for name in _by_liking(accept_language))
    return cast("Lang", next((name for name in liked if name in LANGUAGES), LANGUAGES[0]))


def _by_liking(header: str | None) -> Iterator[str]:
    """The names of a header with weights (`q`), the best liked first; those with weight 0 are not wanted."""
    weighed = []
    for part in (header or "").lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weighed.append((_weight(parameters), name))
    return (name for weight, name in sorted(weighed, key=lambda one: -one[0]) if weight)


def _weight(parameters: list[str]) -> float:
    """The weight among a name's parameters, 1 where there is none; what is no number from 0 to 1 counts as 0."""
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            digits = value.strip()
            return float(digits) if digits.replace(".", "", 1).isdecimal() and digits.isascii() and float(digits) <= 1 else 0.0
    return 1.0
