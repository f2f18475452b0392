"""The drawn pulka: every total in its field, in order, the earlier ones struck through; nothing overlaps, nothing leaves its field."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.ledger.sheet.drawn_sheet import drawn_sheet
from services.ledger.sheet.lettering import LEAST, MORE
from services.ledger.sheet.paper import SIDES, paper
from services.ledger.sheet.polygons import span
from services.ledger.sheet.running_totals import fields_of, running_totals
from tests.services.ledger.sheet.drawn_pulkas import GOLDEN, NAMES, PICTURES, picture, played

XMLNS = "{http://www.w3.org/2000/svg}"
DIGIT = 0.696  # of the size: a bold digit of DejaVu Sans, the widest font that a browser may take
CONTRAST = re.compile(r"#[0-9a-f]{6}")


def drawing(score, target=50, names=None, lang="en"):
    return ET.fromstring(drawn_sheet(score, target, names, lang))  # noqa: S314 - our own drawing


def groups(root, players):
    """The texts of every field: (text, x, y, size, struck) in the order in which they are drawn."""
    inner = root.find(f"{XMLNS}g").findall(f"{XMLNS}g")
    told = [
        [
            (text.text, float(text.get("x")), float(text.get("y")), float(text.get("font-size")), "text-decoration" in text.attrib)
            for text in group.findall(f"{XMLNS}text")
        ]
        for group in inner
    ]
    return dict(zip(paper(players).fields, told, strict=True))


def written(amount):
    return str(amount).replace("-", "−")


def score_of(players, deals):
    """The object of `pulka score` after `deals`, each of which wrote its number into every field."""
    triples = [(i, j) for i in range(players) for j in range(players) if i != j]

    def sheet(amount):
        shown = amount if isinstance(amount, int) else str(amount)
        return {"pool": [shown] * players, "mountain": [shown] * players, "whists": [[i, j, shown] for i, j in triples]}

    return {
        "deals": [sheet(amount) | {"entries": []} for amount in deals],
        "sheet": sheet(sum(deals)),
        "closed": False,
        "settlement": {"rounded": [0] * players},
    }


AMOUNTS = st.one_of(st.integers(-400, 400), st.fractions(-200, 200, max_denominator=7))
PULKAS = st.builds(score_of, st.integers(2, 5), st.lists(AMOUNTS.filter(bool), max_size=70))


@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_is_the_golden_one(name):
    """A pulka of three and of four after 0, 10 and 40 deals gives the very bytes that were looked at."""
    assert picture(*PICTURES[name]) == (GOLDEN / f"{name}.svg").read_bytes()


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("deals", [0, 10, 40])
def test_4_2_4_every_total_stands_struck_in_its_field(players, deals):
    """Each field has its running totals deal by deal, all but the last struck through (4.2.2, 4.2.4)."""
    score, _ = played("sochi", players, 50, players, deals)
    drawn = groups(drawing(score), players)
    totals = running_totals(score)
    for field in fields_of(players):
        shown = [(text, struck) for text, *_, struck in drawn[field][1:]]
        wanted = [(written(total), place < len(totals[field]) - 1) for place, total in enumerate(totals[field])]
        assert shown == wanted or (not wanted and field[2] is None and shown == [("0", False)])


@pytest.mark.slow
@given(PULKAS, st.lists(st.text(max_size=60), min_size=5, max_size=5))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_overlaps_and_nothing_leaves_its_field(score, names):
    """Whatever was written and however the players are called: in every field the texts lie within it, apart from one another."""
    players = len(score["sheet"]["pool"])
    sheet = paper(players)
    for field, texts in groups(drawing(score, None, names[:players]), players).items():
        boxes = []
        for place, (text, x, y, size, _) in enumerate(texts):
            half = size * DIGIT * (len(text) if place else 0) / 2  # of a label's letters a test knows no widths
            boxes.append((x - half, y - 0.75 * size, x + half, y + 0.1 * size))
        for left, top, right, bottom in boxes:
            within = span(sheet.fields[field], top, bottom)
            assert within is not None, field
            assert within[0] <= left <= right <= within[1], field
        for one, other in combinations(boxes, 2):
            assert one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1], field


@pytest.mark.slow
@given(PULKAS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_where_there_is_no_room_the_oldest_are_left_out(score):
    """A field shows its totals in order; the latest always, older ones only with all after them, at no less than the least size."""
    players = len(score["sheet"]["pool"])
    totals = running_totals(score)
    for field, texts in groups(drawing(score), players).items():
        numbers = [text for text, *_ in texts[1:]]
        wanted = [written(total) for total in totals[field]] or ["0"] * (field[2] is None)
        if numbers[:1] == [MORE]:
            numbers = numbers[1:]
            assert len(numbers) < len(wanted)
            assert len({y for _, _, y, *_ in texts}) > 1
        else:
            assert len(numbers) == len(wanted)
        assert numbers == wanted[len(wanted) - len(numbers) :]
        assert bool(numbers) == bool(wanted)
        assert all(size >= LEAST for *_, size, _ in texts)


def test_a_number_too_long_for_its_field_is_set_smaller():
    """A single total that fits at no usual size is set smaller, and stays within its field."""
    score = score_of(5, [Fraction(123456789012, 999983)])
    for field, texts in groups(drawing(score), 5).items():
        (text, x, y, size, _) = texts[-1]
        left, right = span(paper(5).fields[field], y - size, y)
        assert left <= x - size * DIGIT * len(text) / 2 <= x + size * DIGIT * len(text) / 2 <= right


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_the_fields_fill_the_paper(players):
    """The fields and the circle in the middle share the paper out: no two overlap, and they cover nearly all of it."""

    def area(polygon):
        return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise((*polygon, polygon[0])))) / 2

    sheet = paper(players)
    assert sheet.fields.keys() == set(fields_of(players))
    assert 0.85 < sum(map(area, sheet.fields.values())) / (sheet.width * sheet.height) < 1
    by_seat = [sum(area(polygon) for field, polygon in sheet.fields.items() if field[0] == seat) for seat in range(players)]
    assert min(by_seat) > 0.12 * sheet.width * sheet.height


@pytest.mark.parametrize("players", [3, 4])
def test_whists_on_a_neighbour_stand_on_his_side(players):
    """Within a strip of whists, the field on the next player lies nearest to him."""
    sheet = paper(players)
    centres = {
        field: (sum(x for x, _ in polygon) / len(polygon), sum(y for _, y in polygon) / len(polygon))
        for field, polygon in sheet.fields.items()
    }
    for seat in range(players):
        for neighbour in ((seat + 1) % players, (seat - 1) % players):
            x, y = centres[neighbour, "pool", None]
            nearest = min(
                (on for on in range(players) if on != seat),
                key=lambda on: (centres[seat, "whists", on][0] - x) ** 2 + (centres[seat, "whists", on][1] - y) ** 2,
            )
            assert nearest == neighbour
    assert len(SIDES[players]) == players


def test_names_cannot_break_the_picture():
    """A name is text, whatever it holds, signs that XML cannot write too; one that is too long is cut."""
    root = drawing(score_of(3, [2]), None, ["<script>alert(1)</script>&\"'", "x" * 500, "А\x00\x1b\ud800н"])
    texts = ["".join(text.itertext()) for text in root.iter(f"{XMLNS}text")]
    assert "<script>alert(1)</script>&\"'0" in texts
    assert "А\ufffd\ufffd\ufffdн0" in texts
    assert max(map(len, texts)) < 60
    assert {element.tag.removeprefix(XMLNS) for element in root.iter()} <= {
        "svg", "title", "desc", "rect", "path", "g", "circle", "text", "tspan",
    }  # fmt: skip


def test_the_picture_tells_itself_in_words():
    """Title and description say the sheet for who cannot see it, in the language asked for, and each field has its totals as a title."""
    score, _ = played("sochi", 3, 50, 7, 10)
    for lang, state, pool in (("en", "10 deals, goes on, to 50", "pool"), ("ru", "10 сдач, не окончена, до 50", "пуля")):
        root = drawing(score, 50, NAMES[lang][:3], lang)
        assert root.find(f"{XMLNS}title").text.endswith(state)
        told = root.find(f"{XMLNS}desc").text
        for seat, name in enumerate(NAMES[lang][:3]):
            assert f"{name}: {pool} {score['sheet']['pool'][seat]}," in told
        fields = [title.text for title in root.find(f"{XMLNS}g").iter(f"{XMLNS}title")]
        assert len(fields) == 12
        totals = ", ".join(map(written, running_totals(score)[0, "mountain", None]))
        assert any(title.endswith(f": {totals}") for title in fields)


def test_the_picture_needs_nothing_from_outside():
    """No script, style sheet, link or font file is named in it; it stands by itself."""
    drawn = picture(4, 40, 5, "en").decode()
    assert re.findall(r"https?://[^\"']+", drawn) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|url\(|<style|<script|<image|\bon[a-z]+=", drawn)


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_what_is_written_can_be_read_on_the_paper():
    """Every colour of a text stands out from the paper by 4.5 to 1 at the least (WCAG 2.1, AA)."""
    root = drawing(score_of(3, [2, 4]))
    ground = root.find(f"{XMLNS}rect").get("fill")
    colours = {root.find(f"{XMLNS}g").get("fill"), *(text.get("fill") for text in root.iter(f"{XMLNS}text"))} - {None}
    assert len(colours) == 3
    for colour in colours:
        assert (luminance(ground) + 0.05) / (luminance(colour) + 0.05) >= 4.5


def test_an_annulled_pulka_says_so():
    """A pulka that was annulled is drawn as one."""
    annulment = {"revision": 9, "at": 0, "author": "operator:desk", "reason": "a marked deck"}
    root = drawing(score_of(3, [2]) | {"closed": True, "annulled": annulment}, lang="ru")
    assert "окончена, аннулирована" in root.find(f"{XMLNS}title").text
    assert "окончена, аннулирована" in [text.text for text in root.iter(f"{XMLNS}text")]
    assert "over, corrected" in drawing(score_of(3, [2]) | {"closed": True, "corrections": [annulment]}).find(f"{XMLNS}title").text


# ---- Running totals ----------------------------------------------------------------------------------------------------


def test_3_1_2_what_stood_on_the_paper_before_is_the_first_total():
    """A section begins with the sheet that it was given: that stands there first, and is struck through by the first deal (3.1.2)."""
    score = {
        "deals": [{"pool": [2, 0], "mountain": [0, 0], "whists": [[1, 0, 4]]}],
        "sheet": {"pool": [12, 7], "mountain": [0, "1/2"], "whists": [[1, 0, 4]]},
    }
    totals = running_totals(score)
    assert totals[0, "pool", None] == (10, 12)
    assert totals[1, "pool", None] == (7,)
    assert totals[1, "mountain", None] == (Fraction(1, 2),)
    assert totals[1, "whists", 0] == (4,)
    assert totals[0, "mountain", None] == totals[0, "whists", 1] == ()


def test_4_2_7_a_correction_strikes_what_was_written_wrong():
    """Where the players keep the sheet, a wrong entry, its correction and the fine each leave a total, whatever was due (4.2.7)."""
    kept = [
        {"deal": 1, "seat": 0, "column": "pool", "amount": 4},
        {"deal": 2, "seat": 0, "column": "pool", "amount": -2},
        {"deal": 2, "seat": 0, "column": "mountain", "amount": 2},
        {"deal": 2, "seat": 1, "column": "whists", "on": 0, "amount": "1/2"},
    ]
    score = {
        "deals": [{"pool": [2, 0], "mountain": [0, 0], "whists": []}],
        "sheet": {"pool": [2, 0], "mountain": [2, 0], "whists": [[1, 0, "1/2"]]},
        "kept": kept,
    }
    totals = running_totals(score)
    assert totals[0, "pool", None] == (4, 2)
    assert totals[0, "mountain", None] == (2,)
    assert totals[1, "whists", 0] == (Fraction(1, 2),)


@given(PULKAS)
@settings(max_examples=30, deadline=None)
def test_the_last_total_is_what_stands_on_the_sheet(score):
    """In every field the last total is the sheet's number; an empty field is zero."""
    for (_, column, _), totals in running_totals(score).items():
        first = score["sheet"][column][0]
        assert (totals[-1] if totals else 0) == Fraction(first[2] if column == "whists" else first)
