"""The servers that `pulka up`, `pulka demo` and the tests start by themselves: NATS and Postgres from wheels."""

from services.cli.embedded.home import HomeLocked
from services.cli.embedded.servers import EmbeddedServers

__all__ = ["EmbeddedServers", "HomeLocked"]
