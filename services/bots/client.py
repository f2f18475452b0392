"""A client of the public HTTP API, as anybody could write one: people, tables, moves that are safe to repeat, a stream that resumes."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator
from typing import Any, Final

import httpx
import msgspec

from shared.web.streams.frames import LEAVING
from shared.web.unanswered import why_unanswered

NDJSON: Final = "application/x-ndjson"
_PATIENCE: Final = 30.0  # seconds for which a server that is away is asked again: longer than the restart of any part takes
_FIRST_WAIT: Final = 0.1  # seconds before the first repetition; doubled each time, so that a short gap costs little
_LONGEST_WAIT: Final = 2.0  # seconds; a server that comes back is noticed soon enough
_SILENCE: Final = 40.0  # seconds without any frame after which a stream counts as lost: two heartbeats of 15 s and a margin
_AWAY: Final = frozenset({429, 502, 503, 504})  # statuses that say "not now"; what was sent may be sent again
#: An answer may wait for the pulka to open (2 s) or for a log that recovers; a connection on a machine that is up is made at once.
_TIMEOUT: Final = httpx.Timeout(20.0, connect=5.0)


class ApiProblem(Exception):
    """A problem document of the API: `status`, the stable `code`, a sentence, and the aggregate's `revision` where one applies."""

    def __init__(self, status: int, code: str, detail: str, revision: int | None = None) -> None:
        super().__init__(f"{code}: {detail}")
        self.status, self.code, self.detail, self.revision = status, code, detail, revision


class ApiUnreachable(Exception):
    """Nobody answered for as long as the client is patient."""


class Frame(msgspec.Struct, frozen=True):
    """One frame of a table's stream: `kind` is `view`, `commit`, `heartbeat` or, as the last, `over`; `data` the object with it."""

    kind: str
    data: dict[str, Any]


def connect(url: str) -> httpx.AsyncClient:
    """An HTTP client for the API under `url`; close it when done. Pools hold a stream and a request for every player that shares it."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)  # each player holds one stream open for the whole pulka
    return httpx.AsyncClient(base_url=url, timeout=_TIMEOUT, limits=limits, trust_env=False)  # a proxy would only buffer the streams


class Api:
    """The API as one player uses it. A request is repeated while servers are away, with the same Idempotency-Key: nothing happens twice.

    Raises `ApiProblem` for everything the API refuses and `ApiUnreachable` when nobody answers within `patience` seconds.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        token: str = "",
        player: str = "",
        patience: float = _PATIENCE,
        tables: httpx.AsyncClient | None = None,
    ) -> None:
        """`tables`: the client of the tables, where these are not where the lobby is."""
        self._http = http
        self._tables = tables or http
        self._patience = patience
        self.token = token
        self.player = player

    async def sign_up(self, name: str) -> None:
        """Become a new player; the token is used from then on."""
        answer = await self.post("/v1/lobby/players", {"name": name})
        self.token, self.player = answer["token"], answer["player"]["id"]

    async def open_table(self, terms: dict[str, Any]) -> str:
        """Open a table on `terms` (deploy/docs/http.md: Lobby); its id."""
        answer = await self.post("/v1/lobby/tables", terms)
        return str(answer.get("table_id") or answer["id"])

    async def sit(self, table: str, seat: int | None = None) -> None:
        """Take a seat, any free one unless `seat` is given."""
        await self.post(f"/v1/lobby/tables/{table}/seats", {} if seat is None else {"seat": seat})

    async def ready(self, table: str, end: str = "") -> None:
        """Say that one is ready to begin, and promise the chain with this `end`."""
        await self.post(f"/v1/lobby/tables/{table}/ready", {"end": end} if end else None)

    async def view(self, table: str) -> dict[str, Any]:
        """The table as this player may see it."""
        seen: dict[str, Any] = await self.get(f"/v1/tables/{table}")
        return seen

    async def move(self, table: str, move: dict[str, Any], revision: int | None, key: str = "") -> int:
        """Make a move in the turn seen at `revision`, or whoever's turn it is, under `key` or one of its own; the revision of its commit. A
        turn that is over gives 412, a refusal 409.
        """
        seen = {} if revision is None else {"If-Match": f'"{revision}"'}
        if key:
            seen["Idempotency-Key"] = key
        answer = await self.post(f"/v1/tables/{table}/moves", move, seen)
        return int(answer["revision"])

    async def get(self, path: str, accept: str = "application/json") -> Any:
        """The decoded answer to a GET."""
        return await self._ask("GET", path, None, {"Accept": accept})

    async def post(self, path: str, body: dict[str, Any] | None, headers: dict[str, str] | None = None) -> Any:
        """The decoded answer to a POST under a key of its own, unless `headers` have one."""
        return await self.send("POST", path, body, headers)

    async def send(self, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str] | None = None) -> Any:
        """The same by another method."""
        content = None if body is None else msgspec.json.encode(body)
        told = {"Idempotency-Key": uuid.uuid4().hex, **(headers or {})}
        if content is not None:
            told["Content-Type"] = "application/json"
        return await self._ask(method, path, content, told)

    async def _ask(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> Any:
        loop = asyncio.get_running_loop()
        http = self._tables if path.startswith("/v1/tables/") else self._http
        until, wait = loop.time() + self._patience, _FIRST_WAIT
        while True:
            try:
                answer = await http.request(method, path, content=content, headers=self._signed(headers))
            except httpx.TransportError as wrong:
                failure = ApiUnreachable(f"{http.base_url} does not answer ({why_unanswered(wrong)})")
            else:
                if answer.status_code < 400:
                    return msgspec.json.decode(answer.content) if answer.content else None
                if answer.status_code not in _AWAY:
                    raise _problem(answer)
                failure = ApiUnreachable(f"{http.base_url} answers {answer.status_code} {_problem(answer).code}")
            if loop.time() + wait > until:
                raise failure
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    async def frames(self, table: str, after: int = 0) -> AsyncGenerator[Frame, None]:
        """The table's stream after revision `after`, without a gap over lost connections, until it is over or nobody answers any more."""
        loop = asyncio.get_running_loop()
        until, wait = loop.time() + self._patience, _FIRST_WAIT
        timeout = httpx.Timeout(_SILENCE, connect=5.0)
        while True:
            problem: ApiUnreachable | None = None
            try:
                request = self._tables.build_request(
                    "GET", f"/v1/tables/{table}/events", params={"after": after}, headers=self._signed({"Accept": NDJSON}), timeout=timeout
                )
                async with contextlib.aclosing(await self._tables.send(request, stream=True)) as answer:
                    if answer.status_code >= 400:
                        await answer.aread()
                        if answer.status_code not in _AWAY:
                            raise _problem(answer)
                        problem = ApiUnreachable(f"{self._tables.base_url} answers {answer.status_code} {_problem(answer).code}")
                    else:
                        async for frame in _frames_of(answer):
                            until, wait = loop.time() + self._patience, _FIRST_WAIT
                            if frame.kind == LEAVING:  # this instance stops; another goes on where it ends
                                wait = frame.data["retry_ms"] / 1000
                                continue
                            if frame.kind == "commit":
                                after = frame.data["revision"]
                            yield frame
                            if frame.kind == "over":
                                return
            except httpx.TransportError as wrong:
                problem = ApiUnreachable(f"{self._tables.base_url} does not answer ({why_unanswered(wrong)})")
            if loop.time() + wait > until:
                raise problem or ApiUnreachable("the stream ends again and again")
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _signed(self, headers: dict[str, str]) -> dict[str, str]:
        return {**headers, "Authorization": f"Bearer {self.token}"} if self.token else headers


async def _frames_of(answer: httpx.Response) -> AsyncGenerator[Frame, None]:
    async for line in answer.aiter_lines():
        if line:
            data = msgspec.json.decode(line)
            yield Frame(data.pop("frame"), data)


def _problem(answer: httpx.Response) -> ApiProblem:
    try:
        told = msgspec.json.decode(answer.content, type=dict[str, Any])
    except msgspec.DecodeError:
        told = {}  # something in between answered, not the API
    return ApiProblem(answer.status_code, str(told.get("code", "")), str(told.get("detail", answer.reason_phrase)), told.get("revision"))
