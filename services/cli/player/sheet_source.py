"""Where a sheet comes from that a person names: a score file, or a table of a server."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import httpx

from services.cli.console.documents import STDIN, read_document
from services.cli.console.server_url import server_away, server_named
from shared.events.address import is_id
from shared.rules.convention.options import resolve
from shared.rules.language.documents import convert
from shared.rules.language.refusal import Malformed
from shared.rules.score_files.deal_document import DealDocument, read_deal
from shared.rules.score_files.kept_sheet import due
from shared.rules.score_files.players_called import called
from shared.rules.score_files.score_file import StartDocument, scored, scored_document, standing_at
from shared.rules.score_files.scorer_words import Lang
from shared.rules.score_files.what_if import PlayedDeal, PlayedPulka, as_played
from shared.rules.scoring.sheet import entry
from shared.rules.scoring.sheet_document import SheetDocument, read_sheet
from shared.rules.scoring.stakes import read_stake
from shared.web.service import CannotStart

PATIENCE: Final = 10.0  # seconds: a few reads of one table
TRIES: Final = 3  # reads of sheet and score file, should a deal end between the two
ARCHIVED: Final = "archived"  # the code with which a table says that its history lies in the archive
Document = dict[str, Any]


class SheetSource(NamedTuple):
    """A pulka as it stands: `score` is the object of `pulka score`, `pulka` its deals by their outcomes; `names` by seat where known.

    A name is None where the lobby knows the others' and not this one: that player's data were erased.
    """

    score: Document
    pulka: PlayedPulka
    names: list[str | None] | None

    def named(self, lang: Lang) -> list[str] | None:
        """The names, with the seat for one that is not known; None where nobody's is."""
        return None if self.names is None else [player.who for player in called(lang, len(self.names), self.names)]


def source_named(named: str, url: str | None, token: str | None) -> SheetSource:
    """The pulka of a score file, "-" for standard input, or of a table of the server at `url` (None: the one that is found without it).

    Raises `Malformed` as `pulka score` would say it of the file, `CannotStart`, `ServersUnreachable`.
    """
    if is_id(named) and not Path(named).exists():
        return _from_server(named, server_named(url, os.environ), token)
    if named != STDIN and not Path(named).exists():
        raise Malformed("", f"{named}: {os.strerror(errno.ENOENT)}; nor is it the id of a table")
    pulka = scored(read_document(named))
    return SheetSource(scored_document(pulka), as_played(pulka), None if pulka.names is None else list(pulka.names))


class ServerRefused(CannotStart):
    """A server answers, and not with what was asked for; `code` is that of its problem, "" for what is none."""

    def __init__(self, told: str, code: str = "") -> None:
        super().__init__(f"the server refused: {told}")
        self.code = code


def asked(url: str, token: str | None, path: str) -> Document:
    """The JSON answer of a server. Raises `ServerRefused` with what it says against it, `ServersUnreachable`."""
    headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        answer = httpx.get(url.rstrip("/") + path, headers=headers, timeout=PATIENCE, trust_env=False)  # the token goes to no proxy
    except (httpx.TransportError, httpx.InvalidURL) as away:
        raise server_away(url, away) from away
    if answer.is_success:
        found: Document = answer.json()
        return found
    try:
        problem = answer.json()
        refused = ServerRefused(f"{problem['code']}: {problem['detail']}", problem["code"])
    except (ValueError, KeyError, TypeError):  # something in between answered, not the API
        refused = ServerRefused(str(answer.status_code))
    raise refused


def _from_server(table: str, url: str, token: str | None) -> SheetSource:
    for _ in range(TRIES):
        score = asked(url, token, f"/v1/ledger/tables/{table}/sheet")
        file = asked(url, token, f"/v1/ledger/tables/{table}/score-file?at_least={quote(score['position'])}")
        if len(score["deals"]) == len(file["deals"]):
            return SheetSource(score, _pulka(score, file, _numbers(url, token, table)), _names(url, token, table, file["players"]))
    raise CannotStart("deals end faster than this command can read them; try again")


def _numbers(url: str, token: str | None, table: str) -> list[int]:
    """The numbers of all deals that were scored: one that was void has a number and no score."""
    found: list[int] = []
    cursor = ""
    while True:
        page = asked(url, token, f"/v1/ledger/tables/{table}/deals?limit=200{cursor}")
        found += [deal["number"] for deal in page["deals"]]
        if page["cursor"] is None:
            return found
        cursor = f"&cursor={quote(page['cursor'])}"


def _pulka(score: Document, file: Document, numbers: list[int]) -> PlayedPulka:
    """The pulka of the ledger's two answers; not by `scored`, since who keep the sheet themselves may play on when what was due ends it."""
    players, target = file["players"], file.get("target")
    rules = resolve(file["convention"], target)
    first = score["sections"][score["section"] - 1]["first_deal"] if "section" in score else 1
    numbered = [number for number in numbers if number >= first]
    deals: list[PlayedDeal] = []
    for place, (number, document, wrote) in enumerate(
        zip(numbered, file["deals"], score["deals"], strict=False)
    ):  # one may have ended since
        path = f"deals[{place}]"
        outcome = read_deal(convert(document, DealDocument, path), rules, players, document["dealer"], path, stored=True)
        entries = tuple(map(entry, wrote["entries"]))
        deals.append(PlayedDeal(number, outcome, due(entries) if "kept" in document else entries))
    start = convert(file["start"], StartDocument, "start") if "start" in file else None
    sheet = read_sheet(convert(score["sheet"], SheetDocument, "sheet"), players, "sheet")
    stake = read_stake(file["stake"], "stake") if "stake" in file else None
    return PlayedPulka(rules, players, target, stake, standing_at(start, players, rules), tuple(deals), sheet, score["closed"])


def _names(url: str, token: str | None, table: str, players: int) -> list[str | None] | None:
    """What the players are called who sit there now, as far as the lobby tells; None where it tells of nobody."""
    try:
        seats = _seats(url, token, table)
        people = [seat["player"] for seat in asked(url, token, f"/v1/lobby/tables/{table}")["seats"]]
    except CannotStart:
        return None  # a sheet is worth showing without names too
    known = {person["id"]: person["name"] for person in people if person is not None}
    if len(seats) != players or not any(known.get(player) for player in seats):
        return None
    return [known.get(player) for player in seats]


def _seats(url: str, token: str | None, table: str) -> list[str]:
    """The ids of who sits there, by seat; of an archived table, which is settled, the ledger tells them with the result."""
    try:
        seats: list[str] = asked(url, token, f"/v1/tables/{table}")["seats"]
    except ServerRefused as refused:
        if refused.code != ARCHIVED:
            raise
        seats = [result["player"] for result in asked(url, token, f"/v1/ledger/tables/{table}/statement?limit=1")["results"]]
    return seats
