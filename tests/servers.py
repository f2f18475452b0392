"""Where the tests' NATS and Postgres come from: given by the environment, else containers, else embedded ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import docker.errors
import requests.exceptions
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from services.cli.embedded import EmbeddedServers

NATS_IMAGE = "nats:2.15.1"  # the version of the embedded binary
POSTGRES_IMAGE = "postgres:18.6"  # see NATS_IMAGE
DOCKER_SOCKET = Path("/var/run/docker.sock")  # where an engine listens unless DOCKER_HOST says otherwise
CONFIGURATION = b"""\
jetstream {
  store_dir: "/data"
  sync_interval: always
}
feature_flags {
  js_ack_fc_v2: false
}
"""


class Urls:
    """How to reach a server; `operator` may clear away what tests leave."""

    def __init__(self, service: str, operator: str) -> None:
        self.service = service
        self.operator = operator


@contextmanager
def nats_server(home: Path) -> Iterator[Urls]:
    """A NATS with JetStream that lives for the session."""
    given = os.environ.get("PULKA_NATS_URL")
    if given:
        yield Urls(given, given)
    elif containers_wanted(NATS_IMAGE):
        container = DockerContainer(NATS_IMAGE).with_command("-c /pulka.conf").with_exposed_ports(4222)
        container.with_copy_into_container(CONFIGURATION, "/pulka.conf")
        with container.waiting_for(LogMessageWaitStrategy("Server is ready")):
            url = f"nats://{container.get_container_host_ip()}:{container.get_exposed_port(4222)}"
            yield Urls(url, url)
    else:
        with EmbeddedServers(home, postgres=False) as servers:
            yield Urls(servers.nats_url, servers.nats_operator_url)


@contextmanager
def postgres_server(home: Path) -> Iterator[str]:
    """The connection string of a Postgres that lives for the session."""
    given = os.environ.get("PULKA_POSTGRES_DSN")
    if given:
        yield given
    elif containers_wanted(POSTGRES_IMAGE):
        container = DockerContainer(POSTGRES_IMAGE).with_env("POSTGRES_PASSWORD", "pulka").with_exposed_ports(5432)
        with container.waiting_for(LogMessageWaitStrategy("ready to accept connections", times=2)):  # once for its set-up, once for us
            host, port = container.get_container_host_ip(), container.get_exposed_port(5432)
            yield f"postgresql://postgres:pulka@{host}:{port}/postgres"
    else:
        with EmbeddedServers(home, nats=False) as servers:
            yield servers.postgres_dsn


def containers_wanted(image: str) -> bool:
    """Whether a Docker engine answers and has the image, or may fetch it (`PULKA_TEST_CONTAINERS=1`)."""
    if "DOCKER_HOST" not in os.environ and not DOCKER_SOCKET.exists():
        return False
    try:
        client = docker.from_env(timeout=2)  # seconds; a local engine answers in milliseconds
    except docker.errors.DockerException:
        return False
    try:
        if os.environ.get("PULKA_TEST_CONTAINERS") == "1":
            return bool(client.ping())
        client.images.get(image)
    except (docker.errors.DockerException, requests.exceptions.RequestException):
        return False
    finally:
        client.close()
    return True
