"""The sheet over HTTP: which form and which language a reader gets, and what a browser may do with it."""

from __future__ import annotations

import json
from fractions import Fraction
from xml.etree import ElementTree as ET

import pytest

from services.ledger.sheet.drawn_sheet import drawn_sheet
from services.ledger.sheet.page import CONTENT_POLICY
from services.ledger.sheet.running_totals import running_totals
from services.ledger.sheet.sheet_reading import HTML, JSON, SVG, form_wanted, language_wanted
from shared.rules.score_files.score_file import score_document
from shared.rules.score_files.scorer_words import signed
from shared.rules.scoring.sheet import empty_sheet, write
from shared.web.problems import Problem
from tests.services.ledger.played import PlayedTable
from tests.services.ledger.views.test_adjudicated import TERMS, Misplayed
from tests.services.ledger.views.test_members import with_newcomer

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, JSON), ("", JSON), ("*/*", JSON), ("application/json", JSON), ("text/plain, */*;q=0.1", JSON),
        (SVG, SVG), ("image/*", SVG), ("application/json, image/svg+xml", JSON), ("image/svg+xml, application/json", SVG),
        ("application/json;q=0.5, image/svg+xml", SVG), ("image/svg+xml;q=0, text/html;q=0.1", HTML),
        (BROWSER, HTML), ("TEXT/HTML", HTML), ("image/svg+xml;q=2, text/html", HTML),
    ],
)  # fmt: skip
def test_the_form_that_accept_likes_best(accept, form):
    """JSON unless a picture or a page is liked better; a browser gets the page."""
    assert form_wanted(accept) == form


@pytest.mark.parametrize("accept", ["text/plain", "text/csv", "nonsense;;;", "image/svg+xml;q=0", "image/svg+xml;q=x"])
def test_a_form_that_there_is_not(accept):
    """406 with the forms that there are."""
    with pytest.raises(Problem, match=HTML) as refused:
        form_wanted(accept)
    assert (refused.value.status_code, refused.value.code) == (406, "not_acceptable")


@pytest.mark.parametrize(
    ("lang", "header", "language"),
    [
        (None, None, "en"), (None, "ru-RU,ru;q=0.9,en;q=0.8", "ru"), (None, "de, en;q=0.5, ru;q=0.4", "en"), (None, "fr", "en"),
        ("ru", "en", "ru"), ("en", "ru", "en"), (None, "ru;q=0", "en"),
    ],
)  # fmt: skip
def test_the_language_asked_for(lang, header, language):
    """`lang` decides, else what the browser likes best of ours, else English."""
    assert language_wanted(lang, header) == language


def test_a_language_that_there_is_not():
    """Another `lang` is bad input, with what there is."""
    with pytest.raises(Problem, match="en, ru"):
        language_wanted("de", None)


@pytest.mark.servers
async def test_the_sheet_in_three_forms(site, log):
    """JSON, picture and page show the same sheet; the last two are locked up, and caches know what they depend on."""
    played = await PlayedTable(log, 2, players=4, target=20).play(deals=5)
    shown = await site.read(played, "/sheet")
    path = f"/tables/{played.id}/sheet"
    picture = await site.get(path, headers={"Accept": SVG})
    assert picture.headers["content-type"] == SVG
    assert picture.content == drawn_sheet(shown, 20)
    assert picture.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    page = await site.get(path, headers={"Accept": BROWSER, "Accept-Language": "ru"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == CONTENT_POLICY
    assert ET.fromstring(page.content).get("lang") == "ru"  # noqa: S314 - our own page
    assert picture.content != (await site.get(path, headers={"Accept": SVG}, lang="ru")).content
    for answer in (picture, page):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert {"Accept", "Accept-Language", "Authorization"} <= {name.strip() for name in answer.headers["vary"].split(",")}
        assert answer.headers["pulka-position"] == shown["position"]


@pytest.mark.servers
async def test_a_bad_language_is_refused_in_every_form(site, log):
    """400 with the path `lang`, and nothing else, whatever form was asked for."""
    played = await PlayedTable(log, 2).play(commits=2)
    await site.read(played, "/sheet")
    for accept in (JSON, SVG, HTML):
        answer = await site.get(f"/tables/{played.id}/sheet", headers={"Accept": accept}, lang="xx")
        assert (answer.status_code, answer.json()["code"], answer.json()["path"]) == (400, "malformed", "lang")


@pytest.mark.servers
async def test_5_5_a_late_spectator_is_shown_nothing_early_in_any_form(site, log):
    """Picture and page of a table that is looked at a deal late show no more than its JSON does."""
    played = await PlayedTable(log, 9, target=40, terms={"spectators": {"allowed": True, "delay_deals": 1}}).play(deals=3)
    await played.play(deals=4)
    late, own = await site.read(played, "/sheet"), await site.read(played, "/sheet", played.seats[0])
    assert len(late["deals"]) < len(own["deals"])
    path = f"/tables/{played.id}/sheet"
    assert (await site.get(path, headers={"Accept": SVG})).content == drawn_sheet(late, 40)
    assert (await site.get(path, played.seats[0], headers={"Accept": SVG})).content == drawn_sheet(own, 40)
    page = ET.fromstring((await site.get(path, headers={"Accept": HTML})).content)  # noqa: S314 - our own page
    rows = page.findall(".//{http://www.w3.org/1999/xhtml}table")[1].find("{http://www.w3.org/1999/xhtml}tbody")
    assert len(rows) == len(late["deals"])


# ---- Under another convention ------------------------------------------------------------------------------------------


@pytest.mark.servers
async def test_the_same_deals_under_another_convention(site, log):
    """`?as=` is what `pulka score` makes of the score file under that convention, with `as` and the differences, entry by entry."""
    played = await PlayedTable(log, 2, players=4, target=40).play(deals=12)
    shown, file = await site.read(played, "/sheet"), await site.read(played, "/score-file")
    answer = await site.read(played, "/sheet", **{"as": "leningrad"})
    there = score_document(file | {"convention": "leningrad"})
    assert {name: answer[name] for name in there} == there
    assert answer.keys() == {*there, "as", "differences", "as_of", "position"}
    assert (answer["as"], answer["position"]) == ("leningrad", shown["position"])
    assert [deal["deal"] for deal in answer["differences"]["deals"]] == list(range(1, 13))
    written = [[pair["written"] for pair in deal["entries"] if pair["written"]] for deal in answer["differences"]["deals"]]
    assert written == [[{name: entry[name] for name in ("amount", "rule", "why")} for entry in deal["entries"]] for deal in shown["deals"]]
    same = await site.read(played, "/sheet", **{"as": "sochi"})
    assert {name: same[name] for name in shown} == shown


@pytest.mark.servers
async def test_a_convention_written_out(site, log):
    """An object as JSON is taken too, and stands in `as` as it was given."""
    played = await PlayedTable(log, 2, target=40).play(deals=5)
    written_out = {"preset": "leningrad", "pair_8_9": "both"}
    answer = await site.read(played, "/sheet", **{"as": json.dumps(written_out)})
    assert answer["as"] == written_out
    there = score_document(await site.read(played, "/score-file") | {"convention": written_out})
    assert answer["settlement"] == there["settlement"]
    twice = await site.get(f"/tables/{played.id}/sheet", **{"as": '{"preset": "sochi", "preset": "leningrad"}'})
    assert (twice.status_code, twice.json()["path"]) == (400, "as.preset")  # F11


@pytest.mark.servers
async def test_picture_and_page_under_another_convention(site, log):
    """The picture is that of the sheet there; the page tells each entry here and there, in the language asked for."""
    played = await PlayedTable(log, 2, target=40).play(deals=8)
    answer = await site.read(played, "/sheet", **{"as": "rostov"})
    path = f"/tables/{played.id}/sheet"
    picture = await site.get(path, headers={"Accept": SVG}, **{"as": "rostov"})
    assert picture.content == drawn_sheet(answer, 40)
    page = await site.get(path, headers={"Accept": HTML}, lang="ru", **{"as": "rostov"})
    root = ET.fromstring(page.content)  # noqa: S314 - our own page
    told = "".join(root.itertext())
    assert "те же сдачи" in told
    tables = root.findall(".//{http://www.w3.org/1999/xhtml}table")
    rows = tables[-1].find("{http://www.w3.org/1999/xhtml}tbody")
    assert len(rows) == 8
    assert "→" in "".join(rows.itertext())


@pytest.mark.servers
@pytest.mark.parametrize(
    ("convention", "path", "told"),
    [
        ("nobody", "as", "sochi, leningrad, rostov, classic, code, federation"),
        ("", "as", "leningrad"),
        ('{"preset": "x"}', "as.preset", "leningrad"),
        ('{"preset": "sochi", "ten": "open"}', "as.ten", "checked"),
        ('{"preset"', "as", "JSON"),
        ('{"preset": "sochi", "pool_weight": 2}', "as.help", "contradict"),
    ],
)
async def test_a_convention_that_there_is_not(site, log, convention, path, told):
    """400 with the place of what is wrong, and the names that there are, in every form."""
    played = await PlayedTable(log, 2).play(deals=1)
    await site.read(played, "/sheet")
    for accept in (JSON, SVG, HTML):
        answer = await site.get(f"/tables/{played.id}/sheet", headers={"Accept": accept}, **{"as": convention})
        assert (answer.status_code, answer.json()["code"], answer.json()["path"]) == (400, "malformed", path)
        assert told in answer.json()["detail"]


@pytest.mark.servers
async def test_5_5_another_convention_shows_a_late_spectator_nothing_early(site, log):
    """Under another convention too a reader sees the deals that he may see, no more."""
    played = await PlayedTable(log, 9, target=40, terms={"spectators": {"allowed": True, "delay_deals": 1}}).play(deals=3)
    await played.play(deals=4)
    late = await site.read(played, "/sheet", **{"as": "leningrad"})
    own = await site.read(played, "/sheet", played.seats[0], **{"as": "leningrad"})
    assert len(late["differences"]["deals"]) + 1 == len(own["differences"]["deals"])
    assert late["as_of"] < own["as_of"]


# ---- Sheets that are not the usual one ---------------------------------------------------------------------------------


@pytest.mark.servers
@pytest.mark.parametrize("form", [SVG, HTML])
async def test_4_2_4_a_sheet_that_the_players_keep_is_drawn_as_they_wrote_it(site, log, form):
    """`kept` are their entries, which sum to the sheet; the drawing has a total for each, corrected ones too, and the page lists them."""
    played = await Misplayed(log, 34, players=3, target=200, terms=TERMS | {"entries": "by_hand"}).play(deals=12)
    shown = await site.read(played, "/sheet")
    assert write(empty_sheet(3), [one | {"rule": "", "why": ""} for one in shown["kept"]]).document() == shown["sheet"]
    totals = running_totals(shown)
    assert sum(map(len, totals.values())) == sum(bool(one["amount"]) for one in shown["kept"])
    assert {one["deal"] for one in shown["kept"]} <= set(range(1, 13))
    answer = await site.get(f"/tables/{played.id}/sheet", headers={"Accept": form})
    told = "".join(ET.fromstring(answer.content).itertext())  # noqa: S314 - our own answer
    for seat, column, on in totals:
        if column == "mountain" and totals[seat, column, on]:
            assert ", ".join(map(str, totals[seat, column, on])).replace("-", "−") in told
    compared = await site.read(played, "/sheet", **{"as": "leningrad"})
    assert len(compared["differences"]["deals"]) == len(shown["deals"])


@pytest.mark.servers
async def test_3_1_2_each_section_has_its_own_picture_and_comparison(site, log):
    """A section that a newcomer began is drawn with one seat more, from the sheet that it began with; so is the one before."""
    played = await with_newcomer(log)
    for number, players in ((1, 3), (2, 4)):
        shown = await site.read(played, "/sheet", section=number)
        path = f"/tables/{played.id}/sheet"
        picture = await site.get(path, headers={"Accept": SVG}, section=number)
        assert picture.content == drawn_sheet(shown, 12)
        page = await site.get(path, headers={"Accept": HTML}, section=number)
        assert f"section {number} of 2" in page.text
        first = shown["sections"][number - 1]["first_deal"]
        answer = await site.read(played, "/sheet", section=number, **{"as": "leningrad"})
        assert [deal["deal"] for deal in answer["differences"]["deals"]] == list(range(first, first + len(shown["deals"])))
        assert len(answer["sheet"]["pool"]) == players
        file = await site.read(played, "/score-file", section=number)
        assert answer["settlement"] == score_document(file | {"convention": "leningrad"})["settlement"]
        assert ("start" in [remark["code"] for remark in answer["differences"]["remarks"]]) == (number == 2)


@pytest.mark.servers
async def test_4_2_16_a_corrected_and_annulled_pulka_in_every_form(site, log):
    """Picture and page say that a result was corrected, by whom and why, and that the pulka was annulled; a comparison does not."""
    played = await PlayedTable(log, 10, target=4).play()
    await played.correct(7, -3, -4, reason="<entered twice>")
    shown = await site.read(played, "/sheet")
    path = f"/tables/{played.id}/sheet"
    assert "over, corrected" in (await site.get(path, headers={"Accept": SVG})).text
    page = (await site.get(path, headers={"Accept": HTML})).text
    now = Fraction(shown["settlement"]["net"][0]) + 7
    assert "&lt;entered twice&gt;" in page
    assert f"<b>{signed(now)}</b>" in page
    await played.annul()
    await site.read(played, "/sheet")
    assert "over, annulled" in (await site.get(path, headers={"Accept": SVG})).text
    assert "two players were one" in (await site.get(path, headers={"Accept": HTML})).text
    compared = await site.read(played, "/sheet", **{"as": "leningrad"})
    assert {"corrections", "annulled"} <= compared.keys()
    assert "two players were one" not in (await site.get(path, headers={"Accept": HTML}, **{"as": "leningrad"})).text


@pytest.mark.servers
async def test_3_1_2_a_correction_is_no_matter_of_an_earlier_section(site, log):
    """A pulka of two sections is corrected at its end: the page of the first section is what it was."""
    played = await (await with_newcomer(log)).play()
    await played.correct(6, -2, -2, -2)
    await site.read(played, "/sheet")
    pages = [await site.get(f"/tables/{played.id}/sheet", headers={"Accept": HTML}, section=number) for number in (1, 2)]
    assert [page.status_code for page in pages] == [200, 200]
    assert ["After the settlement" in page.text for page in pages] == [False, True]


@pytest.mark.servers
@pytest.mark.parametrize("accept", ["application/json", SVG, HTML])
async def test_a_convention_nested_too_deeply_is_malformed(site, log, accept):
    """Whatever form was asked for, the place is named."""
    played = await PlayedTable(log, 2, target=40).play(deals=1)
    await site.read(played, "/sheet")
    answer = await site.get(f"/tables/{played.id}/sheet", headers={"Accept": accept}, **{"as": '{"a":' * 1000})
    assert (answer.status_code, answer.json()["path"]) == (400, "as")
