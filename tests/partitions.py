"""The streams of a log that never grew, for tests to which their number does not matter."""

from shared.events.address import Partitions

TABLE_STREAMS = Partitions().table_streams
