"""The server that a demo starts for itself, as whoever starts it finds it and is left by it."""

import gc
import warnings

import httpx
import pytest

from services.cli.serving.temporary_server import own_server

pytestmark = pytest.mark.servers


def test_it_answers_and_leaves_nothing_open():
    """It is there as long as the context; its pipes are closed with it and not some time later."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        with own_server() as url:
            assert httpx.get(f"{url}/health").json()["status"] == "ok"
        gc.collect()
    assert [str(one.message) for one in told if "TextIOWrapper" in str(one.message)] == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/health")
