"""Checks an export of a Pulka club with nothing but Python 3.9: `python3 verify.py EXPORT [--key PUBLIC_KEY]… [--json]`.

Written from the documents alone (deploy/docs/export-file.md; deploy/docs/events.md); imports nothing of Pulka's. It checks the file's
counts and digest, every table's chain of hashes, every revealed deal (the server's promise, the players' links, the shuffle from all
seeds, links and the cut, the dealt hands, what lay in the sealed boxes), who drew for seats and for the first dealer, who took which
trick, that settlements sum to nothing, and the proofs up to the signed checkpoint. Exit status: 0 all holds, 1 something is wrong and is
named, 2 no export at all, or usage, 3 all holds as far as it is here, 4 all holds and nothing that was given proves it.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import hmac
import itertools
import json
import multiprocessing
import os
import re
import sys
import zlib
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

ZEROS = "0" * 64
CONTROL = (b'{"table":', b'{"checkpoint":', b'{"proof":', b'{"end":')
TEXT = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
ENVELOPE = re.compile(  # a commit's fields in their order, up to its events: no text inside them can pass for the hash
    rb'\{"aggregate":"([a-z0-9.-]+)","revision":([1-9][0-9]*),"schema":[0-9]+,"at":([0-9]+),"actor":%b,"command_id":%b,'
    rb'"command_digest":%b,"cause":(?:null|%b),"correlation":(?:null|%b),"prev_hash":"([0-9a-f]{64})","events":\[' % ((TEXT,) * 5)
).match
LEAF = ("table", "revision", "head", "tree")
STATUSES = (
    "exit status: 0 all holds, 1 something is wrong and is named, 2 no export at all (no such file, a server's refusal), or usage, "
    "3 all holds, but a checkpoint knows more of a table in play than is here, "
    "4 all holds, and no checkpoint under a key that was given proves it"
)
LISTED = 3  # lines of one kind about one table; of more the first is told and the others are counted, for one byte can spoil a whole table
UNREADABLE = (ValueError, KeyError, TypeError, IndexError, AttributeError, StopIteration, RecursionError)  # of what is not as described

# A problem is (table or None, revision or 0, code, sentence); inside of a deal (code, sentence).


# ---- the chain: revision, aggregate and the hash of the commit before, in every commit -------------------------------------------------


def intact(subject: str, lines: list, head: str) -> list | None:
    """The commits' hashes (32 bytes each) when the chain holds from the first line to `head`; None when anything is amiss."""
    ours, before, hashes = subject.encode(), ZEROS.encode(), []
    for number, line in enumerate(lines, 1):
        found = ENVELOPE(line)
        if found is not None and line.count(b'"prev_hash"') == 1:
            told = found.group(1, 4), int(found[2])
        else:  # of a later version, with fields that this program does not know, or damaged
            commit = read_commit(line)
            told = commit and ((commit["aggregate"].encode(), commit["prev_hash"].encode()), commit["revision"])
        if told != ((ours, before), number):
            return None
        digest = hashlib.sha256(line)
        hashes.append(digest.digest())
        before = digest.hexdigest().encode()
    return hashes if before.decode() == head else None


def no_field_twice(pairs: list) -> dict:
    """A JSON object; two readers would understand different things by a field that stands twice."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field stands twice")
    return fields


def read_commit(line: bytes) -> dict | None:
    """The commit in a line, or None when it is none."""
    try:
        commit = json.loads(line.decode(), object_pairs_hook=no_field_twice)
        kinds = {"aggregate": str, "prev_hash": str, "revision": int, "at": int, "events": list}
        if all(type(commit[name]) is kind for name, kind in kinds.items()):
            return {name: commit[name] for name in kinds} | {"hash": hashlib.sha256(line).hexdigest()}
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


def written(line: bytes) -> tuple:
    """A commit, and whether it is written as documented: no blanks, no name twice in an object. Raises `ValueError` for no commit."""
    try:
        commit, once = json.loads(line, object_pairs_hook=no_field_twice), True
    except ValueError:
        commit, once = json.loads(line), False
    plain = once and json.dumps(commit, ensure_ascii=False, separators=(",", ":")).encode() == line
    return commit, plain


def wrong_in_chain(table: str, subject: str, lines: list, count: int, head: str) -> Iterator[tuple]:
    """What is wrong with a chain that does not hold, by revision. Blames as few commits as explain it."""
    chain, lost, order = {}, set(), []
    for revision, code, why in placed(subject, [read_commit(line) for line in lines], chain, lost, order):
        yield table, revision, code, why
    yield from ((table, one, "swapped", "it stands out of its place") for one in out_of_place(order))
    yield from ((table, first, "missing", why) for first, why in gaps({*chain, *lost}, count if len(lines) < count else 0))
    last = max([count if len(lines) < count else 0, *chain, *lost])
    changed = list(blamed(chain, last, head))
    yield from ((table, one, "changed", "its bytes are not those that were stored") for one in changed)
    latest = 0
    for one in sorted(chain.keys() - changed):  # the time in a changed commit proves nothing
        if chain[one]["at"] < latest:
            yield table, one, "time_back", "it is earlier than the one before"
        latest = max(latest, chain[one]["at"])


def gaps(there: set, count: int) -> Iterator[tuple]:
    """(first revision, sentence) of every run of commits that is missing, up to the last one that is there or announced."""
    ends = [*sorted(there), *([count + 1] if count > max(there, default=0) else [])]
    for before, one in zip([0, *ends], ends):
        if one - before > 1:
            yield before + 1, "this commit is missing" if one - before == 2 else f"this and all up to {one - 1} are missing"


def placed(subject: str, commits: list, chain: dict, lost: set, order: list) -> Iterator[tuple]:
    """Fills `chain` (commits by revision), `lost` (revisions where something else lies) and `order` (revisions as they lie)."""
    expected = 1
    for place, commit in enumerate(commits):
        before, after = chain.get(expected - 1), commits[place + 1] if place + 1 < len(commits) else None
        if commit is None:
            lost.add(expected)
            yield expected, "unreadable", "what stands here is no commit"
        elif commit["aggregate"] != subject and (not follows(before, commit) or (after and after["aggregate"] == commit["aggregate"])):
            lost.add(expected)
            yield expected, "foreign", f"a commit of {commit['aggregate']} stands here"
        else:
            if commit["revision"] != expected and follows(before, commit) and not links(commit, after):
                yield expected, "changed", f"it calls itself revision {commit['revision']}"
                commit["revision"] = expected
            expected = commit["revision"]
            if expected not in chain:
                order.append(expected)
                chain[expected] = commit
            else:
                yield expected, "added", "there is a second commit with this revision"
                if follows(chain.get(expected - 1), commit) and links(commit, after):
                    chain[expected] = commit
        expected += 1


def blamed(chain: dict, last: int, head: str) -> Iterator[int]:
    """The fewest revisions whose change explains every broken link, the last one being to `head`: one between two broken links, else the
    earlier end of one.
    """
    told = {one: chain[one + 1]["prev_hash"] for one in chain if one + 1 in chain}
    if last in chain:
        told[last] = head
    broken = {one for one in told if chain[one]["hash"] != told[one]}  # the link from `one` to the next is
    if 1 in chain and chain[1]["prev_hash"] != ZEROS:
        broken.add(0)
    for one in sorted(broken):
        if one + 1 in broken or one == 0:
            yield one + 1
        elif one - 1 not in broken:
            yield one


def follows(before: dict | None, commit: dict) -> bool:
    """Whether `commit` names the hash of `before`, None standing for the beginning."""
    return commit["prev_hash"] == (ZEROS if before is None else before["hash"])


def links(commit: dict, after: dict | None) -> bool:
    """Whether the next line goes on from `commit`."""
    return after is not None and after["prev_hash"] == commit["hash"]


def out_of_place(order: list) -> list:
    """The fewest numbers that must be taken out so that the others rise."""
    ends, length = [], []
    for one in order:
        place = bisect_left(ends, one)
        ends[place : place + 1] = [one]
        length.append(place + 1)
    wanted, moved = len(ends), []
    for one, reached in zip(reversed(order), reversed(length)):
        if reached == wanted:
            wanted -= 1
        else:
            moved.append(one)
    return sorted(moved)


# ---- the deals: what the server promised, and what follows from it ---------------------------------------------------------------------


def framed(*parts: str | bytes | int) -> bytes:
    """Each part behind its length in four bytes."""
    data = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in data)


def keyed(key: bytes, *parts: str | bytes | int) -> bytes:
    """HMAC-SHA-256."""
    return hmac.digest(key, framed(*parts), "sha256")


def shuffled(key: bytes) -> list:
    """The deck in the order that `key` makes, the top card first."""
    deck = [rank + suit for suit in "SCDH" for rank in "789TJQKA"]
    stream = itertools.chain.from_iterable(keyed(key, "pulka stream 1", block) for block in itertools.count())
    for last in range(31, 0, -1):
        mask = (1 << last.bit_length()) - 1
        place = next(draw for draw in (byte & mask for byte in stream) if draw <= last)
        deck[last], deck[place] = deck[place], deck[last]
    return deck


def dealt(seed: bytes, about: tuple, seeds: list, links: list | None, cut: int, players: int, dealer: int) -> tuple:
    """Hands by seat and talon, as they are revealed; `links` are None by algorithm 1."""
    added = ("pulka shuffle 1", *about, cut, *seeds) if links is None else ("pulka shuffle 2", *about, cut, len(seeds) // 2, *seeds, *links)
    deck = shuffled(keyed(seed, *added))
    cards = iter(deck[cut:] + deck[:cut])
    order = [(dealer + step) % players for step in ((1, 2, 4) if players == 5 else (1, 2, 3))]
    hands, talon = [[] for _ in range(max(3, players))], ""
    for _ in range(5):
        for seat in [1 - dealer, dealer, 2] if players == 2 else order:
            hands[seat] += [next(cards), next(cards)]
        talon = talon or " ".join([next(cards), next(cards)])
    return [" ".join(sorted(hand, key=lambda card: ("SCDH".index(card[1]), "AKQJT987".index(card[0])))) for hand in hands], talon


def promise(seed: bytes, about: tuple) -> str:
    """What the server publishes before the cut."""
    return hashlib.sha256(framed("pulka commitment 1", seed, *about)).hexdigest()


def boxed(salt: bytes, text: str) -> str:
    """The digest that stands on a sealed box."""
    return hashlib.sha256(salt + text.encode()).hexdigest()


def next_link(table: str, link: str) -> str:
    """The link behind `link` in a chain at this table, towards its end."""
    return hashlib.sha256(f"pulka link 2 {table} {link}".encode()).hexdigest()


class Chains:
    """The chains of one table: by seat, and of the server (seat None), the last known link and its round."""

    def __init__(self, table: str) -> None:
        self.table, self.known, self.players, self.round, self.opened = table, {}, [], 0, []

    def fits(self, seat: int | None, link: str) -> bool:
        """Whether `link` is that of the present round."""
        known, before = self.known.get(seat, ("", 0))
        steps = self.round - before
        for _ in range(steps if 0 < steps <= 4096 else 0):
            link = next_link(self.table, link)
        return 0 < steps <= 4096 and link == known

    def links(self) -> list | None:
        """Seat and link of each that was opened in this round, by seat; None at a table without chains."""
        return [part for pair in sorted(self.opened) for part in pair] if None in self.known else None

    def take(self, name: str, event: dict) -> Iterator[tuple]:
        """What is wrong with an event as far as chains go, and what is known after it."""
        if name == "PulkaOpened":
            self.players = event["seats"]
        elif name == "ChainsCommitted":
            self.known[None] = (event["server"], event["first"] - 1)
            self.known.update({seat: (end, event["first"] - 1) for seat, end in enumerate(event["seats"]) if end})
            if event["algorithm"] != 2:
                yield "malformed", "the shuffle is none that this program knows"
        elif name == "ChainCommitted":
            self.known[event["seat"]] = (event["end"], event["first"] - 1)
        elif name == "DealStarted":
            self.round, self.opened = event["number"], []
        elif name == "LinkOpened":
            if not self.fits(event["seat"], event["link"]):
                yield "link", f"the link of seat {event['seat']} is not that of its chain for round {self.round}"
            self.known[event["seat"]] = (event["link"], self.round)
            self.opened.append((event["seat"], event["link"]))
        elif name in ("DealRevealed", "DealerDrawn") and None in self.known:
            if not self.fits(None, event["server_seed"]):
                yield "commitment", f"the server's seed is not the link of its chain for round {self.round}"
            self.known[None] = (event["server_seed"], self.round)
        else:
            self.sit(name, event)

    def sit(self, name: str, event: dict) -> None:
        """A chain is its player's: it goes with them."""
        if name in ("LinkMissed", "SubstituteSeated"):
            self.known.pop(event["seat"], None)
        elif name == "SeatsDrawn":
            places = {player: seat for seat, player in enumerate(self.players)}
            moved = {seat: self.known.get(places.get(player)) for seat, player in enumerate(event["seats"])}
            self.known = {seat: one for seat, one in {**moved, None: self.known.get(None)}.items() if one is not None}
        elif name == "NewcomerSeated":
            self.known = {seat if seat is None or seat < event["seat"] else seat + 1: one for seat, one in self.known.items()}


def wrong_in_deal(table: str, opened: dict, deal: dict, told: dict, links: list | None) -> Iterator[tuple]:
    """What is wrong with a revealed deal; `deal` holds its events by type, `told` is `DealRevealed`, `links` as for `dealt`."""
    if not ("DeckCut" in deal and "CardsDealt" in deal) or deal["DealStarted"][0]["number"] != told["number"]:
        yield "incomplete", "a deal was revealed that was not started, cut and dealt"
        return
    started, cut = deal["DealStarted"][0], deal["DeckCut"][0]["at"]
    seed, about = bytes.fromhex(told["server_seed"]), (table, told["number"], opened["rules_digest"])
    if (started["algorithm"], len(seed), cut in range(4, 29)) != (1 if links is None else 2, 32, True):
        yield "malformed", "the shuffle is none that this program knows, the seed is not 32 bytes, or the cut not 4 to 28"
        return
    if started["commitment"] != (promise(seed, about) if links is None else next_link(table, told["server_seed"])):
        yield "commitment", "the server's seed is not the one that it had committed to"
    seeds = [part for event in deal.get("SeedAdded", ()) for part in (event["seat"], event["seed"])]
    if dealt(seed, about, seeds, links, cut, opened["players"], started["dealer"]) != (told["hands"], told["talon"]):
        yield "shuffle", "the cards are not those that seeds, cut and links give"
    for label, box, text in boxes_of(deal, told):
        salt = keyed(seed, "pulka salt 1", label)[:16]
        if (box != text) if isinstance(box, str) else (text is None or boxed(salt, text) != box["digest"]):
            yield "digest", f"what was revealed as {label} is not what was sealed"
    for label, salt in told["salts"].items():
        if salt != keyed(seed, "pulka salt 1", label)[:16].hex():
            yield "salt", f"the salt of {label} does not follow from the server's seed"
    if not all(held_at_discard(event, told) for event in deal.get("CardsDiscarded", ())[-1:]):
        yield "discard", "the discard was not in the declarer's twelve cards"


def held_at_discard(event: dict, told: dict) -> bool:
    """Whether the cards that were put away were the declarer's."""
    held = f"{told['hands'][event['seat']]} {told.get('returned', {}).get('talon', told['talon'])}".split()
    return set((told["discard"] or "").split()) <= set(held)


def boxes_of(deal: dict, told: dict) -> Iterator[tuple]:
    """(label of the salt, box, what was revealed of it): whatever the deal had sealed."""
    cards, returned = deal["CardsDealt"][0], told.get("returned", {})
    yield "server_seed", deal["DealStarted"][0]["server_seed"], told["server_seed"]
    yield "talon", cards["talon"], told["talon"]
    yield from ((f"hand:{seat}", box, told["hands"][seat]) for seat, box in enumerate(cards["hands"]))
    given_back = "TalonReturned" in deal  # by who had taken it too early (3.3.17); another one was drawn instead
    for event in deal.get("DarkTalonTaken", ()):
        yield ("returned_talon", event["cards"], returned.get("talon")) if given_back else ("talon", event["cards"], told["talon"])
    yield from (("discard", event["cards"], told["discard"]) for event in deal.get("CardsDiscarded", ())[-1:])
    yield from ((f"seen:{event['hand']}", event["cards"], told["hands"][event["hand"]]) for event in deal.get("HandSeen", ()))
    for event in deal.get("TalonReturned", ())[-1:]:
        yield from ((f"returned_{what}", event[what], returned.get(what)) for what in ("hand", "talon"))


def wrong_in_draw(table: str, opened: dict, started: dict, drawn: list, told: dict, links: list | None) -> Iterator[tuple]:
    """What is wrong with a draw for seats: cards follow from a seed, the named places and links; the lowest sits first."""
    seed, digest = bytes.fromhex(told["server_seed"]), opened["rules_digest"]
    if started["commitment"] != (promise(seed, (table, 0, digest)) if links is None else next_link(table, told["server_seed"])):
        yield "commitment", "the server's seed in the draw is not the one that it had committed to"
    if boxed(keyed(seed, "pulka salt 1", "server_seed")[:16], told["server_seed"]) != started["server_seed"]["digest"]:
        yield "digest", "the seed that was told is not the one that had been sealed"
    named = [part for event in drawn for part in (event["seat"], event["place"])]
    deck = shuffled(keyed(seed, "pulka draw 1" if links is None else "pulka draw 2", table, digest, *named, *(links or ())))
    cards = [deck[event["place"] - 1] for event in drawn]
    lowest_first = sorted(range(len(cards)), key=lambda one: ("A789TJQK".index(cards[one][0]), "SCDH".index(cards[one][1])))
    if (cards, [opened["seats"][one] for one in lowest_first]) != (told["cards"], told["seats"]):
        yield "draw", "cards or seats are not those that seed, places and links give"


def wrong_dealer(table: str, opened: dict, told: dict, links: list) -> Iterator[tuple]:
    """What is wrong with the draw for the first dealer."""
    drawn = keyed(bytes.fromhex(told["server_seed"]), "pulka dealer 2", table, opened["rules_digest"], *links)
    if int.from_bytes(drawn[:8], "big") % opened["players"] != told["seat"]:
        yield "draw", "the first dealer is not the one that follows from the links"


NOT_PLAYED_ON = {"ActTakenBack", "TricksTakenBack", "TrickForfeited", "CardGiven", "Ruled", "TalonReturned", "TalonTakenEarly", "Redealt"}


class Play:
    """A revealed deal played again: who held which card, what they had to follow, and whose the trick was."""

    def __init__(self, opened: dict, deal: dict, told: dict) -> None:
        players, self.dealer = opened["players"], deal["DealStarted"][0]["dealer"]
        steps = (1, 2, 4) if players == 5 else (1, 2, 3)
        around = [(self.dealer + step) % players for step in steps]
        self.order = [1 - self.dealer, self.dealer, 2] if players == 2 else around  # clockwise from the first hand
        self.hands, self.told = [set(hand.split()) for hand in told["hands"]], told
        self.takes_talon = players > 3 and "AllPassed" in deal and opened["convention"]["all_pass"]["talon"] == "leads"
        self.trump, self.trick, self.talon, self.turn, self.number, self.led = "", [], None, self.order[0], 0, 0

    def take(self, event: dict) -> Iterator[tuple]:
        """What the next event of the deal shows to be wrong."""
        step = {
            "TalonTaken": self.taken, "DarkTalonTaken": self.taken, "CardsDiscarded": self.discarded, "ContractDeclared": self.declared,
            "HandsLaid": self.laid, "TalonCardOpened": self.opened, "CardPlayed": self.card, "TrickWon": self.won,
        }.get(event["type"])  # fmt: skip
        yield from (step(event) if step else ())

    def taken(self, event: dict) -> Iterator[tuple]:
        """The talon, by the one who declares."""
        if event["type"] == "TalonTaken" and event["cards"].split() != self.told["talon"].split():
            yield "play", "the talon that was taken is not the one that was dealt"
        self.hands[event["seat"]] |= set(self.told["talon"].split())

    def discarded(self, event: dict) -> tuple:
        """Two cards put away; that they were held is checked with the boxes."""
        self.hands[event["seat"]] -= set((self.told["discard"] or "").split())
        return ()

    def declared(self, event: dict) -> tuple:
        """The contract, and so the trump."""
        self.trump = event["contract"][-1] if event["contract"][-1] in "SCDH" else ""
        return ()

    def laid(self, event: dict) -> Iterator[tuple]:
        """Hands that lie open."""
        for seat, hand in enumerate(event["hands"]):
            if hand is not None and set(hand.split()) != self.hands[seat]:
                yield "play", f"the hand that seat {seat} laid is not the one that they held"

    def opened(self, event: dict) -> Iterator[tuple]:
        """A talon card that leads a trick of an all-pass."""
        self.talon, self.led = event["card"], self.led + 1
        if self.told["talon"].split()[self.led - 1 : self.led] != [self.talon]:
            yield "play", f"{self.talon} was opened, and is not the next card of the talon"

    def card(self, event: dict) -> Iterator[tuple]:
        """A card: held, in turn, and of the suit that had to be followed."""
        seat, card = event["seat"], event["card"]
        hand, first = self.hands[seat], self.talon or (self.trick[0][1] if self.trick else None)
        if card not in hand:
            yield "play", f"seat {seat} played {card} and did not hold it"
        elif seat != self.turn:
            yield "play", f"seat {seat} played {card}, and it was seat {self.turn}'s turn"
        elif first is not None and card[1] != first[1]:
            suits = {one[1] for one in hand}
            if first[1] in suits or (self.trump in suits and card[1] != self.trump):
                yield "play", f"seat {seat} played {card}, and had to follow {first[1] if first[1] in suits else self.trump}"
        hand.discard(card)
        self.trick.append((seat, card))
        self.turn = self.order[(self.order.index(seat) + 1) % 3] if seat in self.order else self.turn

    def won(self, event: dict) -> Iterator[tuple]:
        """The end of a trick: the highest trump, else the highest of the suit led; a talon card takes it for a dealer who rests."""
        seat, number = event["seat"], event["number"]
        led = self.talon or self.trick[0][1]
        cards = [*self.trick, *([(self.dealer, self.talon)] if self.talon and self.takes_talon else [])]
        best = max(cards, key=lambda one: ((one[1][1] == self.trump) * 2 + (one[1][1] == led[1]), "789TJQKA".index(one[1][0])))
        self.number += 1
        if (best[0], len(self.trick), number) != (seat, 3, self.number):
            yield "trick", f"trick {number} went to seat {seat}, its highest card was seat {best[0]}'s"
        self.turn = self.order[0] if self.talon else seat
        self.trick, self.talon = [], None


def wrong_in_play(opened: dict, deal: dict, events: list, told: dict) -> Iterator[tuple]:
    """What is wrong with the cards that were played in a revealed deal; the first fault ends it, as all later ones follow from it."""
    play = Play(opened, deal, told)
    for event in events:
        found = list(play.take(event))
        if found:
            yield found[0]
            return


def wrong_outcome(opened: dict, deal: dict) -> Iterator[tuple]:
    """What is wrong with the outcome that was scored: its contract, and of three players who played all ten tricks how many each has."""
    outcome = deal["DealScored"][0]["outcome"] if "DealScored" in deal else {}
    contracts = [event["contract"] for event in deal.get("ContractDeclared", ())]
    if contracts and outcome and outcome["contract"] != contracts[-1]:
        yield "outcome", f"{contracts[-1]} was declared, and {outcome['contract']} was scored"
    tricks = [event["seat"] for event in deal.get("TrickWon", ())]
    counts = [tricks.count(seat) for seat in range(3)]
    if opened["players"] == 3 and len(tricks) == 10 and outcome.get("tricks", counts) != counts:
        yield "outcome", f"tricks went {counts}, and {outcome['tricks']} were scored"


#: Events of a move of `seat` (of a card: of `by`), when they stand first in a commit.
MOVES = {
    "SeatCardDrawn", "SeedAdded", "ChainCommitted", "LinkOpened", "DeckCut", "BidMade", "CardsDiscarded", "ContractDeclared", "WhistCalled",
    "PlayChosen", "Conceded", "ClaimMade", "ClaimAnswered", "ProposalMade", "ProposalAnswered", "MisereInvited", "InvitationAnswered",
    "GaveUpWithoutThree", "CardPlayed",
}  # fmt: skip
NOTHING = ([], {})
AFTERWARDS = {"ResultCorrected", "AnnulmentOrdered", "PulkaAnnulled", "PulkaArchived"}  # what may follow the end


class Game:
    """A table's events, one after another; `take` tells what is wrong with the next."""

    def __init__(self, table: str) -> None:
        self.table, self.revealed, self.over = table, 0, False
        self.opened, self.draw, self.drawn = {}, {}, []
        self.deal, self.events, self.number, self.unchecked, self.told = {}, [], 0, {}, []
        self.chains, self.seats, self.keys, self.latest = Chains(table), [], [], 0

    def take(self, event: dict) -> Iterator[tuple]:
        """(code, sentence) of everything that this event shows to be wrong."""
        name = event["type"]
        yield from self.chains.take(name, event)
        if name in ("DealStarted", "PulkaClosed") and self.deal:
            yield "not_revealed", f"deal {self.deal['DealStarted'][0]['number']} is over and was not revealed"
        if self.over and name not in AFTERWARDS:
            yield "after_the_end", f"{name} stands behind the end of the pulka"
        if name == "DealStarted":
            self.number += 1
            if event["number"] != self.number:
                yield "deals", f"deal {event['number']} stands where deal {self.number} belongs"
            self.number = event["number"]
            self.deal, self.events = {name: [event]}, []
        elif name == "DealRevealed":
            self.revealed += 1
            yield from wrong_in_deal(self.table, self.opened, self.deal, event, self.chains.links())
            yield from self.played(event)
            self.deal = {}
        elif self.deal:
            self.deal.setdefault(name, []).append(event)
            self.events.append(event)
        yield from self.sit(name, event)

    def played(self, told: dict) -> Iterator[tuple]:
        """The play of a deal that is revealed, where this program can follow it."""
        if self.opened.get("terms", {}).get("mode") == "adjudicated":
            self.pass_over("plays where acts against the rules are ruled on: ask `pulka audit verify FILE`")
        elif self.deal.keys() & NOT_PLAYED_ON:
            self.pass_over("plays in which something was taken back: ask `pulka audit verify FILE`")
        else:
            yield from wrong_in_play(self.opened, self.deal, self.events, told)
            yield from wrong_outcome(self.opened, self.deal)

    def signed(self, commit: dict, first: dict) -> Iterator[tuple]:
        """Whether a move of a player who registered a key is signed, at its place; of its text that it is a move of that kind."""
        seat = self.seats.index(commit["actor"]) if commit["actor"] in self.seats else None
        key, told = (self.keys[seat] if seat is not None and seat < len(self.keys) else ""), commit.get("signed")
        if not key or first["type"] == "LinkOpened":
            return
        text = f"pulka move 1 {self.table} {commit['revision']} {commit['prev_hash']} {told and told['move']}"
        if not told or not is_signed(key, text.encode(), told["signature"]):
            yield "signature", f"seat {seat} signs their moves, and has not signed this one"
            return
        move, shown = json.loads(told["move"]), {**first, "cards": None}
        if any(
            move.get(name) != shown[name] for name in ("card", "bid", "at", "call", "contract", "tricks") if name in move and name in shown
        ):
            yield "signature", f"what seat {seat} signed is not what happened"
        elif first["type"] == "CardsDiscarded" and move.get("digest") != first["cards"]["digest"]:
            yield "signature", f"seat {seat} signed another discard"

    def pass_over(self, what: str) -> None:
        """Count what this program does not check."""
        self.unchecked[what] = self.unchecked.get(what, 0) + 1

    def commit(self, commit: dict) -> Iterator[tuple]:
        """What is wrong with a commit beside its events: its time, and who made the move."""
        actor, at, events = commit["actor"], commit["at"], commit["events"]
        yield from self.signed(commit, events[0] if events else {"type": ""})
        if at < self.latest:
            yield "time_back", "it is earlier than the one before"
        self.latest = max(at, self.latest)
        first = events[0] if events else {"type": ""}
        if first["type"] == "TurnTimedOut" and actor != "clock":
            yield "actor", f"a turn ran out, and {actor} says so in place of the clock"
        if first["type"] in MOVES and actor not in ("service", "clock") and self.opened.get("terms", {}).get("mode") != "adjudicated":
            seat = first["by"] if first["type"] == "CardPlayed" else first["seat"]
            if self.seats[seat : seat + 1] != [actor]:
                yield "actor", f"{actor} made a move of seat {seat}, where they do not sit"
        if first["type"] in MOVES and first["type"] != "LinkOpened" and actor == "service":
            yield "actor", "the service made a player's move"

    def sit(self, name: str, event: dict) -> Iterator[tuple]:
        """Who sits there, on what terms, and how it ended."""
        if name == "PulkaOpened":
            yield from self.begin(event)
        elif name in ("NewcomerSeated", "SubstituteSeated", "SeatDrawStarted", "SeatCardDrawn", "KeysRegistered"):
            self.join(name, event)
        elif name == "SeatsDrawn":
            yield from wrong_in_draw(self.table, self.opened, self.draw, self.drawn, event, self.chains.links())
            own = dict(zip(self.seats, self.keys))
            self.seats, self.keys = list(event["seats"]), [own.get(player, "") for player in event["seats"]]
        elif name == "DealerDrawn":
            yield from wrong_dealer(self.table, self.opened, event, self.chains.links() or [])
        elif name in ("ResultCorrected", "PulkaAnnulled"):
            self.told.append(f"{'corrected' if name == 'ResultCorrected' else 'annulled'} by {event['author']}: {event['reason']}")
        elif name in ("PulkaClosed", "PulkaRecorded", "PulkaRefused"):
            self.over = True
            if name != "PulkaRefused" and (sum(map(Fraction, event["settlement"]["net"])) or sum(event["settlement"]["rounded"])):
                yield "zero_sum", "the settlement does not sum to nothing"

    def begin(self, event: dict) -> Iterator[tuple]:
        """The terms, which the digest in every commitment covers."""
        if self.opened:
            yield "opened_again", "the pulka is opened a second time"
        self.opened, self.seats = dict(event), list(event["seats"])
        agreed = {one: event[one] for one in ("convention", "players", "target", "terms")}
        text = json.dumps(agreed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        if hashlib.sha256(text.encode()).hexdigest() != event["rules_digest"]:
            yield "rules_digest", "the digest in every commitment is not that of these terms"

    def join(self, name: str, event: dict) -> None:
        """Who sits there from now on, and who drew what."""
        if name == "NewcomerSeated":
            self.opened.update(players=len(event["seats"]), rules_digest=event["rules_digest"])
            self.seats = list(event["seats"])
            self.keys[event["seat"] : event["seat"]] = [""] if self.keys else []
        elif name == "SubstituteSeated":
            self.seats[event["seat"]] = event["player"]
            self.keys[event["seat"] : event["seat"] + 1] = [""] if self.keys else []
        elif name == "KeysRegistered":
            self.keys = list(event["keys"])
        elif name == "SeatDrawStarted":
            self.draw = event
        else:
            self.drawn.append(event)


def check_table(table: str, lines: list, count: int, head: str) -> tuple:
    """(problems, hashes or None, revealed deals, whether it is over, what is told besides and what was not checked) of one table; one that
    cannot be read is not said to go on.
    """
    subject = f"table.{table.partition('-')[0]}.{table}"
    hashes = intact(subject, lines, head)
    if hashes is None:
        found = sorted(set(wrong_in_chain(table, subject, lines, count, head)), key=lambda one: one[1])
        return found or [(table, 0, "changed", "the line about this table is not that of its commits")], None, 0, True, NOTHING
    if len(lines) != count:
        return [(table, 0, "changed", f"{count} commits are announced and {len(lines)} are here")], None, 0, True, NOTHING
    game, problems, revision = Game(table), [], 0
    for revision, line in enumerate(lines, 1):
        try:
            commit, plain = written(line)
        except UNREADABLE:
            problems.append((table, revision, "unreadable", "what stands here is no commit"))
            return problems, b"".join(hashes), game.revealed, True, (game.told, game.unchecked)
        try:
            if not plain:
                problems.append(
                    (table, revision, "form", "it has blanks, or a name twice in one object: two readers may read it in two ways")
                )
            problems += [(table, revision, code, why) for code, why in game.commit(commit)]
            problems += [(table, revision, code, why) for event in commit["events"] for code, why in game.take(event)]
        except UNREADABLE as wrong:
            problems.append((table, revision, "malformed", f"an event cannot be understood ({type(wrong).__name__}: {wrong})"))
    return problems, b"".join(hashes), game.revealed, game.over, (game.told, game.unchecked)


# ---- trees and signatures --------------------------------------------------------------------------------------------------------------


def leaf_hash(entry: bytes) -> bytes:
    """A leaf of a Merkle tree (RFC 6962)."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """A node of a Merkle tree."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def tree_root(entries: list) -> str:
    """The root over all entries, hex."""
    level = [leaf_hash(entry) for entry in entries]
    while len(level) > 1:
        odd = level[len(level) - len(level) % 2 :]
        level = [node_hash(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)] + odd
    return level[0].hex()


def root_from(entry: bytes, path: dict) -> str:
    """The root to which a path leads from an entry, hex; raises `ValueError` for a path of no tree."""
    place, last, top, beside = path["place"], path["count"] - 1, leaf_hash(entry), [bytes.fromhex(one) for one in path["beside"]]
    if not 0 <= place <= last:
        raise ValueError("no place in the tree")
    while last:
        if place < last or place % 2:
            if not beside:
                raise ValueError("the path is too short")
            top = node_hash(beside.pop(0), top) if place % 2 else node_hash(top, beside.pop(0))
        place, last = place // 2, last // 2
    if beside:
        raise ValueError("the path is too long")
    return top.hex()


PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE_D = -121665 * pow(121666, -1, PRIME) % PRIME
ROOT_OF_MINUS_1 = pow(2, (PRIME - 1) // 4, PRIME)


def add(one: tuple, two: tuple) -> tuple:
    """The sum of two points of edwards25519, each (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z (RFC 8032, 5.1.4)."""
    a = (one[1] - one[0]) * (two[1] - two[0]) % PRIME
    b = (one[1] + one[0]) * (two[1] + two[0]) % PRIME
    c, d = 2 * one[3] * two[3] * CURVE_D % PRIME, 2 * one[2] * two[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def times(number: int, point: tuple) -> tuple:
    """`point` added to itself so many times."""
    total = (0, 1, 1, 0)
    while number:
        if number & 1:
            total = add(total, point)
        point, number = add(point, point), number >> 1
    return total


def point_of(data: bytes) -> tuple:
    """The point that 32 bytes stand for (RFC 8032, 5.1.3); raises `ValueError` when they stand for none."""
    number = int.from_bytes(data, "little")
    y, odd = number & (1 << 255) - 1, number >> 255
    if len(data) != 32 or y >= PRIME:
        raise ValueError("no point")
    square = (y * y - 1) * pow(CURVE_D * y * y + 1, -1, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * ROOT_OF_MINUS_1 % PRIME
    if (x * x - square) % PRIME or (x == 0 and odd):
        raise ValueError("no point")
    x = PRIME - x if x & 1 != odd else x
    return x, y, 1, x * y % PRIME


BASE = point_of((4 * pow(5, -1, PRIME) % PRIME).to_bytes(32, "little"))


def is_signed(public: str, message: bytes, signature: str) -> bool:
    """Whether an Ed25519 signature holds (RFC 8032, 5.1.7); key and signature in hex."""
    try:
        key, signed = bytes.fromhex(public), bytes.fromhex(signature)
        first, whose, scalar = point_of(signed[:32]), point_of(key), int.from_bytes(signed[32:], "little")
    except ValueError:
        return False
    if len(signed) != 64 or scalar >= ORDER:
        return False
    asked = int.from_bytes(hashlib.sha512(signed[:32] + key + message).digest(), "little") % ORDER
    left, right = times(scalar, BASE), add(first, times(asked, whose))
    return (left[0] * right[2] - right[0] * left[2]) % PRIME == 0 == (left[1] * right[2] - right[1] * left[2]) % PRIME


def leaf_entry(leaf: list) -> bytes:
    """What is hashed as a table's leaf in the checkpoint's tree."""
    return json.dumps(dict(zip(LEAF, leaf)), separators=(",", ":")).encode()


def wrong_checkpoint(line: dict, keys: tuple) -> Iterator[tuple]:
    """What is wrong with a checkpoint's signature, which one of `keys` must have made; none: whichever it names. Its header too."""
    header = json.loads(line["signed"])
    if keys and header["key"] not in keys:
        yield (None, 0, "checkpoint_key", f"checkpoint {header['number']} is signed by another key, {header['key']}")
    if not is_signed(header["key"], line["signed"].encode(), line["signature"]):
        yield (None, 0, "checkpoint_signature", f"the signature of checkpoint {header['number']} does not hold")


def wrong_leaf(leaf: list, kept: dict, cut: dict) -> Iterator[tuple]:
    """What of a table as this file has it is not as the checkpoint has it; `kept` are hashes by table. A table in `cut` may end early: its
    place there takes the revision up to which the checkpoint knows it.
    """
    table, revision, head, tree = leaf
    hashes = kept[table]
    if hashes is None:
        return  # its own chain is broken, which has been said
    found = [hashes[at : at + 32] for at in range(0, len(hashes), 32)][:revision]
    if len(found) < revision and table in cut:
        cut[table] = revision
    elif len(found) < revision:
        yield (table, len(found) + 1, "missing", f"the checkpoint has {revision} commits, this file {len(found)}")
    elif found[-1].hex() != head:
        yield (table, revision, "changed", "up to this revision the table is not the one in the checkpoint")
    elif tree_root(found) != tree:
        yield (table, 0, "checkpoint_tree", "the checkpoint's tree over this table is not that of its commits")


def wrong_proof(proof: dict, header: dict | None, kept: dict, cut: dict) -> Iterator[tuple]:
    """What is wrong with the proof that a table is in the checkpoint."""
    table, path = proof["leaf"][0], proof["path"]
    try:
        if header is None or table not in kept:
            yield (table, 0, "proof", "a proof without its checkpoint or its table")
        elif path["count"] != header["tables"] or root_from(leaf_entry(proof["leaf"]), path) != header["root"]:
            yield (table, 0, "proof", "this proof does not lead to the checkpoint's root")
        else:
            yield from wrong_leaf(proof["leaf"], kept, cut)
    except ValueError as wrong:
        yield (table, 0, "proof", f"this is no proof ({wrong})")


# ---- the file --------------------------------------------------------------------------------------------------------------------------


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a plain or compressed file."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        yield from gzip.GzipFile(fileobj=file) if packed else file


class Export:
    """One reading of a file: `tables()` hands out each table's lines, `others` has what stands behind them, `problems` what is wrong."""

    def __init__(self, path: Path) -> None:
        self.path, self.others, self.problems = path, [], []
        self.count, self.commits, self.digest, self.ended, self.hidden = 0, 0, hashlib.sha256(), False, set()

    def tables(self) -> Iterator[tuple]:
        """(table, its lines, how many are announced, head), one after another."""
        told, lines = None, []
        try:
            for number, line in enumerate(lines_of(self.path), 1):
                control = self.read(number, line) if line.startswith(CONTROL) or number == 1 or self.ended else None
                if control is None and told is not None and not self.ended:
                    self.commits += 1
                    lines.append(line.rstrip(b"\n"))
                elif control is None and number > 1:
                    self.wrong(number, "this line belongs to no table")
                elif told is not None:
                    yield told["table"], lines, told["commits"], told["head"]
                    told = None
                if control is not None and "table" in control:
                    self.count, told, lines = self.count + 1, control, []
                self.digest.update(line)
        except (OSError, EOFError, zlib.error) as damaged:
            self.wrong(0, f"the file cannot be read to its end ({damaged})")
        if told is not None:
            yield told["table"], lines, told["commits"], told["head"]
        if not self.ended:
            self.wrong(0, "the file is cut off: its last line is missing")

    def read(self, number: int, line: bytes) -> dict | None:
        """A line that is no commit; None when it is damaged, or not what stands there."""
        try:
            read = json.loads(line)
            if number == 1:
                fine = read["pulka_export"] == 1
            elif "table" in read:
                fine = [type(read[name]) for name in ("table", "commits", "head")] == [str, int, str] and not self.others
            else:
                fine = not self.ended
        except UNREADABLE:
            fine = False
        if not fine:
            self.wrong(number, "this line cannot be read, or nothing of the kind stands here in this format")
            return None
        if "end" in read:
            self.ended = True
            if read["end"] != {"tables": self.count, "commits": self.commits, "sha256": self.digest.hexdigest()}:
                self.wrong(number, "counts or digest are not those of this file")
        elif "checkpoint" in read or "proof" in read:
            self.others.append(read)
        elif read.get("hidden") is True:
            self.hidden.add(read["table"])
        return read

    def wrong(self, number: int, why: str) -> None:
        """Note what is wrong with the file itself."""
        self.problems.append((None, 0, "file", f"line {number}: {why}" if number else why))


def results(export: Export, processes: int) -> Iterator[tuple]:
    """(table, what `check_table` says), in the file's order, several tables at a time and never many in memory."""
    if processes < 2:
        yield from ((table[0], check_table(*table)) for table in export.tables())
        return
    with multiprocessing.Pool(processes) as pool:
        waiting = deque()
        for table in export.tables():
            waiting.append((table[0], pool.apply_async(check_table, table)))
            if len(waiting) > 2 * processes:
                name, result = waiting.popleft()
                yield name, result.get()
        yield from ((name, result.get()) for name, result in waiting)


class Verdict:
    """What was found in a file, and what it was held against."""

    def __init__(self) -> None:
        self.kept, self.problems, self.deals, self.header, self.proved = {}, [], 0, None, 0
        self.going_on, self.signed, self.cut, self.told, self.unchecked, self.text = [], False, {}, [], {}, ""

    def table(self, table: str, result: tuple, *, hidden: bool) -> None:
        """One table's result; `hidden`: the file says that commits of a deal in play are left out."""
        found, hashes, deals, over, (told, unchecked) = result
        self.told += [f"{table} was {what}" for what in told]
        for what, count in unchecked.items():
            self.unchecked[what] = self.unchecked.get(what, 0) + count
        if table in self.kept:
            self.problems.append((table, 0, "added", "the file has this table twice"))
        self.kept[table] = hashes
        self.problems += found
        self.deals += deals
        if not over:
            self.going_on.append(table)
            self.cut.update({table: None} if hidden else {})

    def other(self, other: dict, keys: tuple) -> None:
        """The checkpoint, or a proof."""
        if "checkpoint" in other:
            self.sign(other["checkpoint"], keys)
        else:
            self.held(other["proof"]["leaf"][0], list(wrong_proof(other["proof"], self.header, self.kept, self.cut)))

    def against(self, known: dict, keys: tuple) -> None:
        """A checkpoint that was kept elsewhere: its file, or as HTTP gives it, without leaves."""
        if "leaves" not in known:
            self.same(known, keys)
            return
        self.sign(known, keys)
        entries = list(map(leaf_entry, known["leaves"]))
        if (len(entries), tree_root(entries)) != (self.header["tables"], self.header["root"]):
            self.signed = False
            self.problems.append((None, 0, "checkpoint_root", "the leaves are not those that were signed"))
        self.proved = 0  # by this one, which says the same of the tables or more
        for leaf in known["leaves"]:
            if leaf[0] in self.kept:
                self.held(leaf[0], list(wrong_leaf(leaf, self.kept, self.cut)))

    def same(self, known: dict, keys: tuple) -> None:
        """A checkpoint without leaves proves no table; it shows whether the club tells the same of it as it did."""
        found, header = list(wrong_checkpoint(known, keys)), json.loads(known["signed"])
        self.problems += found
        ours = self.header if isinstance(self.header, dict) else {}
        if not found and ours.get("number") == header["number"] and self.text != known["signed"]:
            self.problems.append((None, 0, "checkpoint_other", f"checkpoint {header['number']} is another one than the one that was kept"))
        elif not found and ours.get("number") == header["number"] + 1:
            before = hashlib.sha256(known["signed"].encode()).hexdigest()
            if ours.get("previous") != before:
                self.problems.append((None, 0, "checkpoint_previous", "the checkpoint here does not follow from the one that was kept"))
        elif not found and ours.get("number") != header["number"]:
            self.told.append(f"not compared: checkpoint {header['number']} was kept, and here is {ours.get('number', 'none')}")

    def sign(self, checkpoint: dict, keys: tuple) -> None:
        """The checkpoint that tables are held against from here on; only one whose signature holds proves anything."""
        self.header, self.text = json.loads(checkpoint["signed"]), checkpoint["signed"]
        found = list(wrong_checkpoint(checkpoint, keys))
        self.problems += found
        self.signed = not found

    def held(self, table: str, found: list) -> None:
        """A table was held against a checkpoint; one whose chain is broken is not proved by anything."""
        self.problems += found
        self.proved += self.signed and not found and self.kept.get(table) is not None and self.cut.get(table) is None


def check(path: str, keys: tuple = (), against: str | None = None, processes: int = 1) -> dict:
    """The verdict on a file, as `--json` prints it. `keys`: the club's public keys, in hex; a club that changes its key has several."""
    export, verdict = Export(Path(path)), Verdict()
    for table, result in results(export, processes):
        verdict.table(table, result, hidden=table in export.hidden)
        if sys.stderr.isatty():
            print(f"\r{len(verdict.kept)} tables, {export.commits} commits", end="\r", file=sys.stderr)
    try:
        for other in export.others:
            verdict.other(other, keys)
    except UNREADABLE as wrong:
        verdict.problems.append((None, 0, "checkpoint_unreadable", f"checkpoint or proof cannot be read ({type(wrong).__name__})"))
    try:
        if against is not None:
            verdict.against(json.loads(Path(against).read_text(encoding="utf-8")), keys)
    except UNREADABLE as wrong:
        verdict.problems.append((None, 0, "checkpoint_unreadable", f"{against} is no checkpoint ({type(wrong).__name__})"))
    if keys and verdict.header is None:
        verdict.problems.append((None, 0, "checkpoint_missing", "a key was given, and nothing here is signed by any"))
    problems = [dict(zip(("table", "revision", "code", "message"), problem)) for problem in export.problems + verdict.problems]
    header = verdict.header if isinstance(verdict.header, dict) else None
    about = header and {**{name: header.get(name) for name in ("number", "at", "key")}, "tables": verdict.proved}
    counts = {"tables": len(verdict.kept), "commits": export.commits, "deals": verdict.deals}
    beyond = {table: revision for table, revision in verdict.cut.items() if revision is not None}
    goes_on = {"going_on": verdict.going_on, "not_compared": beyond}
    proved = bool(keys) and not problems and verdict.proved == len(verdict.kept)
    beside = {"proved": proved, "told": verdict.told, "not_checked": verdict.unchecked}
    return {"verified": not problems, **counts, **goes_on, "checkpoint": about, **beside, "problems": problems}


def refused(path: Path) -> str | None:
    """What there is in place of an export: nothing, a server's problem document (RFC 9457), another's JSON or text, a page for people."""
    with path.open("rb") as file:
        begin = file.read(65_536).strip()  # bytes; a problem document has some hundred
    if begin[:2] == b"\x1f\x8b" or b'"pulka_export":' in begin or b'"table":' in begin:
        return None  # an export, be it a damaged one
    try:
        told = json.loads(begin)
    except UNREADABLE:
        told = None
    if isinstance(told, dict) and "code" in told:
        return f"the server refused: {told['code']}: {told.get('detail')}"
    if begin[:1] == b"{" and b'"signed":' in begin:
        return "it is a checkpoint, which tables are held against with --against"
    kinds = {b"": "it is empty", b"<": "it is a page for people"}
    return kinds.get(begin[:1], "it holds one piece of JSON, and that is another's" if told is not None else "it is another's text")


def main() -> int:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], epilog=STATUSES)
    options.add_argument("export", help="the file, .ndjson or .ndjson.gz")
    options.add_argument(
        "--key",
        action="append",
        default=[],
        help="the club's public key, 64 hex digits, that signed the checkpoint; repeat it for several",
    )
    options.add_argument("--against", help="a checkpoint's file that was kept elsewhere: the tables must be as they are in it")
    options.add_argument("--json", action="store_true", help="answer by one JSON object")
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="tables checked at a time")
    chosen = options.parse_args()
    if not all(re.fullmatch("[0-9a-fA-F]{64}", key) for key in chosen.key):
        options.error("--key: a public key is 64 hex digits")
    for path in map(Path, filter(None, (chosen.export, chosen.against))):
        if not path.is_file():
            options.error(f"{path} is a folder" if path.is_dir() else f"no such file: {path}")
    if (told := refused(Path(chosen.export))) is not None:
        options.error(f"{chosen.export} is no export: {told}")
    verdict = check(chosen.export, tuple(key.lower() for key in chosen.key), chosen.against, chosen.processes)
    if chosen.json:
        print(json.dumps(verdict, ensure_ascii=False))
    else:
        tell(verdict)
    return 1 if not verdict["verified"] else 3 if verdict["not_compared"] else 0 if verdict["proved"] else 4


def counted(number: int, noun: str) -> str:
    """So many of them: "1 table", "2 tables"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(lines: list) -> list:
    """The lines, or of many the first and how many more there are."""
    return lines if len(lines) <= LISTED else [lines[0], f"  and {len(lines) - 1} more"]


def tell(verdict: dict) -> None:
    """The verdict in words."""
    kinds = {}
    for wrong in verdict["problems"]:
        where = f"{wrong['table']} revision {wrong['revision']}: " if wrong["table"] else ""
        kinds.setdefault((wrong["table"], wrong["code"]), []).append(f"{where}{wrong['code']}: {wrong['message']}")
    goes_on = [f"{table} goes on: checked as far as it is here" for table in verdict["going_on"]]
    unseen = [
        f"{table} is in the checkpoint up to revision {revision}; here a deal in play is left out, as it says: compare it when that is over"
        for table, revision in verdict["not_compared"].items()
    ]
    beside = [f"not checked: {count} {what}" for what, count in verdict["not_checked"].items()]
    beside += ["not checked: the entries of each deal, the sheet and the settlement, but for its sum"]
    for lines in (*kinds.values(), goes_on, unseen, verdict["told"]):
        print("".join(f"{line}\n" for line in listed(lines)), end="")
    print("\n".join(beside))
    counts = counted(verdict["tables"], "table"), counted(verdict["commits"], "commit"), counted(verdict["deals"], "revealed deal")
    print(", ".join(counts))
    about = verdict["checkpoint"]
    if about and about["tables"]:
        print(f"checkpoint {about['number']}, signed by key {about['key']}, proves {about['tables']} of them")
    elif about:
        print(f"checkpoint {about['number']} proves none of them")
    else:
        print("no checkpoint: nothing proves that no end is missing, or that it was not all written anew")
    beyond = len(verdict["not_compared"])
    if not verdict["verified"]:
        print("NOT OK")
    elif beyond:
        print(f"OK but for the ends of {counted(beyond, 'table')}, not compared")
    elif verdict["proved"]:
        print("OK")
    else:
        print("OK as far as it goes: nothing that you gave proves that this is the whole story, and the first one told; see --key")


if __name__ == "__main__":
    sys.exit(main())
