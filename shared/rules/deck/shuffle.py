"""The provable deal: a commitment, a keyed shuffle, the cut, and the way the cards go round. Pure; anybody can recompute it from a revealed
deal.

Algorithm 1, in full:

* `framed(parts)`: each part as four bytes of length, big end first, then its bytes; text is UTF-8, numbers are decimal text. No two lists
  of parts frame alike.
* `commitment = SHA-256(framed("pulka commitment 1", server seed, table id, deal number, rules digest))`, published before the cut. The
  server's seed is 32 random bytes; outside it is 64 hex digits.
* `key = HMAC-SHA-256(server seed, framed("pulka shuffle 1", table id, deal number, rules digest, cut, seat, seed, seat, seed, …))`, the
  players' seeds as text in the order in which the log has them.
* The stream of random bytes is `HMAC-SHA-256(key, framed("pulka stream 1", block))` for block 0, 1, …
* Fisher-Yates over the cards in the order of `cards.CARDS`: for the last place down to the second, a place not above it is drawn and the
  two cards change places. A draw below n takes the low bits of the next byte, as many as n - 1 has, and throws the byte away when the
  number is n or more; so each is equally likely.
* The cut: the top `at` cards are lifted and laid below the rest (3.2.5, 3.2.6). The cut also stands in the key, so that nobody can prepare
  a deck all of whose 25 cuts suit them.
* Two cards at a time, clockwise from the dealer's left, five rounds; the talon after the first (3.2.8). With two players the third of the
  three hands is a dummy's, number 2: it is dealt to after the dealer (Decision 19).

Algorithm 2 differs in two things, so that nobody can choose a deck (deploy/decisions, "A deck that nobody can choose"):

* The server's seed is the next link of a chain (`chain`), and the commitment is the link that it leads to.
* After the cut the players open the next links of their own chains, and the key has them behind the seeds:
  `key = HMAC-SHA-256(server seed, framed("pulka shuffle 2", table id, deal number, rules digest, cut, number of seeds, seat, seed, …,
  seat, link, …))`, the links by seat, without those that were not opened in time.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from typing import Final

from shared.rules.deck.cards import CARDS, DECK, card_numbers, hand_text
from shared.rules.deck.seats import FEWEST, MOST, hand_count, hands_at_play

ALGORITHM: Final = 1  # of the deals of pulkas that began without chains
CHAINED: Final = 2  # of those that began with them
LOWEST_CUT: Final = 4  # cards in each part, at least (3.2.6)
HIGHEST_CUT: Final = 28
ABSENT_CUT: Final = 16  # when the right neighbour's time is up: a fixed place, so that the server cannot choose
SEED_BYTES: Final = 32
SALT_BYTES: Final = 16

SERVER_SEED: Final = "server_seed"  # labels of the salts, as in `DealRevealed.salts`
TALON: Final = "talon"
DISCARD: Final = "discard"
RETURNED_HAND: Final = "returned_hand"  # of who had taken the talon too early (3.3.17)
RETURNED_TALON: Final = "returned_talon"


def hand_label(seat: int) -> str:
    """The label of the salt that hides the hand dealt to `seat`."""
    return f"hand:{seat}"


def seen_label(hand: int) -> str:
    """The label of the salt that hides the hand of seat `hand` as the resting dealer saw it (3.8.8)."""
    return f"seen:{hand}"


def framed(*parts: str | bytes | int) -> bytes:
    """The parts as one message that only they can make: each with its length before it."""
    message = bytearray()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        message += len(data).to_bytes(4, "big") + data
    return bytes(message)


def commitment(server_seed: str, table_id: str, deal_number: int, rules_digest: str) -> str:
    """What the server publishes before the cut, hex. It binds the server to its seed, and hides it. Raises `ValueError` unless the seed is
    64 hex digits.
    """
    return hashlib.sha256(framed("pulka commitment 1", _seed(server_seed), table_id, deal_number, rules_digest)).hexdigest()


def salt(server_seed: str, label: str) -> str:
    """The 16 bytes, hex, that go before a hidden text into its digest; `label` as in `DealRevealed.salts`, or `server_seed`."""
    return _keyed(_seed(server_seed), "pulka salt 1", label)[:SALT_BYTES].hex()


def seats_dealt(players: int, dealer: int) -> tuple[int, ...]:
    """The seats that get cards, in the order in which they get them (3.2.8, 3.2.10), with two players the dummy as 2. Raises `ValueError`
    for a number of players that is not dealt.
    """
    if not FEWEST <= players <= MOST:
        raise ValueError(f"no deal for {players} players")
    return hands_at_play(players, dealer)


def deal_cards(  # noqa: PLR0913, PLR0917  # the things that a deal follows from, and nothing else
    server_seed: str,
    table_id: str,
    deal_number: int,
    rules_digest: str,
    seeds: tuple[tuple[int, str], ...],
    cut_at: int,
    players: int,
    dealer: int,
    links: tuple[tuple[int, str], ...] | None = None,
) -> tuple[tuple[str, ...], str]:
    """The hands by seat, `""` for those who rest, of two players the dummy's third; and the talon as it lies, the card that was dealt first
    in front.

    `seeds` are (seat, text) in the order of the log, `links` (seat, link) by seat; None: algorithm 1, which knows none. Raises `ValueError`
    for a cut outside 4..28, a seed that is not 64 hex digits, or a number of players that is not dealt.
    """
    if not LOWEST_CUT <= cut_at <= HIGHEST_CUT:
        raise ValueError(f"cut of {cut_at} cards")
    order = seats_dealt(players, dealer)
    about = (table_id, deal_number, rules_digest, cut_at)
    added = [part for pair in seeds for part in pair]
    if links is None:
        key = _keyed(_seed(server_seed), "pulka shuffle 1", *about, *added)
    else:
        opened = [part for pair in sorted(links) for part in pair]
        key = _keyed(_seed(server_seed), "pulka shuffle 2", *about, len(seeds), *added, *opened)
    deck = shuffled(key)
    return _dealt(deck[cut_at:] + deck[:cut_at], players, order)


def shuffled(key: bytes) -> tuple[int, ...]:
    """All 32 cards as numbers, the top one first, in the order that `key` makes."""
    deck = list(card_numbers(DECK))
    stream = _stream(key)
    for place in range(len(deck) - 1, 0, -1):
        other = _drawn(stream, place + 1)
        deck[place], deck[other] = deck[other], deck[place]
    return tuple(deck)


def _dealt(deck: tuple[int, ...], players: int, order: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The cards of `deck` dealt two at a time to the seats in `order`, the talon after the first round (3.2.8)."""
    masks = [0] * hand_count(players)
    talon = ""
    pairs = zip(deck[::2], deck[1::2], strict=True)
    for round_of_deal in range(5):
        for seat in order:
            first, second = next(pairs)
            masks[seat] |= 1 << first | 1 << second
        if round_of_deal == 0:
            talon = " ".join(CARDS[number] for number in next(pairs))
    return tuple(hand_text(mask) for mask in masks), talon


def _stream(key: bytes) -> Iterator[int]:
    """Random bytes without end."""
    block = 0
    while True:
        yield from _keyed(key, "pulka stream 1", block)
        block += 1


def _drawn(stream: Iterator[int], below: int) -> int:
    """A number 0..below - 1 from `stream`, each equally likely: those outside are thrown away, none is folded back."""
    mask = (1 << (below - 1).bit_length()) - 1
    while True:
        number = next(stream) & mask
        if number < below:
            return number


def _keyed(key: bytes, *parts: str | bytes | int) -> bytes:
    return hmac.digest(key, framed(*parts), "sha256")


def _seed(server_seed: str) -> bytes:
    data = bytes.fromhex(server_seed)
    if len(data) != SEED_BYTES or len(server_seed) != 2 * SEED_BYTES:
        raise ValueError("the server's seed is 32 bytes, 64 hex digits")
    return data
