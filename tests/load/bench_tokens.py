"""What it costs to know who moves: `python -m tests.load.bench_tokens` prints the median of five runs each, in microseconds a token.

* `token_remembered`: a token that was verified before, which is every move but the first of a sitting.
* `token_first`: one that is seen for the first time, signed with Ed25519; `token_first_hmac`: one of former times, by HMAC.
* `token_made`: what the lobby does at a sign-up.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from shared.events.keys import MasterKeys
from shared.events.token_keys import PublicKeys, TokenSigner, public_half
from shared.web.auth import Issuer, Tokens
from tests.load.figures import tell

RUNS = 5  # odd, so that the median is one of them
TOKENS = 2_000  # each of another player; under the number that is remembered
ROUNDS = 20  # times that each is shown again: as long a run as the first time takes
NOW = 1_800_000_000


def microseconds(count: int, work: Callable[[], object]) -> float:
    """Of this process' own time, for one of `count`."""
    began = time.process_time()
    work()
    return 1e6 * (time.process_time() - began) / count


def main() -> None:
    """Measure, and print."""
    key, old = ("t1", secrets.token_bytes(32)), MasterKeys((("m1", secrets.token_bytes(32)),))
    new_way = Issuer(TokenSigner((key,)))
    old_way = Issuer(TokenSigner((key,), hmac_before=NOW + 1, old=old))
    first, by_hmac, remembered, made = [], [], [], []
    for _ in range(RUNS):
        signed = [new_way.issue(f"3-{number:026}", ("play", "read"), NOW) for number in range(TOKENS)]
        former = [old_way.issue(f"3-{number:026}", ("play", "read"), NOW) for number in range(TOKENS)]
        tokens = Tokens(PublicKeys(((key[0], public_half(key[1])),), hmac_before=NOW + 1), old)
        by_hmac.append(microseconds(TOKENS, lambda tokens=tokens, former=former: [tokens.verify(one, NOW) for one in former]))
        first.append(microseconds(TOKENS, lambda tokens=tokens, signed=signed: [tokens.verify(one, NOW) for one in signed]))
        again = [one for _ in range(ROUNDS) for one in signed]
        remembered.append(microseconds(len(again), lambda tokens=tokens, again=again: [tokens.verify(one, NOW) for one in again]))
        made.append(microseconds(TOKENS, lambda: [new_way.issue("3-abc", ("play", "read"), NOW) for _ in range(TOKENS)]))
    tell("token_remembered", "us/token", remembered)
    tell("token_first", "us/token", first)
    tell("token_first_hmac", "us/token", by_hmac)
    tell("token_made", "us/token", made)


if __name__ == "__main__":
    main()
