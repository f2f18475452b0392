"""Draw the house from the imports: `house.svg`, every room and who imports whom, and `house.md`, what each room is for.

    python deploy/docs/house.py            writes both
    python deploy/docs/house.py --check    exit status 1 when either is stale (a test asks)

A house is a package right under `shared` or `services`; a room is a package inside it. An arrow leads from who imports to what is
imported. An arrow is left out of the picture where a longer way says the same. A room's purpose is the first sentence of its `__init__`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE, PAGE = ROOT / "deploy" / "docs" / "house.svg", ROOT / "deploy" / "docs" / "house.md"
LETTER, ROOM_HEIGHT, GAP, FLOOR_GAP, EDGE = 8, 26, 16, 46, 12  # px; a letter is as wide as a monospaced one of 13 px

Arrows = dict[str, set[str]]


def modules() -> dict[str, ast.Module]:
    """Every module of ours by its dotted name; a package by the package's."""
    found = {}
    for top in ("shared", "services"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    """The names that a module imports, and those that it imports later by a name in a string (`services.cli.main: COMMANDS`)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"(services|shared)[\w.]+:\w+", node.value):
            yield node.value.partition(":")[0]


def room_of(module: str, known: Iterable[str]) -> str:
    """The room that a module stands in: its package, at most two below `shared` or `services`."""
    parts = module.split(".")
    room = ".".join(parts[:3])
    return room if room in known else ".".join(parts[:2])


def arrows() -> tuple[Arrows, dict[str, str]]:
    """Rooms with the rooms that they import, and rooms with what they are for."""
    trees = modules()
    parents = {name.rpartition(".")[0] for name in trees}
    rooms = {name: ast.get_docstring(tree) or "" for name, tree in trees.items() if name in parents and name.count(".") in {1, 2}}
    leads: Arrows = {room: set() for room in rooms}
    for name, tree in trees.items():
        if name.count(".") < 1:
            continue
        room = room_of(name, rooms)
        leads[room] |= {room_of(target, rooms) for target in imported(tree) if target in trees and target.count(".")} - {room}
    return leads, {room: re.split(r"(?<=\.)\s", " ".join(text.split()))[0].rstrip(".") for room, text in rooms.items()}


def reduced(leads: Arrows) -> Arrows:
    """Without the arrows that a longer way implies."""
    reach: Arrows = {}
    for node in TopologicalSorter(leads).static_order():
        reach[node] = leads.get(node, set()).union(*(reach[target] for target in leads.get(node, ())))
    return {node: {one for one in targets if not any(one in reach[other] for other in targets - {one})} for node, targets in leads.items()}


def floors(leads: Arrows) -> list[list[str]]:
    """The nodes, floor by floor from the ground: each stands one above the highest that it imports."""
    floor: dict[str, int] = {}
    for node in TopologicalSorter(leads).static_order():
        floor[node] = max((floor[target] + 1 for target in leads[node]), default=0)
    return [sorted(node for node in floor if floor[node] == level) for level in range(max(floor.values()) + 1)]


def between(leads: Arrows, names: dict[str, str]) -> Arrows:
    """The arrows among what `names` maps rooms to."""
    drawn: Arrows = {name: set() for name in names.values()}
    for room, targets in leads.items():
        if room in names:
            drawn[names[room]] |= {names[target] for target in targets if target in names} - {names[room]}
    return drawn


class Picture:
    """Boxes with their places, drawn over the arrows so that no arrow crosses a word."""

    def __init__(self, about: dict[str, str]) -> None:
        self.about = about
        self.lines: list[str] = []
        self.boxes: list[str] = []

    def box(self, name: str, label: str, place: tuple[int, int, int, int], kind: str) -> None:
        """A box at x, y with width and height; its purpose shows when one points at it."""
        x, y, width, height = place
        title = f"<title>{escape(self.about.get(name, ''))}</title>"
        self.boxes.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="4">{title}</rect>')
        self.boxes.append(f'<text class="{kind}" x="{x + width // 2}" y="{y + 18}">{escape(label)}</text>')

    def arrow(self, above: tuple[int, int, int, int], below: tuple[int, int, int, int]) -> None:
        """From the foot of one box to the head of another."""
        x1, y1, x2, y2 = above[0] + above[2] // 2, above[1] + above[3], below[0] + below[2] // 2, below[1]
        self.lines.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2 - 6}" marker-end="url(#tip)"/>')


def inner(house: str, leads: Arrows) -> tuple[list[list[str]], Arrows]:
    """A house's rooms from the top floor down, and the arrows among them."""
    rooms = {room: room for room in leads if room.startswith(house + ".")}
    if not rooms:
        return [], {}
    own = between(leads, rooms)
    return floors(own)[::-1], reduced(own)


def width_of(room: str) -> int:
    """A room's width for its name."""
    return len(room.rpartition(".")[2]) * LETTER + 2 * EDGE


def row_width(row: list[str]) -> int:
    """The width of rooms side by side."""
    return sum(map(width_of, row)) + GAP * (len(row) - 1)


def draw(leads: Arrows, about: dict[str, str]) -> str:
    """The picture as SVG."""
    houses = {room: ".".join(room.split(".")[:2]) for room in leads}
    outer = between(leads, houses)
    plan = {house: inner(house, leads) for house in outer}
    size = {}
    for house, (rows, _) in plan.items():
        width = max([row_width(row) for row in rows] + [len(house) * LETTER]) + 2 * EDGE
        size[house] = (width, 30 + len(rows) * (ROOM_HEIGHT + GAP))
    storeys = floors(outer)[::-1]
    total = max(sum(size[house][0] for house in row) + FLOOR_GAP * (len(row) - 1) for row in storeys) + 2 * EDGE
    picture, places, y = Picture(about), {}, EDGE
    for storey in storeys:
        x = (total - sum(size[house][0] for house in storey) - FLOOR_GAP * (len(storey) - 1)) // 2
        for house in storey:
            places[house] = (x, y + max(size[other][1] for other in storey) - size[house][1], *size[house])
            picture.box(house, house, places[house], "house")
            furnish(picture, plan[house], places[house])
            x += size[house][0] + FLOOR_GAP
        y += max(size[house][1] for house in storey) + FLOOR_GAP
    for house, targets in sorted(reduced(outer).items()):
        for target in sorted(targets):
            picture.arrow(places[house], places[target])
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {y - FLOOR_GAP + EDGE}" font-family="monospace" font-size="13">',
            "<style>rect.house{fill:#f4f1ea;stroke:#555}rect.room{fill:#fff;stroke:#999}text{text-anchor:middle}",
            "text.house{font-weight:bold}line{stroke:#777}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="8" markerHeight="8" orient="auto">',
            '<path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>',
            f'<rect width="{total}" height="{y}" fill="#fff"/>',
            *picture.lines,
            *picture.boxes,
            "</svg>\n",
        ]
    )


def furnish(picture: Picture, plan: tuple[list[list[str]], Arrows], house: tuple[int, int, int, int]) -> None:
    """Draw the rooms of a house inside its box, their arrows before them."""
    rows, own = plan
    x0, y, width, _ = house
    places = {}
    y += 30
    for row in rows:
        x = x0 + (width - row_width(row)) // 2
        for room in row:
            places[room] = (x, y, width_of(room), ROOM_HEIGHT)
            x += width_of(room) + GAP
        y += ROOM_HEIGHT + GAP
    inside = Picture(picture.about)
    for room, targets in sorted(own.items()):
        for target in sorted(targets):
            inside.arrow(places[room], places[target])
    for room, place in places.items():
        inside.box(room, room.rpartition(".")[2], place, "room")
    picture.boxes += inside.lines + inside.boxes


def table(leads: Arrows, about: dict[str, str]) -> str:
    """The page: every room with its purpose and what it imports."""
    rows = [
        f"| `{room}` | {about[room]} | {', '.join(f'`{target}`' for target in sorted(leads[room])) or 'nothing of ours'} |"
        for room in sorted(leads, key=lambda room: (room.startswith("services"), room))
        if leads[room] or not any(other.startswith(f"{room}.") for other in leads)  # not a house whose rooms hold everything
    ]
    return "\n".join(
        [
            "# The house",
            "",
            "`python deploy/docs/house.py` writes this page and its picture from the imports and the `__init__` docstrings.",
            "Do not edit either by hand.",
            "",
            "![Every room, and who imports whom](house.svg)",
            "",
            "An arrow leads from who imports to what is imported. Where a longer way says the same, the picture leaves the arrow out.",
            "",
            "| room | what it is | imports |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def main() -> int:
    """Write both files, or say which is stale."""
    leads, about = arrows()
    wanted = {PICTURE: draw(leads, about), PAGE: table(leads, about)}
    if "--check" not in sys.argv[1:]:
        for path, text in wanted.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path.name for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if stale:
        print(f"{' and '.join(stale)} no longer fit the imports: run `.venv/bin/python deploy/docs/house.py`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
