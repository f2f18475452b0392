"""The sheet over HTTP: which form and which language a reader gets, and what a browser may do with it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from services.ledger.drawn_sheet import drawn_sheet
from services.ledger.printed_sheet import CONTENT_POLICY
from services.ledger.sheet_reading import HTML, JSON, SVG, form_wanted, language_wanted
from shared.web.problems import Problem
from tests.services.ledger.played import PlayedTable

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, JSON), ("", JSON), ("*/*", JSON), ("application/json", JSON), ("text/csv", JSON), ("nonsense;;;", JSON),
        (SVG, SVG), ("image/*", SVG), ("application/json, image/svg+xml", JSON), ("image/svg+xml, application/json", SVG),
        ("application/json;q=0.5, image/svg+xml", SVG), ("image/svg+xml;q=0, text/html;q=0.1", HTML), ("image/svg+xml;q=0", JSON),
        (BROWSER, HTML), ("TEXT/HTML", HTML), ("image/svg+xml;q=2, text/html", HTML), ("image/svg+xml;q=x", JSON),
    ],
)  # fmt: skip
def test_the_form_that_accept_likes_best(accept, form):
    """JSON unless a picture or a page is liked better; a browser gets the page."""
    assert form_wanted(accept) == form


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
