"""What the drawn and the printed sheet say, in English and in Russian; sentences about entries are the scorer's (`scorer_words`)."""

from __future__ import annotations

from typing import Final

from shared.rules.score_files.scorer_words import Lang, counted_noun

WORDS: Final[dict[Lang, dict[str, str]]] = {
    "en": {
        "seat": "seat {seat}",
        "pool": "pool",
        "mountain": "mountain",
        "whists": "on {name}",
        "closed": "over",
        "open": "goes on",
        "recorded": "played elsewhere",
        "annulled": "annulled",
        "title": "Score sheet of {players} players after {deals}, {state}",
        "to": ", to {target}",
        "described": "{name}: pool {pool}, mountain {mountain}, whists on {whists}, result {result}.",
        "whists_on": "{name} {amount}",
        "none": "none",
        "result": "result",
        "heading": "Pulka of {players}, {convention}",
        "stake": "a whist at {stake}",
        "differs": "differs from {preset} in: {options}",
        "as_of": "as of {at} UTC",
        "section": "section {number} of {count}, deals from {first}",
        "deals": "Deals",
        "deal": "deal",
        "dealer": "dealer",
        "declarer": "declarer",
        "contract": "contract / result",
        "calls": "calls",
        "tricks": "tricks",
        "entries": "entries",
        "misere": "misere",
        "all_pass": "all pass",
        "no_contract": "no contract",
        "dark": "dark",
        "shared": "halved with the dealer",
        "conceded": "without all",
        "without_three": "without three",
        "whist": "whist",
        "pass": "pass",
        "half": "half",
        "nothing": "nothing is written",
        "no_deals": "No deal has been played yet.",
        "settlement": "Settlement",
        "if_now": "as if the pulka were settled now",
        "player": "player",
        "settled": "mountain, settled",
        "net": "whists, exact",
        "rounded": "whists",
        "payments": "paid",
        "infractions": "Irregularities",
        "of": "{rule}, {name}",
        "kept": "As the players wrote it",
        "kept_why": "The players keep this sheet themselves (4.2.4): the drawing shows what they wrote, the deals what was due.",
        "as": "{heading}: the same deals",
        "comparison": "As it is, and there",
        "was": "as it is",
        "would": "there",
        "difference": "difference",
        "corrections": "After the settlement",
        "author": "author",
        "reason": "reason",
        "stands": "result now",
        "stands_whole": "whole whists now",
        "owed": "to be paid now, a whist at {stake}",
        "corrected": "corrected",
        "as_played": "Above is what was played; since then the result was changed.",
        "printed": "Amounts are exact. Numbers in brackets are rules of the Code of Preferans.",
    },
    "ru": {
        "seat": "место {seat}",
        "pool": "пуля",
        "mountain": "гора",
        "whists": "на: {name}",
        "closed": "окончена",
        "open": "не окончена",
        "recorded": "сыграна не здесь",
        "annulled": "аннулирована",
        "title": "Пулька на {players}, {deals}, {state}",
        "to": ", до {target}",
        "described": "{name}: пуля {pool}, гора {mountain}, висты на: {whists}, итог {result}.",
        "whists_on": "{name} {amount}",
        "none": "нет",
        "result": "итог",
        "heading": "Пулька на {players}, {convention}",
        "stake": "вист по {stake}",
        "differs": "отличия от {preset}: {options}",
        "as_of": "на {at} UTC",
        "section": "часть {number} из {count}, сдачи с {first}-й",
        "deals": "Сдачи",
        "deal": "сдача",
        "dealer": "сдаёт",
        "declarer": "играет",
        "contract": "контракт / результат",
        "calls": "слова",
        "tricks": "взятки",
        "entries": "записи",
        "misere": "мизер",
        "all_pass": "распасовка",
        "no_contract": "без контракта",
        "dark": "втёмную",
        "shared": "пополам со сдающим",
        "conceded": "без всех",
        "without_three": "без трёх",
        "whist": "вист",
        "pass": "пас",
        "half": "полвиста",
        "nothing": "ничего не пишется",
        "no_deals": "Ещё ничего не сыграно.",
        "settlement": "Расчёт",
        "if_now": "как если бы пульку прекратили сейчас",
        "player": "игрок",
        "settled": "гора к расчёту",
        "net": "висты, точно",
        "rounded": "висты",
        "payments": "к уплате",
        "infractions": "Нарушения",
        "of": "{rule}, {name}",
        "kept": "Как записали игроки",
        "kept_why": "Игроки ведут эту запись сами (4.2.4): на рисунке то, что они записали, в сдачах то, что причиталось.",
        "as": "{heading}: те же сдачи",
        "comparison": "Как есть и как там",
        "was": "как есть",
        "would": "там",
        "difference": "разница",
        "corrections": "После расчёта",
        "author": "кто",
        "reason": "почему",
        "stands": "итог теперь",
        "stands_whole": "теперь целыми вистами",
        "owed": "к уплате теперь, вист по {stake}",
        "corrected": "исправлена",
        "as_played": "Выше то, что сыграно; с тех пор итог изменён.",
        "printed": "Числа точные. В скобках пункты Кодекса преферанса.",
    },
}


SEATS: Final = 5  # at the largest table

#: Conventions that have a name of their own in a language; others are called as in documents.
CONVENTIONS: Final[dict[Lang, dict[str, str]]] = {
    "en": {},
    "ru": {
        "sochi": "сочинка",
        "leningrad": "ленинградка",
        "rostov": "ростов",
        "classic": "классика",
        "code": "по Кодексу",
        "federation": "федерация",
    },
}


def convention_name(lang: Lang, preset: str) -> str:
    """What players call a convention."""
    return CONVENTIONS[lang].get(preset, preset)


def whists_on(lang: Lang, name: str) -> str:
    """Whose whists an entry is: "on Vera"; in Russian "висты на игрока Вера", a name not being declined, or "висты на место 2"."""
    if lang == "en":
        return word(lang, "whists", name=name)
    return f"висты на {name if _is_seat(lang, name) else f'игрока {name}'}"


def whists_field(lang: Lang, name: str) -> str:
    """What stands on a field of whists, as short as can be: "on Vera"; "на: Вера", "на место 2"."""
    told = word(lang, "whists", name=name)
    return told.replace(":", "", 1) if _is_seat(lang, name) else told


def _is_seat(lang: Lang, name: str) -> bool:
    return any(name == word(lang, "seat", seat=seat) for seat in range(SEATS))


def word(lang: Lang, key: str, **parts: object) -> str:
    """The word or phrase `key` with its parts."""
    return WORDS[lang][key].format_map(parts)


def deals_counted(lang: Lang, count: int) -> str:
    """How many deals: "1 deal", "5 deals"; "1 сдача", "2 сдачи", "5 сдач"."""
    return f"{count} deal{'' if count == 1 else 's'}" if lang == "en" else counted_noun(count, "сдача", "сдачи", "сдач")
