"""A small table, told in events: four players, one deal with everything in it that is ever sealed.

Always the same, so that what it stores can be frozen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

from shared.events import address
from shared.events.commit import FIRST_PREV_HASH, SCHEMA, Commit, encode, hash_of
from shared.events.keys import MasterKeys
from shared.events.sealing import TableCodec
from shared.rules.deck import shuffle
from shared.rules.language import game_events as game

KEYS = MasterKeys((("corpus", bytes(range(32))),))
CODEC = TableCodec(KEYS)
TABLE = address.table("3-" + "ab" * 13)
SERVER_SEED = hashlib.sha256(b"a server's seed").hexdigest()
RULES_DIGEST = hashlib.sha256(b"the rules of this table").hexdigest()
SEEDS = ((2, "c0ffee"), (1, "0"))
CUT_AT = 11
DEALER, DECLARER, PLAYERS = 0, 1, 4
BEGAN = 1_764_000_000_000


def cards() -> tuple[tuple[str, ...], str]:
    """The hands and the talon of the one deal."""
    return shuffle.deal_cards(SERVER_SEED, TABLE.id, 1, RULES_DIGEST, SEEDS, CUT_AT, PLAYERS, DEALER)


def salt(label: str) -> str:
    return shuffle.salt(SERVER_SEED, label)


def discard() -> str:
    """Two cards of the declarer's hand."""
    return " ".join(cards()[0][DECLARER].split()[-2:])


def opening() -> game.PulkaOpened:
    return game.PulkaOpened(
        {"preset": "sochi"}, RULES_DIGEST, PLAYERS, 10, ("north", "east", "south", "west"), DEALER, {"mode": "enforced"}
    )


def started() -> game.DealStarted:
    promise = shuffle.commitment(SERVER_SEED, TABLE.id, 1, RULES_DIGEST)
    return game.DealStarted(1, DEALER, promise, shuffle.ALGORITHM, SERVER_SEED)


def dealt() -> game.CardsDealt:
    hands, talon = cards()
    salts = (*(salt(shuffle.hand_label(seat)) if hands[seat] else "" for seat in range(PLAYERS)), salt(shuffle.TALON))
    return game.CardsDealt(hands, talon, 1, salts)


def revealed() -> game.DealRevealed:
    hands, talon = cards()
    labels = (*(shuffle.hand_label(seat) for seat in (1, 2, 3)), shuffle.TALON, shuffle.DISCARD, shuffle.seen_label(2))
    return game.DealRevealed(1, SERVER_SEED, hands, talon, discard(), {label: salt(label) for label in labels})


def before_reveal() -> list[tuple[game.Event, ...]]:
    """What each commit up to the end of the play holds."""
    hands, talon = cards()
    led = hands[DECLARER].split()[0]
    return [
        (opening(),),
        (started(),),
        (game.SeedAdded(2, "c0ffee"),),
        (game.SeedAdded(1, "0"),),
        (game.DeckCut(3, CUT_AT), dealt()),
        (game.BidMade(1, "6S"),),
        (game.BidMade(2, "pass"),),
        (game.BidMade(3, "pass"), game.AuctionWon(1, "6S"), game.TalonTaken(1, talon)),
        (game.CardsDiscarded(1, discard(), 1, salt(shuffle.DISCARD)),),
        (game.ContractDeclared(1, "6S"),),
        (game.WhistCalled(2, "pass"),),
        (game.WhistCalled(3, "pass"),),
        (game.HandSeen(0, 2, hands[2], 1, salt(shuffle.seen_label(2))),),
        (game.WhistCalled(0, "whist"), game.PlayChosen(0, open=True), game.HandsLaid((None, None, hands[2], hands[3]))),
        (game.TurnTimedOut(1, BEGAN + 40_000), game.CardPlayed(1, led, 1)),
        (game.TrickWon(1, 1),),
    ]


def whole() -> list[tuple[game.Event, ...]]:
    """What each commit of the table holds, to the end."""
    score = game.DealScored({"made": True}, ({"seat": 1, "column": "pool", "amount": 2, "rule": "4.1.1"},))
    return [*before_reveal(), (score, revealed(), game.PulkaClosed("all_closed", {"rounded": [-3, 9, -3, -3]}))]


def stored(
    told: Iterable[Sequence[game.Event]],
    *,
    codec: TableCodec = CODEC,
    table: address.Address = TABLE,
    began: int = BEGAN,
    actor: Callable[[Sequence[game.Event]], str] = lambda _: "service",
) -> list[bytes]:
    """The commits of a table, chained, as they lie in the log; `actor` says of a commit's events who made it."""
    lying: list[bytes] = []
    before = FIRST_PREV_HASH
    for revision, events in enumerate(told, 1):
        entropy = hashlib.sha256(b"entropy %d" % revision).digest()
        commit = Commit(
            aggregate=table.subject,
            revision=revision,
            schema=SCHEMA,
            at=began + 1000 * revision,
            actor=actor(events),
            command_id=f"command-{revision}",
            command_digest=hashlib.sha256(b"payload %d" % revision).hexdigest(),
            cause=None,
            correlation=None,
            prev_hash=before,
            events=codec.seal(table, tuple(events), entropy),
        )
        lying.append(encode(commit))
        before = hash_of(lying[-1])
    return lying
