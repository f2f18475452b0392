"""Which card the built-in player puts on a trick, one position at a time."""

import random

from services.bots.player import choose
from services.bots.recollection import Memory
from services.bots.sight import read


def seen(hand, legal=None, **changed):
    """A view of seat 0 in play; by default a closed 6D of seat 0 with everybody's ten cards."""
    cards = (legal or hand).split()
    view = {
        "phase": "play",
        "status": "playing",
        "seat": 0,
        "players": 3,
        "dealer": 2,
        "declarer": 0,
        "contract": "6D",
        "hand": hand,
        "hands": [hand, None, None],
        "counts": [len(hand.split())] * 3,
        "discard": None,
        "trick": {"number": 1, "leader": None, "talon": None, "cards": []},
        "last_trick": None,
        "tricks": [0, 0, 0],
        "legal": [{"type": "play", "card": card} for card in cards],
    }
    return view | changed


def trick(*cards, talon=None, number=3):
    return {"number": number, "leader": cards[0][0] if cards else None, "talon": talon, "cards": [list(card) for card in cards]}


def card(view, memory=None):
    return choose(view, random.Random(0), memory or Memory())["card"]


def test_the_last_to_play_wins_as_cheaply_as_he_can():
    """Nobody follows any more: the lowest card that wins is enough."""
    view = seen("AS QS TS 7S KD 7H", "AS QS TS 7S", trick=trick((1, "8S"), (2, "9S")))
    assert card(view) == "TS"


def test_a_trick_that_is_lost_gets_the_lowest_card():
    """What cannot win throws away as little as it can."""
    assert card(seen("KS QS 7S KD 7H", "KS QS 7S", trick=trick((1, "8S"), (2, "AS")))) == "7S"


def test_the_declarer_draws_trumps_from_the_top():
    """While the defenders hold trumps, a long holding with the ace is led first."""
    assert card(seen("AD KD QD JD 9D AS KS 8H 7H 7C")) == "AD"


def test_a_partner_who_holds_the_trick_is_left_with_it():
    """A defender last to play does not spend a king on his partner's ace."""
    view = seen("KS QS 8S", declarer=1, trick=trick((1, "9S"), (2, "AS")))
    assert card(view) == "8S"


def test_a_master_is_cashed_when_trumps_are_out():
    """With no trump left outside, the ace of a long suit is led before a losing card."""
    out = ("AD", "KD", "QD", "JD", "TD", "9D", "8D", "7D")
    assert card(seen("AS KS 8H 7C", counts=[4, 4, 4]), Memory(out=out)) in ("AS", "KS")


def test_misere_plays_under_the_trick():
    """On a misere the highest card that stays below goes (3.6.1)."""
    view = seen("KS 9S 8S 7H", "KS 9S 8S", contract="misere", trick=trick((1, "TS"), (2, "JS")))
    assert card(view) == "9S"


def test_misere_void_throws_the_most_dangerous_card():
    """Void in the suit led, the bare ace goes before a safe seven."""
    view = seen("AC 7H 8H", contract="misere", counts=[3, 3, 3], trick=trick((1, "TS"), (2, "JS")))
    assert card(view) == "AC"


def test_all_pass_forced_to_win_throws_the_highest():
    """Who must take the trick as the last one takes it with his highest card."""
    view = seen("KS QS JS", "KS QS JS", contract="all_pass", declarer=None, counts=[3, 3, 3], trick=trick((1, "8S"), (2, "9S")))
    assert card(view) == "KS"


def test_all_pass_ducks_the_dealers_talon_card():
    """With four players the talon card is the dealer's and can win: one stays below it (3.7.6)."""
    opened = {"players": 4, "dealer": 3, "counts": [3, 3, 3, 0], "hands": ["KS 9S 7S", None, None, None], "tricks": [0] * 4}
    view = seen("KS 9S 7S", contract="all_pass", declarer=None, trick=trick(talon="TS", number=1), **opened)
    assert card(view) == "9S"


def test_catchers_lead_what_the_declarer_must_take():
    """With the misere's cards known, the suit is led in which he has nothing below (3.6.6)."""
    hands = ["7S 8C QH", "9S KC KH", "QS JC TH"]
    view = seen("7S 8C QH", contract="misere", declarer=2, hands=hands, counts=[3, 3, 3], trick=trick(number=8), tricks=[4, 3, 0])
    assert card(view) == "7S"


def test_open_play_moves_the_other_hand_too():
    """The only whister plays both defenders' cards, and says whose it is (3.8.5)."""
    hands = [None, "AS 8S", "KH 7C"]
    view = seen("AS 8S", seat=1, hands=hands, counts=[2, 2, 2], trick=trick((1, "AS"), number=9))
    view["legal"] = [{"type": "play", "card": one, "hand": 2} for one in ("KH", "7C")]
    assert choose(view, random.Random(0)) in view["legal"]


def test_known_hands_leave_no_doubt():
    """Odds against a hand that lies open are nought or one; against hidden ones they lie between."""
    view = seen("AS 8S", hands=["AS 8S", "KS 7S", None], counts=[2, 2, 2], legal="8S")
    sight = read(view, Memory())
    assert sight.beaten_by(1, 1) == 1.0  # 8S under KS
    assert sight.beaten_by(7, 1) == 0.0  # AS
    assert 0.0 < sight.beaten_by(1, 2) < 1.0


def test_voids_are_believed():
    """Who did not follow a suit has none of it, and in a trump game may ruff."""
    view = seen("AS 8S", legal="AS", counts=[2, 2, 2])
    follows = read(view, Memory(out=("7S",)))
    void = read(view, Memory(out=("7S",), voids=frozenset({(1, "S")})))
    assert void.beaten_by(7, 1) > follows.beaten_by(7, 1)
    assert read(view, Memory(voids=frozenset({(1, "S"), (1, "D")}))).beaten_by(7, 1) == 0.0
