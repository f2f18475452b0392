"""What a built-in player agrees to: claims that he can prove, proposals that cost him nothing; and that what he proves is so."""

import random
from functools import reduce

import msgspec
import pytest

from services.bots.agreeing import answer, remedy, safe_misere, sure_tricks
from services.bots.player import choose
from services.bots.recollection import Memory
from services.bots.sight import HIGHER
from services.table.table import Table
from services.table.view import view
from shared.rules.convention.options import PRESETS
from shared.rules.deal.decider import decide, evolve, legal_moves
from shared.rules.deck.cards import CARD_NUMBER, CARDS, card_numbers, mask_of
from shared.rules.language.moves import AnyMove, Claim, Play, Propose
from shared.rules.pulka import decider as match
from tests.rules.words import after
from tests.rules.words import table as dealt_table
from tests.services.bots.offline import dealt, hidden_in, play, seen_by

NEW = Memory()


def seen(**changed):
    """What a defender at seat 1 sees of a six spades that seat 0 plays, claim and hand of his shown."""
    return {
        "seat": 1, "players": 3, "dealer": 2, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"],
        "hands": ["AS KS QS JS TS 9S AD KD AH KH", "8S 7S AC KC QC JC TC 9C QD JD", None], "tricks": [0, 0, 0],
        "trick": {"number": 1, "leader": None, "talon": None, "cards": []}, "last_trick": None,
        "pending": {"what": "claim", "seat": 0, "tricks": 10, "line": [], "asked": [1]},
    } | changed  # fmt: skip


def accepts(view, memory=NEW):
    return answer(view, memory)["accept"]


def claim(**changed):
    return {"what": "claim", "seat": 0, "tricks": 10, "line": [], "asked": [1]} | changed


@pytest.mark.parametrize(
    ("hand", "contract", "sure"),
    [
        ("AS KS QS JS TS 9S AD KD AH KH", "6S", 10),
        ("AS KS QS JS TS 9S AD KD AH KH", "6NT", 10),  # six tops, then two and two
        ("AS KS 9S 8S 7S AD KD QD AH KH", "6S", 2),  # three trumps are out, two tops do not draw them if they lie together
        ("AS KS QS JS 8S 7S AD KD AH KH", "6S", 10),  # four are out, four tops draw them
        ("AS KS QS JS 8S 7S QD JD AH KH", "6S", 8),
        ("KS QS JS TS 9S 8S AD KD AH KH", "6S", 0),  # the ace of trumps is out
        ("KS QS JS TS 9S 8S AD KD AH KH", "6NT", 4),
    ],
)
def test_tops_are_sure_once_trumps_are_drawn(hand, contract, sure):
    """Tricks from the lead that stand whoever holds the rest."""
    view = seen(contract=contract, hands=[hand, None, None])
    assert sure_tricks(view, 0, NEW) == sure
    assert accepts(view | {"pending": claim(tricks=sure)})
    assert not accepts(view | {"pending": claim(tricks=sure + 1)})


def test_who_is_not_on_lead_has_nothing_sure():
    """In the middle of a trick nothing is proved."""
    trick = {"number": 1, "leader": 2, "talon": None, "cards": [[2, "9D"]]}
    assert sure_tricks(seen(trick=trick), 0, NEW) == 0
    assert accepts(seen(trick=trick, pending=claim(tricks=0)))


def test_who_claims_while_another_hand_leads_has_nothing_sure():
    """Of a player with two hands only the one on lead could cash its tops."""
    last = {"number": 1, "leader": 0, "talon": None, "cards": [[0, "7C"], [1, "8C"], [2, "9C"]], "winner": 2}
    held = {"hands": [None, "AS KS QS JS TS 9S AD KD AH", None], "contract": "6NT", "seat": 0}
    assert sure_tricks(seen(**held, last_trick=last), 1, NEW) == 0
    assert sure_tricks(seen(**held, last_trick=last | {"winner": 1}), 1, NEW) == 9


def test_open_hands_say_how_long_the_trumps_last():
    """Three trumps that lie two and one fall in two rounds, which nobody knows while the hands are closed."""
    hands = ["AS KS 9S 8S 7S AD KD QD AH KH", "QS JS AC KC QC JC TC 9C 9D 8D", "TS JD TD 7D QH JH TH 9H 8H 7H"]
    assert sure_tricks(seen(hands=hands), 0, NEW) == 10
    assert sure_tricks(seen(hands=[hands[0], hands[1], None]), 0, NEW) == 2


def test_what_two_whisters_would_have_to_share_is_refused():
    """Of a pair's rest nobody can say whose it is."""
    pair = {"calls": [None, "whist", "whist"]}
    assert accepts(seen(**pair))
    assert not accepts(seen(**pair, pending=claim(tricks=9)))


def test_a_whisters_claim_is_answered_by_the_declarer_only():
    """To the other whister it leaves nothing."""
    held = {"hands": [None, "AS KS QS JS TS 9S AD KD AH KH", None], "contract": "6NT", "last_trick": {"winner": 1}}
    asks = claim(seat=1, tricks=4)
    assert accepts(seen(**held, seat=0, pending=asks))
    assert not accepts(seen(**held, seat=2, calls=[None, "whist", "whist"], pending=asks))


HARMLESS = {"older_trick": True, "pause": True, "stop_pulka": True, "takeback": False, "bargain": False}


@pytest.mark.parametrize(("what", "accept"), HARMLESS.items())
def test_proposals_that_hurt_nobody_are_accepted(what, accept):
    """A pause, a look, the end of a pulka; nothing that could cost him."""
    assert accepts(seen(pending={"what": what, "seat": 0, "asked": [1]})) is accept


@pytest.mark.parametrize(
    ("seat", "calls", "tricks", "accept"),
    [
        (0, [None, "whist", "pass"], [7, 1, 2], True),
        (0, [None, "whist", "pass"], [6, 2, 2], False),
        (1, [None, "whist", "pass"], [3, 4, 3], True),
        (1, [None, "whist", "pass"], [4, 3, 3], False),
        (1, [None, "whist", "whist"], [3, 5, 2], True),
        (1, [None, "whist", "whist"], [3, 4, 3], False),
    ],
)
def test_a_settlement_that_leaves_him_everything_is_accepted(seat, calls, tricks, accept):
    """What is still to come is all his, so that he could not do better (3.9.22)."""
    pending = {"what": "settle_contract", "seat": 2, "tricks": tricks, "asked": [seat]}
    assert accepts(seen(seat=seat, calls=calls, tricks=[3, 1, 2], pending=pending)) is accept


def named(cards, trick=(), **changed):
    """The card of the declarer's that a defender names, of those that may be named."""
    legal = [{"type": "remedy", "choice": "card", "card": card} for card in cards.split()] + [{"type": "remedy", "choice": "pass"}]
    asks = {"what": "remedy", "of": 0, "choices": ["card", "pass"], "cards": cards.split(), "rule": "3.9.14.4", "asked": [1]}
    table = {"number": 3, "leader": trick[0][0] if trick else None, "talon": None, "cards": list(trick)}
    return remedy(seen(**{"pending": asks, "legal": legal, "trick": table} | changed))["card"]


@pytest.mark.parametrize(
    ("cards", "trick", "contract", "card"),
    [
        ("AS KS 9D", (), "6S", "9D"),  # led to the queen of diamonds that he holds
        ("8D 9D", (), "6S", "8D"),
        ("AS KS", (), "6S", "KS"),  # nothing beats it: the least of them
        ("KD 7D", ((1, "AD"),), "6S", "KD"),  # a king under the ace
        ("KD 7D", ((1, "QD"),), "6S", "7D"),  # but not a king that takes
        ("9S TS", ((1, "QD"),), "6S", "TS"),  # every trump takes: the higher one
        ("KD 9D", (), "misere", "KD"),  # on misere the lead that nobody takes
        ("8D 7D", ((1, "QD"),), "misere", "7D"),  # and the low card that he would need
    ],
)
def test_the_card_that_hurts_is_named(cards, trick, contract, card):
    """Of a refused claimer's cards a built-in player names one that loses what it could, and legally (3.9.14.4)."""
    assert named(cards, trick, contract=contract) == card


# ---- what is proved is so ----------------------------------------------------------------------------------------------------


def shown(deal, seat):
    """What `seat` sees of a deal that somebody claims in."""
    pulka = match.Pulka("0-" + "a" * 26, "playing", players=deal.setup.players, dealer=deal.setup.dealer, deal=deal)
    return view(Table(pulka, revision=1, hidden=hidden_in(pulka)), seat, "", 0, [])


def played(deal, move):
    return reduce(evolve, decide(deal, deal.to_act, move), deal)


def claimed(deal, tricks):
    return played(deal, Claim(tricks))


@pytest.mark.parametrize("seed", range(120))
def test_whatever_the_others_play_the_sure_tricks_are_taken(seed):
    """The claimer leads trumps, then tops, and the defenders play any cards: he takes what was proved."""
    rng = random.Random(seed)
    hand = rng.sample([card for card in CARDS if card[0] in "TJQKA"], 8) + rng.sample([card for card in CARDS if card[0] in "789"], 2)
    rest = [card for card in CARDS if card not in hand]
    rng.shuffle(rest)
    hands = tuple(" ".join(cards) for cards in (hand, rest[:10], rest[10:20]))
    contract, laid = rng.choice(("6S", "6H", "6NT")), rng.choice(("open", "closed"))
    words = f"{contract} pass pass {rest[20]}/{rest[21]} {contract} whist pass {laid}"
    deal = after(dealt_table(hands=hands, talon=" ".join(rest[20:])), words)
    sure = sure_tricks(shown(claimed(deal, 0), 1), 0, NEW)
    taken, trump = 0, contract[1] if contract != "6NT" else ""
    for _ in range(sure):
        held = [CARDS[card] for card in card_numbers(deal.held(0))]
        others = deal.held(1) | deal.held(2) | (mask_of(" ".join(rest[20:])) if laid == "closed" else 0)
        tops = [card for card in held if not HIGHER[CARD_NUMBER[card]] & others]
        lead = max(tops, key=lambda card: (card[1] == trump, CARD_NUMBER[card]))
        deal = played(deal, Play(lead))
        for _ in range(2):
            deal = played(deal, rng.choice([move for move in legal_moves(deal, deal.to_act) if isinstance(move, Play)]))
        taken += deal.to_act == 0 or deal.phase == "scored"
    assert taken == sure


def low_deal(rng):
    """A misere of the first hand with low cards, after its discard of two high ones; the hands of the defence lie open on its lead."""
    low = [card for card in CARDS if card[0] in "789TJ"]
    hand = rng.sample(low, 10)
    rest = [card for card in CARDS if card not in hand]
    rng.shuffle(rest)
    hands = (hand, rest[:10], rest[10:20])
    return after(dealt_table(hands=tuple(map(" ".join, hands)), talon=" ".join(rest[20:])), f"misere pass pass {rest[20]}/{rest[21]}")


@pytest.mark.slow
def test_a_safe_misere_takes_nothing_whatever_the_others_play():
    """Who ducks under whatever lies there is not caught, when the hand was proved safe (3.6.1)."""
    rng, proved = random.Random(36), 0
    for _ in range(1_500):
        deal = low_deal(rng)
        lead = min(legal_moves(deal, 0), key=lambda move: "789TJQKA".index(move.card[0]))
        deal = played(deal, lead)
        while deal.to_act != 0:
            deal = played(deal, rng.choice(legal_moves(deal, deal.to_act)))
            if deal.tricks[0]:
                break
        if deal.tricks[0] or deal.to_act != 0 or not safe_misere(shown(claimed(deal, 0), 1)):
            continue
        proved += 1
        while deal.phase != "scored":
            moves = legal_moves(deal, deal.to_act)
            deal = played(deal, ducked(deal, moves) if deal.to_act == 0 else rng.choice(moves))
        assert deal.score.outcome["tricks"][0] == 0
    assert proved > 20


def ducked(deal, moves):
    """The highest card that does not take; where none follows, the highest of all."""
    losing = [move for move in moves if deal.play.led and not deal.play.beating >> CARD_NUMBER[move.card] & 1]
    return max(losing or moves, key=lambda move: (bool(losing), "789TJQKA".index(move.card[0])))


@pytest.mark.slow
@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_built_in_players_answer_everything_and_the_deal_ends(players):
    """Claims and proposals of whoever it is are answered by built-in players, and the rules accept the answers."""
    generator, answers = random.Random(players), 0
    for number in range(15):
        pulka = dealt(PRESETS["sochi"], players, generator, dealer=number % players)
        steps = [step.pulka for step in play(pulka, generator, until=1)]
        for at in generator.sample(steps, min(8, len(steps))):
            if at.deal is None or at.deal.phase == "scored":
                continue
            seat = at.deal.to_act
            for move in (Claim(0), Claim(1), Propose("pause"), Propose("takeback"), Propose("stop_pulka")):
                made = match.decide(at, seat, move)
                if not isinstance(made, tuple):
                    continue
                asked = reduce(match.evolve, made, at)
                while match.waits_for_answer(asked):
                    reply = choose(seen_by(asked, match.to_act(asked)), generator, NEW)
                    answers += 1
                    done = match.decide(asked, match.to_act(asked), msgspec.convert(reply, AnyMove))
                    assert isinstance(done, tuple)
                    asked = reduce(match.evolve, done, asked)
    assert answers > 100
