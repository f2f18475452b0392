"""`pulka score`: a whole pulka as a scorer knows it, deal after deal, to the sheet and its settlement (deploy/docs/score-file.md). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec

from shared.rules.convention.options import Convention, resolve
from shared.rules.deck.seats import FEWEST, MOST
from shared.rules.language.amount import Amount
from shared.rules.language.documents import convert, decode
from shared.rules.language.names import read_name
from shared.rules.language.refusal import Malformed
from shared.rules.score_files.deal_document import DealDocument, read_deal
from shared.rules.score_files.kept_sheet import differences
from shared.rules.score_files.standing import Standing, play_on
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.series import Bombs, Series, dark_deals_in_row, plays_dark
from shared.rules.scoring.settlement import pulka_closed, settlement
from shared.rules.scoring.sheet import Entry, Sheet, written_by
from shared.rules.scoring.sheet_document import Number, SheetDocument, read_sheet
from shared.rules.scoring.stakes import read_stake

Bomb = Annotated[int, msgspec.Meta(ge=2, le=1024)]  # two to the tenth, the most that a limit of dark passes can reach
Points = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]  # a target; the limit only keeps numbers readable


class StartDocument(SheetDocument, frozen=True, forbid_unknown_fields=True):
    """What stood on the paper before the first deal of the file, and what the deals before it left to it."""

    all_pass_in_row: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0  # no pulka has more
    dark_in_row: Annotated[int, msgspec.Meta(ge=0, le=1_000)] | None = None  # likewise; left out where all of them were dark
    bombs: tuple[Annotated[tuple[Bomb, ...], msgspec.Meta(max_length=100)], ...] | None = None  # no player collects more
    deals: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0  # played before; counts where the pulka ends after `deals:N`


class ScoreFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A score file; `convention` is resolved apart. `names`: what the players are called, by seat; they decide nothing."""

    convention: str | dict[str, Any]
    players: Annotated[int, msgspec.Meta(ge=FEWEST, le=MOST)]
    deals: tuple[DealDocument, ...]
    target: Points | None = None
    start: StartDocument | None = None
    stake: Number | None = None
    names: tuple[str, ...] | None = None
    format: Literal[1] = 1  # the only one there has been


class ScoredDeal(msgspec.Struct, frozen=True):
    """One deal of a file: its outcome, what it wrote, and where the pulka stood before and after it.

    `kept`: the last of the entries, which make the sheet that the players kept of the reckoned one; None where the file has no such sheet.
    """

    outcome: DealOutcome
    entries: tuple[Entry, ...]
    before: Standing
    after: Standing
    kept: tuple[Entry, ...] | None = None


class Scored(msgspec.Struct, frozen=True):
    """A whole file, scored; `stake` is the agreed worth of a whist (4.2.13), None where nothing is agreed; `names` are by seat."""

    convention: Convention
    players: int
    target: int | None
    stake: Amount | None
    start: Standing
    deals: tuple[ScoredDeal, ...]
    names: tuple[str, ...] | None = None

    @property
    def end(self) -> Standing:
        """Where the pulka stands after the last deal."""
        return self.deals[-1].after if self.deals else self.start

    @property
    def last_dealer(self) -> int | None:
        """Who dealt the last deal; None where the file has none."""
        return self.deals[-1].outcome.dealer if self.deals else None

    @property
    def closed(self) -> bool:
        """Whether it has ended by its own terms."""
        return pulka_closed(self.convention, self.target, self.end.sheet, self.end.deals)


def scored(document: object, *, stored: bool = False) -> Scored:
    """One score file, JSON text or already read, scored deal after deal; one that is `stored` is read as `read_deal` reads it.

    Raises `NotJson` for text that is not JSON, `Malformed` with the place of what is wrong: code "malformed", or "pulka_over" for a deal
    after the pulka's end, unless the players keep the sheet, who judge that themselves.
    """
    file = decode(document, ScoreFile) if isinstance(document, (bytes, str)) else convert(document, ScoreFile)
    convention = resolve(file.convention, file.target)
    stake = None if file.stake is None else read_stake(file.stake, "stake")
    names = None if file.names is None else tuple(_names(file.names, file.players))
    start = standing = standing_at(file.start, file.players, convention)
    written: list[ScoredDeal] = []
    for index, deal in enumerate(file.deals):
        path = f"deals[{index}]"
        # Who keep the sheet themselves judge whether it is over when the next deal starts; what they write after that was not there yet.
        judged = bool(written) and written[-1].kept is not None
        if not judged and pulka_closed(convention, file.target, standing.sheet, standing.deals):
            raise Malformed(path, "the pulka had ended before this deal", "pulka_over")
        outcome = read_deal(deal, convention, file.players, _dealer(deal, file.players, standing, path), path, stored=stored)
        kept = None if deal.kept is None else read_sheet(deal.kept, file.players, f"{path}.kept")
        written.append(_scored(convention, file.target, standing, outcome, kept))
        standing = written[-1].after
    return Scored(convention, file.players, file.target, stake, start, tuple(written), names)


def _names(names: tuple[str, ...], players: int) -> Iterator[str]:
    """One a seat, as a player may be called. Raises `Malformed`."""
    if len(names) != players:
        raise Malformed("names", f"has {len(names)} values, must have {players}")
    for seat, name in enumerate(names):
        yield read_name(name, f"names[{seat}]")


def _scored(convention: Convention, target: int | None, before: Standing, outcome: DealOutcome, kept: Sheet | None) -> ScoredDeal:
    """One deal played on from `before`, to the sheet that the players `kept` where there is one."""
    after, entries = play_on(convention, target, before, outcome)
    if kept is None:
        return ScoredDeal(outcome, entries, before, after)
    otherwise = differences(kept, after.sheet)
    return ScoredDeal(outcome, (*entries, *otherwise), before, msgspec.structs.replace(after, sheet=kept), otherwise)


def score_document(document: object) -> dict[str, Any]:
    """The answer of `pulka score` to one score file. Raises as `scored`."""
    return scored_document(scored(document))


def scored_document(pulka: Scored) -> dict[str, Any]:
    """A scored file as a document: `deals`, `sheet`, `closed`, `settlement`."""
    return {
        "deals": [
            written_by(pulka.players, deal.entries).document() | {"entries": [entry.document() for entry in deal.entries]}
            for deal in pulka.deals
        ],
        "sheet": pulka.end.sheet.document(),
        "closed": pulka.closed,
        "settlement": settlement(pulka.convention, pulka.target, pulka.end.sheet, pulka.stake, pulka.last_dealer),
    }


def _dealer(deal: DealDocument, players: int, standing: Standing, path: str) -> int:
    """Who dealt: the file says it, or it follows from the deal before; with two or three players it decides
    nothing but who is first of equals when the result is rounded (Decision 16).
    """
    if deal.dealer is None:
        if standing.dealer is not None:
            return standing.dealer
        if players > 3:
            raise Malformed(f"{path}.dealer", f"is required on the first deal with {players} players")
        return players - 1
    if deal.dealer >= players:
        raise Malformed(f"{path}.dealer", f"must be 0 to {players - 1}")
    return deal.dealer


def standing_at(document: StartDocument | None, players: int, convention: Convention) -> Standing:
    """Where a pulka stands that begins with `document`, None for an empty sheet. Raises `Malformed` with the place under `start`."""
    start = document or StartDocument()
    bombs: Bombs = start.bombs or ()
    if start.bombs is not None and len(start.bombs) != players:
        raise Malformed("start.bombs", f"has {len(start.bombs)} values, must have {players}")
    if start.dark_in_row is not None and start.dark_in_row > start.all_pass_in_row:
        raise Malformed("start.dark_in_row", f"is more than all_pass_in_row, {start.all_pass_in_row}")
    if start.dark_in_row and not plays_dark(convention):
        raise Malformed("start.dark_in_row", "dark calls are not in force: the option `dark` is false")
    dark_in_row = dark_deals_in_row(convention, start.all_pass_in_row, start.dark_in_row)
    return Standing(read_sheet(start, players, "start"), Series(start.all_pass_in_row, dark_in_row, bombs), start.deals)
