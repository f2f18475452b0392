"""The page to print: well-formed, safe whatever a name holds, with every entry and the tournament's column, in both languages."""

from __future__ import annotations

import base64
import hashlib
import re
from xml.etree import ElementTree as ET

import msgspec
import pytest

from services.ledger.sheet.page import CONTENT_POLICY, contract_told
from services.ledger.sheet.printed_sheet import PrintedTerms, printed_sheet
from shared.rules.convention.options import resolve
from shared.rules.score_files.tournament_column import contract_and_result
from shared.rules.scoring.outcome import DealOutcome, Infraction
from tests.services.ledger.sheet.drawn_pulkas import NAMES, played

XHTML = "{http://www.w3.org/1999/xhtml}"


def page(score, deals, names=None, lang="en", **terms):
    """The page, read as XML."""
    printed = printed_sheet(score, deals, PrintedTerms(resolve("sochi"), **terms), names, lang)
    return ET.fromstring(printed), printed.decode()  # noqa: S314 - our own page


def cells(root, place):
    """The rows of the page's table number `place`, each as the texts of its cells."""
    table = root.findall(f".//{XHTML}table")[place]
    return [["".join(cell.itertext()) for cell in row] for row in table.find(f"{XHTML}tbody")]


def game(contract="6S", declarer=0, calls=(None, "whist", "pass"), tricks=(6, 2, 2), **fields):
    return DealOutcome(dealer=2, contract=contract, declarer=declarer, calls=calls, tricks=tricks, **fields)


@pytest.mark.parametrize(
    ("outcome", "column"),
    [
        (game(), "6S / ="),
        (game("8H", tricks=(7, 2, 1)), "8H / −1"),
        (game(tricks=(8, 1, 1)), "6S / +2"),
        (game("7NT", calls=(None, "pass", "pass"), tricks=()), "7NT / ="),
        (game("8C", tricks=(8, 1, 1), infractions=(Infraction("3.4.9", 0),)), "8C / −1"),
        (game("6C", tricks=(8, 1, 1), infractions=(Infraction("3.4.9", 0),)), "6C / +1"),
        (game("6D", calls=(), tricks=(), conceded=True), "6D / −6"),
        (game("9H", calls=(), tricks=(), without_three=True), "9H / −3"),
        (game("misere", calls=(), tricks=(0, 4, 6)), "misere / ="),
        (game("misere", calls=(), tricks=(2, 4, 4)), "misere / −2"),
        (DealOutcome(dealer=2, contract="all_pass", tricks=(2, 5, 3)), "all_pass / 2-5-3"),
        (DealOutcome(dealer=2, contract=None, infractions=(Infraction("3.2.17", 2),)), "-"),
    ],
)
def test_4_2_11_contract_and_result(outcome, column):
    """The tournament's column shows what was ordered and by how much it was made or failed (4.2.11)."""
    assert contract_and_result(outcome) == column


def test_4_2_11_the_column_in_words():
    """On the page suits are signs, misere and all-pass words of the language, and what was special about the deal stands beside."""
    assert contract_told("en", game(dark=True)) == "6♠ / = (dark)"
    assert contract_told("ru", game("misere", calls=(), tricks=(1, 4, 5), shared=True)) == "мизер / −1 (пополам со сдающим)"
    assert contract_told("ru", DealOutcome(dealer=2, contract="all_pass", tricks=(2, 5, 3))) == "распасовка / 2-5-3"


def test_every_deal_and_every_entry_stands_on_the_page():
    """A row a deal, with the tournament's column, and in it each entry with amount and rule; the settlement below the drawing."""
    score, deals = played("sochi", 4, 50, 5, 10)
    root, _ = page(score, deals, NAMES["en"][:4], target=50)
    settled, rows = cells(root, 0), cells(root, 1)
    assert [row[-1] for row in settled] == [f"{whists:+d}".replace("-", "−") for whists in score["settlement"]["rounded"]]
    assert len(rows) == len(deals) == 10
    for row, deal, wrote in zip(rows, deals, score["deals"], strict=True):
        assert row[0] == str(deal.number)
        assert row[1] == contract_told("en", deal.outcome)
        for entry in wrote["entries"]:
            assert f"({entry['rule']})" in row[-1]
            assert f"{NAMES['en'][entry['seat']]}, " in row[-1]
    assert root.find(".//{http://www.w3.org/2000/svg}desc") is not None


@pytest.mark.parametrize(
    ("lang", "words"),
    [("en", ["Settlement", "Deals", "all pass", "forgiven to all"]), ("ru", ["Расчёт", "Сдачи", "распасовка", "амнистия"])],
)
def test_the_page_speaks_its_language(lang, words):
    """Headings, columns and reasons are in the language asked for, and the page says which that is."""
    score, deals = played("sochi", 3, 50, 7, 10)
    root, printed = page(score, deals, NAMES[lang][:3], lang, target=50)
    assert root.get("lang") == lang
    assert all(word in printed for word in words)
    if lang == "ru":
        body = "".join(root.find(f"{XHTML}body").itertext())
        assert not re.search("[A-Za-z]", body)
        assert "Сочинка втроём, до 50" in printed


def test_a_name_is_text_whatever_it_holds():
    """Names, reasons of rulings and the like cannot become part of the page."""
    bad = '<script>alert("1")</script>'
    score, deals = played("sochi", 3, 50, 7, 3)
    ruling = Infraction("3.9.16.2", 1, ruled=True, mountain=((1, 2),), reason=f"{bad}\x00&</td>")
    told = deals[0]._replace(outcome=game(infractions=(ruling,)))
    score["deals"][0]["entries"] = [{"seat": 1, "column": "mountain", "amount": 2, "rule": bad, "why": bad}]
    root, printed = page(score, [told, *deals[1:]], [bad, "b'", "&amp;"])
    assert "<script" not in printed
    assert not list(root.iter(f"{XHTML}script"))
    assert cells(root, 0)[0][0] == bad
    assert cells(root, 2)[0][1] == "3.9.16.2, b'"
    assert cells(root, 2)[0][2] == f"{bad}\ufffd&</td>"


def test_the_page_loads_nothing_and_allows_nothing():
    """No script, link or address stands on it, and its policy lets in only the style sheet that it has itself."""
    score, deals = played("sochi", 4, 50, 5, 10)
    root, printed = page(score, deals)
    assert set(re.findall(r"https?://[^\"']+", printed)) == {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"}
    assert not re.search(r"href|src=|url\(|@import|\sstyle=|\son[a-z]+=", printed)
    style = root.find(f".//{XHTML}style").text
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}';" in CONTENT_POLICY
    assert CONTENT_POLICY.startswith("default-src 'none';")
    assert "unsafe" not in CONTENT_POLICY
    assert "@page { size: A4" in style


def test_what_the_players_wrote_themselves_stands_there_too():
    """Where the players keep the sheet, the page lists their entries beside what was due (4.2.4, 4.2.9)."""
    score, deals = played("sochi", 3, 50, 7, 2)
    root, printed = page(score | {"kept": [{"deal": 2, "seat": 0, "column": "whists", "on": 1, "amount": "-1/2"}]}, deals, NAMES["en"][:3])
    assert cells(root, 2) == [["2", "Anna", "on Boris", "−1/2"]]
    assert "4.2.4" in printed


def test_terms_that_differ_from_the_preset_are_named():
    """What a table agreed on besides a preset, its stake, and the time of the answer stand under the heading."""
    score, deals = played("sochi", 3, 50, 7, 0)
    rules = resolve({"preset": "sochi", "ten": "checked"})
    printed = printed_sheet(score, deals, PrintedTerms(rules, 50, 2, 1_700_000_000_000), None, "en").decode()
    assert "differs from sochi in: ten: checked" in printed
    assert "a whist at 2" in printed
    assert "as of 2023-11-14 22:13 UTC" in printed
    assert "No deal has been played yet." in printed


def test_4_2_16_what_came_after_the_settlement_stands_on_the_page():
    """Corrections with author, reason and amounts, an annulment, and what stands after all of them (4.2.16)."""
    score, deals = played("sochi", 3, 50, 7, 3)
    score["settlement"] |= {"net": ["10", "-7/2", "-13/2"]}
    correction = {"revision": 8, "at": 1_700_000_000_000, "author": "operator:desk", "reason": "<twice>", "amounts": ["-1/2", "1/2", "0"]}
    root, _ = page(score | {"closed": True, "corrections": [correction]}, deals, NAMES["en"][:3])
    assert cells(root, 1) == [
        ["2023-11-14 22:13", "operator:desk", "<twice>", "−1/2", "+1/2", "0"],
        ["", "", "result now", "+19/2", "−3", "−13/2"],
        ["", "", "whole whists now", "+10", "−3", "−7"],
    ]
    annulment = {"revision": 9, "at": 1_700_000_060_000, "author": "operator:desk", "reason": "marked deck"}
    root, _ = page(score | {"closed": True, "corrections": [correction], "annulled": annulment}, deals, NAMES["en"][:3])
    assert cells(root, 1)[1:] == [
        ["2023-11-14 22:14", "operator:desk", "annulled: marked deck", "", "", ""],
        ["", "", "result now", "0", "0", "0"],
    ]


def test_whists_are_told_in_russian():
    """A seat goes with the preposition as it is, a name behind "игрока", not declined; there is one colon, the amount's."""
    score, deals = played("sochi", 3, 50, 3, 10)
    _, seats = page(score, deals, lang="ru")
    _, named = page(score, deals, NAMES["ru"][:3], "ru")
    assert re.search(r"<li>место \d, висты на место \d: <b>\+", seats)
    assert re.search(r"<text[^>]*>на место \d<", seats)
    assert re.search(rf"<li>\w+, висты на игрока ({'|'.join(NAMES['ru'][:3])}): <b>\+", named)


CORRECTED = {
    "closed": True,
    "corrections": [
        {"revision": 8, "at": 1_700_000_000_000, "author": "operator:desk", "reason": "one trick", "amounts": ["5", "-5", "0"]},
        {"revision": 9, "at": 1_700_000_060_000, "author": "operator:desk", "reason": "a seventh", "amounts": ["1/7", "-1/7", "0"]},
    ],
}
STAKED = {"net": ["160", "120", "-280"], "rounded": [160, 120, -280], "stake": "7/100", "payments": ["56/5", "42/5", "-98/5"]}


@pytest.mark.parametrize(("lang", "owed"), [("en", "to be paid now, a whist at 7/100"), ("ru", "к уплате теперь, вист по 7/100")])
def test_4_2_13_what_is_owed_stands_after_the_corrections(lang, owed):
    """F33: a settled pulka of stake 7/100, corrected twice: the page tells what is owed by the whole whists of now."""
    score, deals = played("sochi", 3, 50, 7, 3)
    score["settlement"] |= STAKED
    before, _ = page(score | {"closed": True}, deals, NAMES[lang][:3], lang)
    root, printed = page(score | CORRECTED, deals, NAMES[lang][:3], lang)
    assert [row[-1] for row in cells(before, 0)] == ["56/5", "42/5", "−98/5"]
    assert [row[-1] for row in cells(root, 0)] == ["+160", "+120", "−280"]
    assert [row[3:] for row in cells(root, 1)] == [
        ["+5", "−5", "0"],
        ["+1/7", "−1/7", "0"],
        ["+1156/7", "+804/7", "−280"],
        ["+165", "+115", "−280"],
        ["+231/20", "+161/20", "−98/5"],
    ]
    assert cells(root, 1)[-1][2] == owed
    assert "56/5" not in printed


@pytest.mark.parametrize(("dealer", "whole"), [(2, ["+161", "+120", "−281"]), (0, ["+160", "+121", "−281"]), (1, ["+160", "+120", "−280"])])
def test_f10_of_equals_a_corrected_result_is_rounded_as_the_statement_rounds_it(dealer, whole):
    """F10, Decision 16: three that are rounded as far: whoever sits left of the last deal's dealer has what is missing from zero."""
    score, deals = played("sochi", 3, 50, 7, 3)
    score["settlement"] |= STAKED
    last = deals[-1]._replace(outcome=msgspec.structs.replace(deals[-1].outcome, dealer=dealer))
    thirds = {"closed": True, "corrections": [CORRECTED["corrections"][0] | {"amounts": ["1/3", "1/3", "-2/3"]}]}
    root, _ = page(score | thirds, [*deals[:-1], last], NAMES["en"][:3])
    assert [row[3:] for row in cells(root, 1)][2] == whole


def rules_for_narrow_screens(style):
    """The style rules that hold on a screen of at most 40rem."""
    return re.search(r"@media screen and \(max-width: 40rem\) \{(.*?) \}\n@media print", style, re.DOTALL)[1]


def test_on_a_narrow_screen_a_deal_is_a_short_paragraph():
    """F31: each deal, correction and irregularity is a row of blocks that wrap, its cells named by their columns, its entries below it."""
    score, deals = played("sochi", 3, 50, 7, 3)
    told = deals[0]._replace(outcome=game(infractions=(Infraction("3.9.16.2", 1),)))
    root, _ = page(score | CORRECTED, [told, *deals[1:]], NAMES["en"][:3])
    style = root.find(f".//{XHTML}style").text
    narrow = rules_for_narrow_screens(style)
    for rule in (
        ".rows tr { display: flex; flex-wrap: wrap;",
        ".rows td { display: block;",
        "content: attr(data-label)",
        ".rows td:empty { display: none }",
    ):
        assert rule in narrow
    settlement, *others = root.findall(f".//{XHTML}table")
    assert [table.get("class") for table in (settlement, *others)] == [None, "rows", "rows", "rows"]
    deal = others[1].find(f"{XHTML}tbody")[0]
    assert [cell.get("data-label") for cell in deal] == ["deal", None, "dealer", "declarer", "calls", "tricks", None]
    assert deal[-1].get("class") == "entries"
    assert [cell.get("data-label") for cell in others[0].find(f"{XHTML}tbody")[0]][3:] == [*NAMES["en"][:3]]


def test_on_a_narrow_screen_the_settlement_has_room():
    """F31: seven columns stand side by side at 390 pixels: headings wrap, names break, and only the name keeps a width."""
    score, deals = played("sochi", 3, 50, 7, 3)
    score["settlement"] |= STAKED
    root, printed = page(score, deals, NAMES["en"][:3])
    narrow = rules_for_narrow_screens(root.find(f".//{XHTML}style").text)
    assert 'name="viewport" content="width=device-width, initial-scale=1"' in printed
    for rule in (
        "th.number { white-space: normal }",
        "td { overflow-wrap: anywhere }",
        "td.name { min-width: 5em }",
        "table { font-size: .78rem }",
    ):
        assert rule in narrow
    assert len(cells(root, 0)[0]) == 7
