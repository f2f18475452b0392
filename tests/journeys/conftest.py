"""One club for the journeys of a file; those that kill something make their own."""

from __future__ import annotations

import secrets

import pytest

from tests.journeys.club import Club


@pytest.fixture(scope="module")
def club(nats_url, postgres_dsn, tmp_path_factory):
    """A running club in a namespace of its own."""
    with Club(nats_url, postgres_dsn, f"j{secrets.token_hex(4)}", tmp_path_factory.mktemp("club")) as running:
        yield running
