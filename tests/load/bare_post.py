"""The least that a validated POST costs here: one Litestar handler that decodes a move and answers a small object; and a GET that answers
one. Under the paths of the table's service. Prints its address.

With `PULKA_NATS_URL` it also appends one commit of the size of a move's: all that a durable move would cost without rules, secrets,
players and answers to repeats.
"""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from litestar import Litestar, get, post
from litestar.datastructures import State
from litestar.params import FromPath, JSONBody

from shared.eventlog.jetstream.log import open_log
from shared.events.address import FEWEST
from shared.rules.language.moves import AnyMove
from shared.web.strict_request import StrictRequest
from tests.contracts.commits import some_commit, some_table

TABLE = "/v1/tables/{table:str}"
MOVES = f"{TABLE}/moves"
ANSWER = {"revision": 1, "position": "TABLE_0:1", "hash": "0" * 64}


@get(TABLE)
async def view(table: FromPath[str]) -> dict[str, Any]:
    """Answers without knowing anything."""
    return {**ANSWER, "table": table}


@post(MOVES, status_code=200)
async def moves(table: FromPath[str], data: JSONBody[AnyMove]) -> dict[str, Any]:
    """Answers without doing anything."""
    return {**ANSWER, "events": [{"table": table, "type": type(data).__name__}]}


@asynccontextmanager
async def appending(app: Litestar) -> AsyncIterator[None]:
    """Gives the handler a log, and tables of which each request is the next commit; whoever asks has one request a table at a time."""
    log = await open_log(os.environ["PULKA_NATS_URL"], "floor", durable=True)
    tables: dict[str, list[Any]] = {}

    async def append(name: str) -> None:
        table = tables.setdefault(name, [some_table(len(tables) % FEWEST), 0, 0])
        address, sequence, revision = table
        recorded = await log.append(address, some_commit(address, revision + 1, size=300), sequence)
        table[1:] = recorded.sequence, recorded.revision

    app.state.append = append
    yield
    await log.close()


@post(MOVES, status_code=200)
async def durable_moves(table: FromPath[str], data: JSONBody[AnyMove], state: State) -> dict[str, Any]:
    """Answers when a commit is stored."""
    await state.append(table)
    return {**ANSWER, "events": [{"table": table, "type": type(data).__name__}]}


if __name__ == "__main__":
    durable = "PULKA_NATS_URL" in os.environ
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    handler, life = (durable_moves, [appending]) if durable else (moves, [])
    app = Litestar([handler, view], request_class=StrictRequest, logging_config=None, lifespan=life)
    uvicorn.Server(uvicorn.Config(app, http="httptools", loop="uvloop", access_log=False, log_config=None)).run([listener])
