"""How a follow loop is doing: for `/health`, `/metrics` and whoever asks why the rows are late."""

from __future__ import annotations

from typing import Final

import asyncpg
import msgspec
from prometheus_client import Counter, Gauge

from shared.eventlog.port import LogError

LABELS: Final = ("projection", "stream")
LAG_EVENTS: Final = Gauge("pulka_projection_lag_commits", "Commits in the log that the rows do not show yet", LABELS)
LAG_SECONDS: Final = Gauge(
    "pulka_projection_lag_seconds", "Age of the newest commit in the rows while there are newer ones, else 0", LABELS
)
HEARTBEAT: Final = Gauge("pulka_projection_heartbeat_timestamp_seconds", "When the worker last showed a sign of life", LABELS)
FOLLOWING: Final = Gauge("pulka_projection_following", "1 while this process projects the stream", LABELS)
APPLIED: Final = Counter("pulka_projection_commits", "Commits applied", LABELS)
PARKED: Final = Gauge("pulka_projection_parked_aggregates", "Aggregates that wait for a fix", LABELS)


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's state: `starting`, `standby` (another process projects), `following`, `down` (tries again), `refused`, `stopped`.

    `reason` is one word when it is down or refused, `detail` a sentence. `heartbeat` and lag times: milliseconds since 1970 and seconds.
    """

    projection: str
    stream: str
    state: str
    reason: str | None
    detail: str | None
    sequence: int
    lag_events: int
    lag_seconds: float
    heartbeat: int
    epoch: int
    parked: int


class LogSilent(Exception):
    """The log's adapter has shown no sign of life for too long; the stream is followed anew."""


DEFECT: Final = "defect"  # the reason for what nobody foresaw

# What passes by itself. `InternalClientError` is how asyncpg meets a server's farewell that came between two statements.
PASSING: tuple[type[Exception], ...] = (
    LogError,
    LogSilent,
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


def classify(error: Exception) -> str:
    """One word for why a worker is down; `told` says it in a sentence."""
    match error:
        case LogError() | LogSilent():
            return "log_unavailable"
        case asyncpg.InvalidAuthorizationSpecificationError():
            return "postgres_login_refused"
        case asyncpg.DiskFullError():
            return "postgres_disk_full"
        case asyncpg.InsufficientResourcesError():
            return "postgres_out_of_resources"
        case asyncpg.IdleInTransactionSessionTimeoutError():
            return "stalled"
        case asyncpg.TransactionRollbackError():
            return "postgres_conflict"
        case (
            OSError()
            | asyncpg.InterfaceError()
            | asyncpg.InternalClientError()
            | asyncpg.PostgresConnectionError()
            | asyncpg.OperatorInterventionError()
        ):
            return "postgres_unreachable"
        case asyncpg.PostgresError():
            return "postgres_error"
    return DEFECT


def told(error: Exception) -> str:
    """What is wrong and what happens next, for a person who knows nothing of the libraries that met it; of a defect its kind alone, since
    its text may hold what a box or a row holds.
    """
    reason = classify(error)
    if reason == DEFECT:
        return type(error).__name__
    match error:
        case LogError() | LogSilent():
            return f"the log does not go on: {error}; it is followed anew"
        case asyncpg.CannotConnectNowError():
            return "Postgres is starting or stopping; it is asked again"
        case asyncpg.QueryCanceledError():
            return "Postgres ended a statement before it was done; the batch is tried again"
        case OSError() if not isinstance(error, ConnectionError) or isinstance(error, ConnectionRefusedError):
            return "Postgres does not answer; it is asked again"
        case asyncpg.PostgresError() if reason not in _TOLD:
            return f"Postgres refuses: {error}; the batch is tried again"
    return _TOLD[reason]


_TOLD: Final = {  # by reason
    "postgres_unreachable": "the connection to Postgres was lost; it is opened again",
    "postgres_login_refused": "Postgres does not accept user or password; it is asked again",
    "postgres_disk_full": "the disk of Postgres is full; the batch is tried again",
    "postgres_out_of_resources": "Postgres has no memory or no connection left; it is asked again",
    "stalled": "the process stood still in the middle of a transaction, which Postgres ended; the batch is tried again",
    "postgres_conflict": "another transaction stood in the way; the batch is tried again",
}
