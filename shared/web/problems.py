"""What goes wrong, as RFC 9457 problem documents (`application/problem+json`) with stable codes.

`Problem` is raised by whoever knows what is wrong; two handlers turn it, and everything else that reaches the edge, into a document.
Documents and log lines never carry an unforeseen exception's own text, a body or a header: any of them may hold a card or a token.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from typing import Any, Final

import asyncpg
import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException

from shared.eventlog.aggregates.aggregates import BrokenChain, Mismatch, QueueFull
from shared.eventlog.port import CommitTooLarge, Conflict, LogError, NotInArchive, OutcomeUnknown, StorageFull
from shared.events.upcast import NewerSchema
from shared.rules.language.documents import in_words
from shared.rules.language.refusal import Malformed, Refused
from shared.web.methods import allow
from shared.web.parameters import parameters_of

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER: Final = (
    "1"  # seconds; a server that comes back is asked again at once, one that stays away costs one request a second and client
)

NO_JSON: Final = "not a JSON document"

TITLES: Final[Mapping[str, str]] = {
    "malformed": "The request cannot be read",
    "idempotency_key_missing": "The header Idempotency-Key is missing or malformed",
    "token_missing": "A token is needed",
    "token_invalid": "The token is not valid",
    "wrong_password": "Player and password do not match",
    "scope_missing": "The token lacks a scope",
    "not_seated": "Not seated at this table",
    "not_found": "There is nothing here",
    "no_such_table": "There is no such table",
    "no_such_player": "There is no such player",
    "not_a_bot": "Not a built-in player",
    "method_not_allowed": "Not possible here with this method",
    "not_acceptable": "None of the accepted forms is available",
    "stale_revision": "The turn has moved on",
    "body_too_large": "The body is over 64 KB",
    "head_too_large": "Request line and headers are too long",
    "idempotency_mismatch": "The same Idempotency-Key came with another request",
    "too_many_streams": "Too many streams are open",
    "internal": "Something went wrong on our side",
    "unavailable": "Not to be had just now; nothing was decided",
    "outcome_unknown": "The outcome is unknown; repeat with the same key",
    "storage_full": "The log takes no more; nothing was decided",
    "lost_race": "Others were faster, several times in a row",
    "log_differs": "The log is not the one that the books were written from",
    "table_parked": "The books could not read this table",
    "log_damaged": "What the log holds here is damaged",
    "no_such_deal": "There is no such deal",
    "no_such_checkpoint": "There is no such checkpoint",
    "not_in_checkpoint": "The checkpoint does not hold that commit",
    "pulka_goes_on": "The pulka is not over yet",
    "arbiter_has_no_seat": "The arbiter takes no seat",
    "already_annulled": "The pulka is annulled already",
    "already_seated": "Already seated at this table",
    "bid_not_on_ladder": "Bids climb step by step here",
    "bid_too_low": "The bid is too low",
    "call_not_allowed": "This call is not open to you now",
    "already_passed": "Who has passed calls no more in this auction",
    "card_not_held": "The card is not in that hand",
    "link_does_not_fit": "This link is not the one of your chain for this round",
    "signature_missing": "You have registered a key, so sign your moves",
    "signature_wrong": "The signature is not over this move at this place",
    "claim_out_of_range": "No such number of tricks can be claimed",
    "claim_pending": "An answer is awaited",
    "contract_below_bid": "The contract is below the bid",
    "duplicate_card": "The same card twice",
    "here_not_allowed": "Here cannot be said now",
    "misere_not_first_bid": "Misere is a first call only",
    "must_play_exposed": "Exposed cards or a stated line bind this card",
    "must_follow_suit": "The suit led must be followed",
    "must_trump": "Who cannot follow must trump",
    "no_such_seat": "The table has no such seat",
    "not_closed": "The pulka is not settled yet",
    "not_zero_sum": "The amounts do not sum to zero",
    "nothing_to_correct": "The amounts change nothing",
    "corrections_out_of_bounds": "The corrections together are too large or too fine",
    "not_the_host": "Only the table's host may do this",
    "not_your_hand": "The next card comes from another hand",
    "not_your_turn": "It is another player's turn",
    "pulka_over": "The pulka is over",
    "seat_reserved": "The seat is kept for a bot, or for a person",
    "seat_taken": "Somebody sits there",
    "archived": "The pulka lies in the archive",
    "not_in_archive": "The archive is not at hand",
    "pulka_recorded": "The pulka was played elsewhere",
    "table_closed": "The table is closed",
    "table_full": "Every seat is taken",
    "table_started": "The pulka has begun",
    "wrong_discard_count": "Two cards are put away",
    "wrong_phase": "Not in this phase",
}
"""What each stable code says in a few words: the first ones are the HTTP layer's, the others the rules' and the services'."""

_BY_STATUS: Final[Mapping[int, str]] = {
    400: "malformed",
    401: "token_missing",
    403: "scope_missing",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "body_too_large",
    503: "unavailable",
}
_STATUS_OF_REFUSAL: Final[Mapping[str, int]] = {
    "malformed": 400,
    "not_seated": 403,
    "no_such_table": 404,
    "no_such_player": 404,
    "archived": 410,
    "stale_revision": 412,
    "idempotency_mismatch": 422,
}
_POSTGRES_AWAY: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,  # "connection is closed", "pool is closing"
    asyncpg.InternalClientError,  # the server's farewell came between two statements
    asyncpg.OperatorInterventionError,  # shutting down, starting up
    asyncpg.InsufficientResourcesError,  # disk full, no memory, no connection left
    ConnectionError,
    TimeoutError,
)
_TROUBLE: Final[tuple[tuple[tuple[type[Exception], ...], int, str, str], ...]] = (
    ((Mismatch,), 422, "idempotency_mismatch", "This Idempotency-Key was used before for a different request."),
    ((OutcomeUnknown,), 503, "outcome_unknown", "It is not known whether this was done; repeat it with the same Idempotency-Key."),
    ((StorageFull,), 503, "storage_full", "The log takes no more; nothing was decided."),
    ((CommitTooLarge,), 413, "body_too_large", "What this would store is too large; nothing was decided."),
    ((QueueFull,), 503, "unavailable", "Too much is waiting for this table or player; nothing was decided."),
    ((Conflict,), 409, "lost_race", "Others were faster, several times in a row; nothing was decided."),
    ((NotInArchive,), 503, "not_in_archive", "The table has left the log, and the archive that it went to is not at hand here."),
    (
        (BrokenChain,),  # without its revision: whoever asks may not be entitled to know how far the table is
        500,
        "log_damaged",
        "What the log holds here is damaged; nothing was decided, and no repeat helps. The log line `log_damaged` names the revision.",
    ),
    ((LogError,), 503, "unavailable", "The log cannot be reached; nothing was decided."),
    ((NewerSchema,), 503, "unavailable", "A newer program has written here; this one cannot read it and is to be replaced."),
    (_POSTGRES_AWAY, 503, "unavailable", "A server that is needed cannot be reached; nothing was decided."),
)
"""What the servers can answer; the first row that fits holds."""

log = structlog.get_logger("web")


class ProblemDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """A problem document (RFC 9457).

    `code` is stable; `rule` the number of the rule that decides; `revision` the aggregate's current one; `path` the place of what is wrong.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    rule: str | None = None
    revision: int | None = None
    path: str | None = None


class Problem(HTTPException):
    """An answer that is a problem document; `headers` go with it."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        rule: str | None = None,
        revision: int | None = None,
        path: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        if status in (429, 503):
            headers = {"Retry-After": RETRY_AFTER, **(headers or {})}
        super().__init__(detail=detail, status_code=status, headers=headers)
        self.code = code
        self.rule = rule
        self.revision = revision
        self.path = path

    @property
    def document(self) -> ProblemDocument:
        """The document that is sent."""
        title = TITLES.get(self.code) or self.code.replace("_", " ").capitalize()
        return ProblemDocument(
            f"/problems/{self.code}", title, self.status_code, self.detail, self.code, self.rule or None, self.revision, self.path
        )


def malformed(path: str, detail: str) -> Problem:
    """400: `path` (`bid`, `deals[0].x`, `` for the whole) cannot be read."""
    return Problem(400, "malformed", f"{path}: {detail}" if path else detail, path=path)


def unavailable(detail: str) -> Problem:
    """503: a server that is needed does not answer; nothing was decided."""
    return Problem(503, "unavailable", detail)


def refusal(refused: Refused, revision: int | None) -> Problem:
    """The problem of a refusal by a rule, with the aggregate's current revision: 409 unless its code has a status of its own."""
    return Problem(_STATUS_OF_REFUSAL.get(refused.code, 409), refused.code, refused.message, rule=refused.rule, revision=revision)


_AT = re.compile(r" - at (?:`key` in )?`\$\.?(?P<path>[^`]*)`$")
_FIELD = re.compile(r"(?:unknown|missing required) field `(?P<name>[^`]*)`")


def unreadable(wrong: msgspec.DecodeError | RecursionError) -> Problem:
    """400 for a document that msgspec refused, with the path of what is wrong; an unknown or missing field is named itself."""
    if not isinstance(wrong, msgspec.ValidationError):
        return malformed("", NO_JSON if isinstance(wrong, msgspec.DecodeError) else "nested too deeply")
    text = str(wrong)
    at = _AT.search(text)
    path = at["path"] if at else ""
    text = text[: at.start()] if at else text
    if field := _FIELD.search(text):
        path = f"{path}.{field['name']}" if path else field["name"]
    return malformed(path, in_words(text))


def problem_of(wrong: Exception) -> Problem:
    """The problem that `wrong` is to a client; 500 `internal` for what nobody foresaw."""
    match wrong:
        case Problem():
            return wrong
        case ValidationException():
            return _invalid_parameter(wrong, {})
        case HTTPException() if wrong.status_code < 500:
            code = _BY_STATUS.get(wrong.status_code, "malformed")
            return Problem(wrong.status_code, code, TITLES[code] + ".", headers=_with_head(wrong.headers))
        case Malformed():
            return Problem(400, wrong.code, str(wrong), path=wrong.path)
    for kinds, status, code, detail in _TROUBLE:
        if isinstance(wrong, kinds):
            return Problem(status, code, detail)
    return Problem(500, "internal", "Something went wrong on our side.")


def answer(problem: Problem) -> Response[bytes]:
    """The response that carries `problem`."""
    return Response(msgspec.json.encode(problem.document), status_code=problem.status_code, media_type=MEDIA_TYPE, headers=problem.headers)


def cut_off(method: str, route: str) -> Problem:
    """The problem of a request that was still under way when the process had to stop, once the log knows of it: 503. Of a command it is not
    known what became.
    """
    log.warning("request_cut_off", method=method, route=route)
    if method == "GET":
        return unavailable("This process is stopping.")
    return Problem(503, "outcome_unknown", "This process is stopping; repeat the request with the same Idempotency-Key.")


def on_exception(request: Request[Any, Any, Any], wrong: Exception) -> Response[bytes]:
    """Handler of everything that reaches the edge."""
    if isinstance(wrong, ValidationException):
        wrong = _invalid_parameter(wrong, parameters_of(request.route_handler).called)
    return answer(problem_told(request.method, route_of(request), wrong))


def problem_told(method: str, route: str, wrong: Exception) -> Problem:
    """The problem that `wrong` is, once the log knows of it: by kind and place, never by its text."""
    problem = problem_of(wrong)
    told = {"method": method, "route": route, "status": problem.status_code, "code": problem.code}
    if isinstance(wrong, BrokenChain):  # its text has a place in the log and nothing of what lies there
        log.error("log_damaged", **told, revision=wrong.revision, reason=str(wrong))
    elif problem.status_code == 500:
        log.error("request_failed", **told, kind=type(wrong).__name__, where=places(wrong))
    elif isinstance(wrong, (Problem, HTTPException)):
        log.info("request_refused", **told)
    else:
        log.warning("request_unserved", **told, kind=type(wrong).__name__)
    return problem


def route_of(request: Request[Any, Any, Any]) -> str:
    """The route's template (`/v1/tables/{table_id}/moves`), or `unrouted`: a path as sent is the client's text."""
    return request.scope.get("path_template") or "unrouted"


def places(wrong: BaseException | None) -> list[str]:
    """Where `wrong` and its causes were raised, innermost last, without any of their texts."""
    lines: list[str] = []
    while wrong is not None:
        frames = traceback.extract_tb(wrong.__traceback__)[-6:]  # the innermost six name the place; more is noise
        lines.append(f"{type(wrong).__name__}: " + " > ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames))
        wrong = wrong.__cause__ or wrong.__context__
    return lines


def _with_head(headers: dict[str, str] | None) -> dict[str, str]:
    """What is answered by `GET` is answered by `HEAD` as well; Litestar's `Allow` does not know of it."""
    return {
        name: allow(method.strip() for method in value.split(",")) if name.lower() == "allow" else value
        for name, value in (headers or {}).items()
    }


_MISSING = re.compile(r"Missing required \w+ parameter '(?P<name>[^']*)'")  # as Litestar says it, by the client's name


def _invalid_parameter(wrong: ValidationException, called: Mapping[str, str]) -> Problem:
    """Litestar names the argument in `extra`, which the client knows as `called` says; a missing body is called `data` there."""
    first = wrong.extra[0] if isinstance(wrong.extra, list) and wrong.extra else {}
    told: Mapping[str, Any] = first if isinstance(first, dict) else {}
    if told.get("key") == "data":
        return malformed("", "a body is needed")
    if not told and (missing := _MISSING.match(wrong.detail)):
        return malformed(missing["name"], "is required")
    name = str(told.get("key", ""))
    return malformed(called.get(name, name), str(told.get("message", "cannot be read")))
