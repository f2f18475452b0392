"""Where and how a process logs: one JSON object a line."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TextIO

import msgspec
import structlog

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class _Discreet(logging.Formatter):
    """Lines of libraries: who and what kind. Their arguments and exceptions' texts may hold a card or a token, so they stay out."""

    def format(self, record: logging.LogRecord) -> str:
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        line = {
            "event": "library",
            "logger": record.name,
            "level": record.levelname.lower(),
            "template": str(record.msg).split("\n")[0][:200],
            "kind": kind,
        }
        return msgspec.json.encode(line).decode()


def log_to(stream: TextIO, level: str) -> None:
    """Send structlog's lines, and warnings of libraries that use `logging`, to `stream`."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,  # else each word that is not logged costs as much as one that is
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Discreet())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def log_file(folder: Path) -> TextIO:
    """The services' log in `folder`, opened to append, a line at a time, readable by its owner alone."""
    path = folder / "pulka.log"
    path.touch(mode=0o600)
    return path.open("a", encoding="utf-8", buffering=1)
