"""What a bot host shows on `/metrics`."""

from __future__ import annotations

from typing import Final

from prometheus_client import Gauge

SEATS: Final = Gauge("pulka_bot_seats", "Seats that this host's built-in players have now")
MOST: Final = Gauge("pulka_bot_seats_most", "Seats that it may have at a time (PULKA_BOT_SEATS)")
WAITING: Final = Gauge("pulka_bot_seats_waiting", "Seats of its share that wait, since it has as many as it may")
HELD: Final = Gauge("pulka_bot_buckets", "Buckets of tables, of 64, whose seats are this host's")
