"""What a command says of where it logs holds for its process, not for those tests that run after it in ours."""

from __future__ import annotations

import io

import structlog
from structlog.testing import capture_logs

from services.cli.console.logs import log_to


def test_after_a_command_in_this_process_lines_can_be_captured():
    """A logger that was used meanwhile is not bound to the stream and the processors of the first command."""
    log = structlog.get_logger("tried")
    first, second = io.StringIO(), io.StringIO()
    log_to(first, "warning")
    log.warning("before")
    first.close()
    log_to(second, "warning")
    log.warning("between")
    with capture_logs() as lines:
        log.warning("after")
    assert '"event": "between"' in second.getvalue()
    assert [line["event"] for line in lines] == ["after"]
