"""View and frames agree: of hidden cards the view of a table shows exactly what the frames up to it let through, to every viewer."""

from __future__ import annotations

import pytest

from services.table.view import view
from services.table.viewer_stream import Reader
from shared.eventlog.aggregates.aggregates import Committed
from shared.events.redaction import PublicCodec
from shared.rules.adjudicated.court import ARBITER
from shared.rules.language.moves import Bid, Cut, Peek
from shared.rules.pulka import decider as match
from tests.services.table.misplaying import JUDGE, Misplaying
from tests.services.table.playing import KEYS, PLAYERS, TABLE_ID, Playing

PUBLIC = PublicCodec(KEYS)
DARK = {"preset": "classic", "dark": {"limit": 3, "opening_rounds": 0}, "shared_misere": True, "misere_no_talon": True}
PLAYED_BY_THE_RULES = [("sochi", 3), ("rostov", 4), ("leningrad", 5), ("sochi", 2), (DARK, 3), (DARK, 4), (DARK, 2)]


class Shown:
    """What the frames have shown to one viewer of the deal in progress: hands by number, talon, discard."""

    def __init__(self, eye):
        self.eye = eye
        self.forget()

    def forget(self):
        self.hands, self.talon, self.discard, self.nobodys = set(), None, None, set()

    def hear(self, commit):
        for event in PUBLIC.redacted(commit, self.eye):
            self.take_in(event)

    def take_in(self, event):
        match event:
            case {"type": "CardsDealt", "hands": hands, "talon": talon}:
                self.forget()
                self.hands, self.talon = {seat for seat, hand in enumerate(hands) if hand}, talon
                self.nobodys = {seat for seat, hand in enumerate(hands) if hand == ""}
            case {"type": "HandSeen", "hand": hand, "cards": str()}:
                self.hands.add(hand)
            case {"type": "CardsDiscarded", "cards": cards} | {"type": "Peeked", "what": "discard", "cards": str() as cards}:
                self.discard = cards
            case {"type": "TalonReturned", "seat": seat, "hand": hand, "talon": talon}:
                self.talon = talon
                self.hands |= {seat} if hand is not None else set()  # they had not looked before, where calls are made in the dark
            case {"type": "TalonTaken" | "DarkTalonTaken" | "TalonTakenEarly", "cards": str() as cards}:
                self.talon = cards
            case {"type": "Peeked", "what": "talon", "cards": str() as cards}:
                self.talon = cards
            case {"type": "DealRevealed"}:
                self.forget()

    def agrees(self, body, everybodys):
        """Compares with a view of the same revision; `everybodys` is a spectator's, where hands that lie open stand as well."""
        hidden = [hand for hand, shown in enumerate(everybodys["hands"]) if shown is None and hand not in self.nobodys]
        assert {hand for hand in hidden if body["hands"][hand] is not None} == self.hands & set(hidden)
        assert body["talon"] == self.talon
        assert _cards(body["discard"]) == _cards(self.discard)
        if isinstance(self.eye, int) and self.eye not in self.nobodys:
            assert (body["hand"] is not None) == (self.eye in self.hands)
        return len(hidden) - len(self.hands & set(hidden))


def _cards(text):
    """The cards in any order: who puts two away and who looks at them name them differently."""
    return None if text is None else set(text.split())


async def compared(playing, eyes, steps):
    """Plays on and compares after every commit; how many hidden hands were kept from somebody."""
    told, kept = {eye: Shown(eye) for eye in eyes}, 0
    for _ in range(steps):
        if match.phase((await playing.table()).pulka) == "over":
            break
        outcome = await playing.step()
        if not isinstance(outcome, Committed):
            continue
        bodies = {eye: view(outcome.loaded.state, eye, "", 0, []) for eye in eyes}
        for eye, shown in told.items():
            shown.hear(outcome.commit)
            kept += shown.agrees(bodies[eye], bodies[None])
    return kept


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("convention", "players"), PLAYED_BY_THE_RULES, ids=str)
async def test_the_view_shows_what_the_frames_let_through(convention, players, seed):
    """Random deals, with calls in the dark and a hussar's dummy: for every seat and a spectator view and frames agree (3.3.19, 3.8.8)."""
    playing = await Playing(convention, players=players, target=6, seed=seed, claims=0.1).open()
    assert await compared(playing, (None, *range(players)), 250) > 200


@pytest.mark.slow
@pytest.mark.parametrize("convention", ["sochi", DARK], ids=str)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("players", [2, 3, 4])
async def test_at_an_adjudicated_table_too(players, seed, convention):
    """Random misdeeds: whoever peeks, takes the talon early or puts away anew; the arbiter sees all (3.2.19-3.2.21, 3.3.17, 3.4.9)."""
    terms = {"attention": "players", "arbiter": JUDGE}
    playing = await Misplaying(players=players, seed=seed, target=20, terms=terms, convention=convention).open()
    assert await compared(playing, (None, ARBITER, *range(players)), 250) > 200


async def test_a_look_into_the_discard_stays_in_view():
    """Who looked into the discard against the rule has seen it: the frame shows it, and so does the view (3.4.9)."""
    playing = await Misplaying(players=3, wild=0).open()
    while match.phase((await playing.table()).pulka) != "contract":
        pulka = (await playing.table()).pulka
        match match.phase(pulka):
            case "cut":
                await playing.send(pulka.seats[match.cutter(pulka)], Cut(16))
            case "auction":
                await playing.send(pulka.seats[match.to_act(pulka)], Bid("pass" if pulka.deal.auction.calls else "6S"))
            case _:
                await playing.step()
    pulka = (await playing.table()).pulka
    looker = (pulka.deal.declarer + 1) % 3
    await playing.send(PLAYERS[looker], Peek("discard"))
    seen = {eye: view(await playing.table(), eye, "", 0, [])["discard"] for eye in (None, ARBITER, *range(3))}
    assert seen == {eye: pulka.secrets.discard if eye in (looker, pulka.deal.declarer, ARBITER) else None for eye in seen}


async def test_a_delayed_spectator_is_shown_no_later_card():
    """Two deals late, the view is that of the commit it names, and shows what the frames up to there let through."""
    playing = await Playing(DARK, terms={"spectators": {"allowed": True, "delay_deals": 2}}, target=40).open()
    reader, shown, after = Reader(playing.tables, PUBLIC, lambda: playing.now), Shown(None), {}
    compared_views = 0
    while (pulka := (await playing.table()).pulka).number < 5:
        outcome = await playing.step()
        if isinstance(outcome, Committed):
            shown.hear(outcome.commit)
            after[outcome.commit.revision] = (outcome.loaded.state, set(shown.hands), shown.talon, shown.discard)
        body = await reader.now(TABLE_ID, None)
        assert body.get("deal", 0) <= max(0, pulka.number - 1)
        if (then := after.get(body["revision"])) is not None:
            compared_views += 1
            assert (then[0].revision, then[1:]) == (body["revision"], (then[1], body["talon"], body["discard"]))
            assert body["hands"] == view(then[0], None, "", 0, [])["hands"]
    assert compared_views > 20
