"""Hash chains: many secrets promised at once, each opened in its turn, and none of them free any more (the deal's algorithm 2).

A chain begins with 32 random bytes that its owner keeps, and goes on by `link_after`. Its last link, the **end**, is published: that is the
promise. The links are opened from the end backwards, one a round. Everybody can check that a link leads to what was known before, and
nobody can tell the next one.

A link is 64 hex digits, small letters. `link_after` is SHA-256 of the text `pulka link 2 TABLE LINK`, so that a shell makes a chain with
`printf` and `sha256sum`. The table's id stands in it: a chain that was opened at one table opens nothing at another.
"""

from __future__ import annotations

import hashlib
from typing import Final

LINK_DIGITS: Final = 64  # hex: 32 bytes
MOST_ROUNDS: Final = 4096  # between two openings of one chain: hashed in 4 ms, and more deals than anybody plays at one table


def link_after(table_id: str, link: str) -> str:
    """The next link of the chain at `table_id`, towards its end."""
    return hashlib.sha256(f"pulka link 2 {table_id} {link}".encode()).hexdigest()


def link_at(table_id: str, beginning: str, steps: int) -> str:
    """The link that lies `steps` behind `beginning`."""
    link = beginning
    for _ in range(steps):
        link = link_after(table_id, link)
    return link


def is_link(text: str) -> bool:
    """Whether `text` has the form of a link."""
    return len(text) == LINK_DIGITS and all(digit in "0123456789abcdef" for digit in text)
