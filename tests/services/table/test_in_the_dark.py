"""What each viewer of a table is shown where cards stay covered: calls in the dark, a talon taken dark or left, an invited dealer."""

from __future__ import annotations

from services.table.view import view
from shared.events.redaction import PublicCodec
from shared.rules.language.game_events import AllPassed, CardsDealt, DarkTalonTaken, DealRevealed, DeckCut, HandSeen, TalonCardOpened
from shared.rules.language.moves import Answer, Bid, Cut, Discard, Invite, Look, Take
from shared.rules.pulka import decider as match
from tests.services.table.playing import KEYS, Playing

CLASSIC = {"preset": "classic", "dark": {"limit": 3, "opening_rounds": 0}, "shared_misere": True, "misere_no_talon": True}
PUBLIC = PublicCodec(KEYS)


class Seats:
    """A table of Classic in the auction of its first deal."""

    def __init__(self, playing: Playing, players: int) -> None:
        self.playing, self.players = playing, players

    @classmethod
    async def at_auction(cls, players: int = 3) -> Seats:
        playing = await Playing(CLASSIC, players=players, target=40).open()
        await playing.until("auction")
        return cls(playing, players)

    async def moves(self, *moves):
        """Each by the seat on turn; the last one's outcome."""
        for move in moves:
            pulka = (await self.playing.table()).pulka
            outcome = await self.playing.send(pulka.seats[match.to_act(pulka)], move)
            assert not hasattr(outcome, "refused"), outcome
        return outcome

    async def shown(self):
        """The views of a spectator (None) and of every seat."""
        table = await self.playing.table()
        return {seat: view(table, seat, "", 0, []) for seat in (None, *range(self.players))}

    async def pulka(self):
        return (await self.playing.table()).pulka


def frames(outcome, kind, field):
    """A field of the first event of its kind in a commit, by viewer."""
    told = {}
    for seat in (None, 0, 1, 2):
        event = next(event for event in PUBLIC.redacted(outcome.commit, seat) if event["type"] == kind)
        told[seat] = event[field]
    return told


async def test_3_3_19_ones_own_cards_are_covered_until_one_looks():
    """Nobody sees a hand after the dealing, its owner neither; who looks sees his own, and the others see that he looked (3.3.19)."""
    seats = await Seats.at_auction()
    pulka = await seats.pulka()
    one = match.to_act(pulka)
    assert all(seen["hand"] is None and set(seen["hands"]) == {None} for seen in (await seats.shown()).values())
    looked = await seats.moves(Look())
    assert [type(event) for event in looked.events] == [HandSeen]
    own = pulka.secrets.hands[one]
    assert frames(looked, "HandSeen", "cards") == {seat: own if seat == one else None for seat in (None, 0, 1, 2)}
    assert {seat: seen["hand"] for seat, seen in (await seats.shown()).items()} == {
        seat: own if seat == one else None for seat in (None, 0, 1, 2)
    }
    before, after = pulka, await seats.pulka()
    assert match.to_act(after) == match.to_act(before)


async def test_3_3_19_a_look_leaves_the_turn_and_its_clock():
    """Looking at one's cards is no call: the turn goes on from when it began (3.3.19)."""
    seats = await Seats.at_auction()
    began = (await seats.playing.table()).turn_began
    await seats.moves(Look())
    assert (await seats.playing.table()).turn_began == began


async def test_3_3_19_a_talon_taken_in_the_dark_is_its_takers():
    """The winner in the dark sees the talon; the others see it when the deal is revealed (3.3.19)."""
    seats = await Seats.at_auction()
    one = match.to_act(await seats.pulka())
    await seats.moves(Bid("7S", dark=True), Bid("pass", dark=True), Bid("pass"))
    assert {seen["phase"] for seen in (await seats.shown()).values()} == {"auction"}
    assert {seat: bool(seen["legal"]) for seat, seen in (await seats.shown()).items()} == {seat: seat == one for seat in (None, 0, 1, 2)}
    taken = await seats.moves(Take())
    talon = (await seats.pulka()).secrets.talon
    assert isinstance(taken.events[-1], DarkTalonTaken)
    assert frames(taken, "DarkTalonTaken", "cards") == {seat: talon if seat == one else None for seat in (None, 0, 1, 2)}
    shown = await seats.shown()
    assert {seat: seen["talon"] for seat, seen in shown.items()} == {seat: talon if seat == one else None for seat in (None, 0, 1, 2)}
    assert {(seen["dark"], seen["declarer"], seen["bid"]) for seen in shown.values()} == {(True, one, "7S")}
    assert all(shown[seat]["hand"] for seat in range(3))  # the auction is over: everybody has taken up his cards
    assert shown[None]["auction"][0] == {"seat": one, "bid": "7S", "dark": True}


async def test_fn41_a_talon_that_is_left_is_nobodys():
    """Without the talon nobody sees it before the deal is revealed, its bidder neither (FN41)."""
    seats = await Seats.at_auction()
    await seats.moves(Bid("9S", no_talon=True), Bid("pass"), Bid("pass"))
    shown = await seats.shown()
    assert {(seen["phase"], seen["talon"], seen["no_talon"]) for seen in shown.values()} == {("contract", None, True)}
    last = None
    while not (last and isinstance(last.events[-1], DealRevealed)):
        last = await seats.playing.step()
        if (pulka := await seats.pulka()).deal is not None:
            assert {seen["talon"] for seen in (await seats.shown()).values()} == {None}
    assert pulka.deal is None


async def test_3_6_9_an_invited_dealer_sees_the_hand_as_it_was():
    """The resting dealer sees the ten cards that he was handed, less what is played of them; the discard tells him nothing (3.6.9)."""
    seats = await Seats.at_auction(players=4)
    pulka = await seats.pulka()
    one, dealer = match.to_act(pulka), pulka.dealer
    own = pulka.secrets.hands[one]
    invited = await seats.moves(Invite())
    assert [seat for seat in range(4) if PUBLIC.redacted(invited.commit, seat)[-1]["cards"]] == [dealer]
    asked = await seats.shown()
    assert asked[dealer]["legal"] == [{"type": "answer", "accept": True}, {"type": "answer", "accept": False}]
    assert [asked[seat]["hands"][one] for seat in (None, *range(4))].count(own) == 2  # the inviter himself, and the dealer
    await seats.moves(Answer(accept=True), Bid("pass"), Bid("pass"))
    shown = await seats.shown()
    assert {seen["shared"] for seen in shown.values()} == {True}
    put_away = own.split()[0]
    await seats.moves(Discard((put_away, own.split()[1])))
    after = await seats.shown()
    assert after[dealer]["hands"][one] == own
    assert put_away not in after[one]["hand"]
    assert after[dealer]["discard"] is None


async def test_3_7_9_a_classic_pulka_opens_with_forced_all_pass():
    """The cut brings the cards and the all-pass at once, of as many deals as agreed; then the auction begins at seven and more (3.7.9)."""
    playing = await Playing({"preset": "classic", "dark": {"limit": 3, "opening_rounds": 2}}, players=4, target=20).open()
    for number, bombs in ((1, [2]), (2, [2, 4])):
        table = await playing.until("cut", deal=number)
        cut = await playing.send(table.pulka.seats[match.cutter(table.pulka)], Cut(7))
        assert [type(event) for event in cut.events] == [DeckCut, CardsDealt, AllPassed, TalonCardOpened]
        assert cut.events[2].forced
        await playing.until("between_deals", deal=number)
        assert view(await playing.table(), 0, "", 0, [])["bombs"] == [bombs] * 4
    dealers = {(await playing.table()).pulka.dealer}
    table = await playing.until("auction", deal=3)
    assert {table.pulka.dealer} == dealers
    seat = match.to_act(table.pulka)
    shown = view(table, seat, "", 0, [])
    assert shown["hand"] is None
    bids = [move["bid"] for move in shown["legal"] if move["type"] == "bid" and not move.get("dark")]
    assert bids[:2] == ["pass", "8S"]
