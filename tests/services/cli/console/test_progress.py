"""Whoever waits is told how far it is, on standard error."""

import pytest

from services.cli.console import progress


@pytest.mark.parametrize(("total", "expected"), [(None, "3 rows\n"), (10, "3 of 10 rows\n")])
def test_without_a_terminal_there_is_a_line_now_and_then(capsys, monkeypatch, total, expected):
    """The first line comes after some seconds, then one each so many; standard output stays the answer's."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.how_far("rows", total) as told:
        told(1)
        now[0] += progress.TELL_S
        told(3)
        told(4)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", expected)
