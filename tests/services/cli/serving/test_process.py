"""The serving process: starts in order, stops in order and in time, whatever a service does."""

import json
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from services.cli.serving.process import DRAIN_SECONDS, LINGER_SECONDS, STOP_SECONDS, listen
from shared.web.service import CannotStart

ROOT = Path(__file__).parents[4]
WHOLE_STOP = 5.0  # seconds (deploy/docs/command-line.md), embedded servers included


@pytest.fixture
def hosted():
    """Start `hosted.py`; what was started is killed at the end."""
    running = []

    def start(*arguments):
        command = [sys.executable, "-m", "tests.services.cli.serving.hosted", *arguments]
        running.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def words_until(process, first):
    """Lines up to one that begins with `first`, that one included."""
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if line.startswith(first):
            return lines
    raise AssertionError(f"never said {first}: {lines}")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_in_order(hosted, number):
    """Streams end and a request in flight is answered before the services stop; what uses the port starts after it and stops too."""
    process = hosted()
    *before, ready = words_until(process, "ready")
    assert before == ["start", "late start"]
    url = f"http://127.0.0.1:{ready.split()[1]}"
    answers = {}

    def ask(path):
        answers[path] = httpx.get(url + path, timeout=10).text

    threads = [threading.Thread(target=ask, args=(path,)) for path in ("/finishes", "/stream")]
    for thread in threads:
        thread.start()
    for _ in threads:
        words_until(process, "asked")  # both have arrived: a request that has not is refused by a stop, and rightly
    began = time.monotonic()
    process.send_signal(number)
    said = words_until(process, "ended")
    for thread in threads:
        thread.join()
    assert said == ["drain", "stop", "late stop", "ended"]
    assert answers == {"/finishes": "done", "/stream": "first\nlast\n"}
    assert process.wait() == 0
    assert time.monotonic() - began < WHOLE_STOP


@pytest.mark.slow
def test_a_process_that_leaves_wants_nothing_new_and_answers_what_comes(hosted):
    """Nobody can connect any more, it is not ready, and each connection's next answer is its last and says so; then it ends."""
    process = hosted()
    port = int(words_until(process, "ready")[-1].split()[1])
    with ExitStack() as kept:
        first, second, half, waits = (kept.enter_context(closing(HTTPConnection("127.0.0.1", port, timeout=5))) for _ in range(4))
        for connection in (first, second, half):
            connection.request("GET", "/answers")
            answer = connection.getresponse()
            assert (answer.read(), answer.getheader("connection")) == (b"answered", None)
        waits.request("GET", "/finishes")
        words_until(process, "asked")
        half.sock.sendall(b"GET /answers HTTP/1.1\r\nHost: ")
        process.terminate()
        words_until(process, "drain")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        first.request("GET", "/health/ready")
        answer = first.getresponse()
        assert (answer.status, answer.getheader("connection"), answer.getheader("retry-after")) == (503, "close", "1")
        assert json.loads(answer.read())["status"] == "leaving"
        second.request("GET", "/answers")
        answer = second.getresponse()
        assert (answer.read(), answer.getheader("connection")) == (b"answered", "close")
        answer = waits.getresponse()
        assert (answer.read(), answer.getheader("connection")) == (b"done", "close")
        assert select.select([half.sock], [], [], LINGER_SECONDS + 0.2)[0] == []  # else it would be closed by now
        half.sock.sendall(b"here\r\n\r\n")
        assert half.sock.makefile("rb").read().endswith(b"\r\n\r\nanswered")
        assert words_until(process, "ended") == ["stop", "late stop", "ended"]
    assert process.wait() == 0


@pytest.mark.slow
def test_a_second_signal_ends_at_once(hosted):
    """Whoever asks twice does not wait for what hangs; a signal that is only handed on, such as by `make`, is none."""
    process = hosted("hang")
    words_until(process, "ready")
    process.terminate()
    process.terminate()
    began = time.monotonic()
    assert words_until(process, "stop") == ["drain", "stop"]  # as after one
    process.terminate()
    words_until(process, "ended")
    assert process.wait() == 0
    assert time.monotonic() - began < DRAIN_SECONDS + STOP_SECONDS


@pytest.mark.slow
def test_a_service_that_hangs_does_not_keep_the_process(hosted):
    """Drain, requests and stop each have a limit; together they leave the embedded servers their share of the five seconds."""
    process = hosted("hang")
    words_until(process, "ready")
    began = time.monotonic()
    process.terminate()
    assert words_until(process, "ended") == ["drain", "stop", "late stop", "ended"]
    assert time.monotonic() - began < 4.0  # the limits add up to 2.8; the rest is for a busy machine


@pytest.mark.slow
def test_a_start_that_fails_stops_what_had_begun_and_gives_its_reason(hosted):
    """Nothing is said to be ready, the half started service is stopped, and the reason reaches the caller."""
    process = hosted("no_start")
    assert words_until(process, "cannot") == ["start", "drain", "stop", "cannot start: the reason"]
    assert process.wait() == 2


@pytest.mark.slow
def test_a_signal_ends_a_start_that_waits(hosted):
    """Ctrl-C while a service waits for a server ends it."""
    process = hosted("slow_start")
    words_until(process, "start")
    process.send_signal(signal.SIGINT)
    assert words_until(process, "ended") == ["drain", "stop", "ended"]
    assert process.wait() == 0


def test_a_taken_port_is_said_in_one_line():
    """The line names the port and the way out."""
    with socket.create_server(("127.0.0.1", 0)) as taker:
        port = taker.getsockname()[1]
        with pytest.raises(CannotStart, match=f"^port {port} is taken: choose another with --port"):
            listen("127.0.0.1", port)


def test_a_foreign_address_is_said_in_one_line():
    """An address that is not this machine's cannot be listened on (192.0.2.1 is nobody's)."""
    with pytest.raises(CannotStart, match=r"cannot listen on 192\.0\.2\.1"):
        listen("192.0.2.1", 0)
