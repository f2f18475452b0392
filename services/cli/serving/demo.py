"""`pulka demo`: whole pulkas by built-in players, through the HTTP API and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import sys
from types import FrameType
from typing import Any, Final
from urllib.parse import quote

import click
import httpx
import msgspec
from rich.console import Console

from services.bots.chain import OwnChain
from services.bots.client import Api, ApiProblem, ApiUnreachable, connect
from services.bots.seated import Seated
from services.cli.console.logs import log_to
from services.cli.console.plural import counted
from services.cli.console.settlement_drawing import drawn_settlement
from services.cli.console.terminal_sheet import sheet_text
from services.cli.serving.temporary_server import own_server
from shared.rules.convention.options import PRESETS
from shared.rules.language.documents import require_single
from shared.rules.language.refusal import Malformed
from shared.rules.scoring.settlement import minutes_to_play
from shared.web.service import CannotStart, ServersUnreachable

NAMES: Final = ("Anna", "Boris", "Clara", "Dmitri", "Elena")
AT_ONCE: Final = 8  # tables played at a time; more only wait for one another
PATIENCE: Final = 2.0  # seconds for the first answer; during the play a server may be away longer
REFUSED: Final = 1  # exit status: an audit that does not verify


@click.command("demo")
@click.option("--url", help="Play at this server instead of one of the demo's own.")
@click.option("--players", type=click.Choice(["2", "3", "4", "5"]), default="3", show_default=True, help="Players a table.")
@click.option("--convention", default="sochi", show_default=True, help="Name of a convention, or a JSON object.")
@click.option("--target", type=click.IntRange(1, 500), default=10, show_default=True, help="Pool to play to, points a player.")
@click.option("--pulkas", type=click.IntRange(1, 1000), default=1, show_default=True, help="How many pulkas.")
@click.option("--seed", type=int, help="Seeds the players, never the server's deck.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output and nothing else.")
def demo(url: str | None, players: str, convention: str, target: int, pulkas: int, seed: int | None, *, as_json: bool) -> None:
    """Play whole pulkas with built-in players through the HTTP API; show sheet, settlement and the verdict of the audit.

    Without --url it starts a server of its own in a temporary folder and stops it at the end. A preset that is played to a time ends by
    --target here. At a club's server its tables count in no rating and no standing.
    """
    if url is not None and not url.startswith(("http://", "https://")):
        raise click.BadParameter("begins with http:// or https://", param_hint="--url")
    # not rated: its players are no people, and a club's ratings and standings are
    terms = {"convention": _ended_by_the_target(_convention(convention)), "players": int(players), "target": target, "rated": False}
    signal.signal(signal.SIGTERM, _as_by_ctrl_c)  # so that our own server and its folder go too
    log_to(sys.stderr, "warning")  # standard output is the result's; the progress tells the rest
    base = random.SystemRandom().getrandbits(64) if seed is None else seed
    with contextlib.ExitStack() as stack:
        if url is None:
            click.echo("starting a server of its own …", err=True)
            url = stack.enter_context(own_server())
        tables = _run(url, terms, pulkas, base)
    if as_json:
        click.echo(msgspec.json.encode({"tables": [table.document for table in tables]}))
    else:
        for table in tables:
            _show(table)
    if not all(table.document["audit"]["verified"] for table in tables):
        sys.exit(REFUSED)


class Played(msgspec.Struct, frozen=True):
    """A finished table: its document as `--json` gives it, who sat where, and the ledger's sheet, deal by deal."""

    document: dict[str, Any]
    names: tuple[str, ...]
    sheet: dict[str, Any]


def _as_by_ctrl_c(_number: int, frame: FrameType | None) -> None:
    """What Ctrl-C does at this moment: asyncio has its own way while it runs, which lets every task end."""
    interrupt = signal.getsignal(signal.SIGINT)
    (interrupt if callable(interrupt) else signal.default_int_handler)(signal.SIGINT, frame)  # a shell's `&` lets SIGINT be ignored


def _convention(text: str) -> Any:
    """A preset's name as it is; an object from its JSON. What is wrong with either the server says."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        said = msgspec.json.decode(text)
        require_single(text)
    except Malformed as wrong:
        raise click.BadParameter(str(wrong), param_hint="--convention") from None
    except msgspec.DecodeError as wrong:
        raise click.BadParameter(f"neither a convention's name nor JSON: {wrong}", param_hint="--convention") from None
    return said


def _ended_by_the_target(convention: Any) -> Any:
    """A preset that is played to a time ends by --target instead: nobody watches a demo for two hours. An object says how it ends."""
    if not isinstance(convention, str) or convention not in PRESETS or minutes_to_play(PRESETS[convention]) is None:
        return convention
    click.echo(f"{convention} is played to a time; here --target ends it", err=True)
    return {"preset": convention, "ends_when": "pool_sum"}


def _run(url: str, terms: dict[str, Any], pulkas: int, seed: int) -> list[Played]:
    """Play; what stops it is said in one line with the exit status of its kind."""
    try:
        return asyncio.run(_play_all(url, terms, pulkas, seed))
    except (ApiUnreachable, ApiProblem, httpx.InvalidURL, ExceptionGroup) as wrong:
        match _first(wrong):
            case ApiUnreachable() as away:
                raise ServersUnreachable(str(away)) from None
            case ApiProblem() as problem:
                raise CannotStart(f"the server refused: {problem}") from None
            case httpx.InvalidURL() as invalid:
                raise CannotStart(f"--url: {invalid}") from None
        raise


def _first(wrong: Exception) -> Exception:
    """The first exception inside a group; any other is itself."""
    return _first(wrong.exceptions[0]) if isinstance(wrong, ExceptionGroup) else wrong


async def _play_all(url: str, terms: dict[str, Any], pulkas: int, seed: int) -> list[Played]:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, http: httpx.AsyncClient) -> Played:
        async with places:
            return await _play_one(http, terms, f"{seed} {number}", f"pulka {number + 1}: " if pulkas > 1 else "")

    async with connect(url) as http, asyncio.TaskGroup() as group:
        await Api(http, patience=PATIENCE).get("/v1/lobby/tables?limit=1")  # a wrong address is told at once
        tasks = [group.create_task(one(number, http)) for number in range(pulkas)]
    return [task.result() for task in tasks]


async def _play_one(http: httpx.AsyncClient, terms: dict[str, Any], seed: str, prefix: str) -> Played:
    """One table from the first sign-up to the audit."""
    seats = [Api(http) for _ in range(terms["players"])]
    names = NAMES[: len(seats)]
    for api, name in zip(seats, names, strict=True):
        await api.sign_up(name)
    table = await seats[0].open_table(terms)
    for seat, api in enumerate(seats):
        await api.sit(table, seat)
    progress = Progress(prefix, names)
    chains = [OwnChain.of(table, api.token) for api in seats]
    async with asyncio.TaskGroup() as group:
        players = [
            group.create_task(Seated(api, table, f"{seed} {seat}", progress.told if seat == 0 else None, chains[seat]).play())
            for seat, api in enumerate(seats)
        ]
        for api, chain in zip(seats, chains, strict=True):
            await api.ready(table, chain.end)
    last = players[0].result()
    if last["status"] != "over":
        raise ApiProblem(409, "pulka_refused", f"the table service would not open a pulka at table {table}")
    sheet = await seats[0].get(f"/v1/ledger/tables/{table}/sheet?at_least={quote(progress.position)}")
    return Played(await _collected(seats[0], table, sheet), names, sheet)


async def _collected(api: Api, table: str, sheet: dict[str, Any]) -> dict[str, Any]:
    """What the ledger, whose `sheet` it is, and the audit say of a finished table that they have read to its end."""
    ledger = f"/v1/ledger/tables/{table}"
    audit = await api.get(f"{ledger}/audit/verify")
    count = len(sheet["deals"])
    return {
        "table_id": table,
        "deals": count,
        "score_file": await api.get(f"{ledger}/score-file"),
        "sheet": sheet["sheet"],
        "settlement": sheet["settlement"],
        "audit": {"commits": audit["commits"], "head": audit["head"], "verified": audit["verified"]},
        "records": [await api.get(f"{ledger}/deals/{number}") for number in range(1, count + 1)],
    }


class Progress:
    """Tells standard error about every finished deal."""

    def __init__(self, prefix: str, names: tuple[str, ...]) -> None:
        self._prefix = prefix
        self._names = names
        self._deals = 0
        self.position = ""

    def told(self, commit: dict[str, Any]) -> None:
        """One commit of the table's stream."""
        self.position = commit["position"]
        for event in commit["events"]:
            if event["type"] == "DealScored":
                self._deals += 1
                click.echo(f"{self._prefix}deal {self._deals}: {self._line(event['outcome'])}", err=True)

    def _line(self, outcome: dict[str, Any]) -> str:
        tricks = outcome.get("tricks")
        taken = "" if not tricks else " · tricks " + " ".join(f"{name} {count}" for name, count in zip(self._names, tricks, strict=True))
        if outcome.get("declarer") is None:
            return f"all pass{taken}"
        played = taken or (" · given up" if outcome.get("conceded") or outcome.get("without_three") else " · not whisted")
        how = " in the dark" if outcome.get("dark") else " shared with the dealer" if outcome.get("shared") else ""
        return f"{self._names[outcome['declarer']]} plays {outcome['contract']}{how}{played}"


def _show(table: Played) -> None:
    document, console = table.document, Console()
    console.print(f"Table {document['table_id']}: {counted(document['deals'], 'deal')}", highlight=False)
    click.echo(sheet_text(table.sheet, document["score_file"].get("target"), table.names, width=console.width))
    console.print(drawn_settlement(document["settlement"], table.names))
    audit = document["audit"]
    verdict = "verified" if audit["verified"] else "NOT VERIFIED"
    console.print(f"Audit: {verdict}, {counted(audit['commits'], 'commit')}, head {audit['head']}", highlight=False, soft_wrap=True)
