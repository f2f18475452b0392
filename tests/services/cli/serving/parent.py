"""A process that holds embedded servers until its standard input ends: python parent.py HOME. Prints their pids as JSON."""

import json
import sys
from pathlib import Path

from services.cli.embedded import EmbeddedServers

if __name__ == "__main__":
    with EmbeddedServers(Path(sys.argv[1])) as servers:
        sys.stdout.write(json.dumps(servers.pids) + "\n")
        sys.stdout.flush()
        sys.stdin.read()
