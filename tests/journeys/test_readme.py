"""What the README tells a newcomer to type does what it says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_first_move_of_the_readme_works_as_written(club):
    """The block under `A first move`, run by a shell, makes a move and then shows the stream."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## A first move")[2]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]
    assert "API=http://127.0.0.1:8080\n" in block
    script = block.replace("http://127.0.0.1:8080", club.url).replace("curl -sN", "curl -sN --max-time 2")
    ran = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 28, ran.stdout + ran.stderr  # what curl says when the reader of an endless stream has seen enough
    assert '"events": [{' in ran.stdout  # of the move: the stream's own have no space
    assert "event: view" in ran.stdout
