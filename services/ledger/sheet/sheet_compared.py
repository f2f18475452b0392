"""The pulka of the rows as it is compared with another convention (`?as=`), and which convention a reader means by a name."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from services.ledger.views.score_sheet import Score
from services.ledger.views.sections import Section
from services.ledger.views.tables import Table
from shared.rules.convention.options import Convention, resolve
from shared.rules.deal.ending import outcome_of
from shared.rules.language.documents import require_single
from shared.rules.language.refusal import Malformed
from shared.rules.score_files.kept_sheet import due
from shared.rules.score_files.what_if import PlayedDeal, PlayedPulka
from shared.rules.scoring.sheet import Sheet, entry
from shared.web.problems import malformed

PARAMETER = "as"


def convention_meant(text: str, table: Table) -> tuple[object, Convention]:
    """What `text` says, a preset's name or an object in JSON, and the record that it means for the pulka of `table`. Raises 400.

    Where no version is named it is the pulka's own: the question is about options, not about rules that have changed since.
    """
    try:
        said: object = msgspec.json.decode(text) if text.lstrip().startswith("{") else text
        if said is not text:
            require_single(text, PARAMETER)
        return said, resolve(said, table.target, PARAMETER, table.rules.version)
    except Malformed as wrong:
        raise malformed(wrong.path, wrong.message) from None
    except RecursionError:
        raise malformed(PARAMETER, "nested too deeply") from None
    except msgspec.DecodeError as wrong:
        raise malformed(PARAMETER, f"neither the name of a convention nor JSON: {wrong}") from None


def pulka_of(table: Table, section: Section, played: Sequence[Score], sheet: Sheet, *, closed: bool) -> PlayedPulka:
    """A section of a table after the deals `played`, with what each wrote, or would have been due where the players keep the sheet."""
    deals = tuple(map(_deal, played))
    return PlayedPulka(table.rules, section.players, table.target, table.whist_stake, section.standing(table.rules), deals, sheet, closed)


def _deal(score: Score) -> PlayedDeal:
    outcome = msgspec.json.decode(score.outcome)
    entries = tuple(entry(one) for one in msgspec.json.decode(score.written)["entries"])
    return PlayedDeal(score.deal, outcome_of(outcome), due(entries) if "kept" in outcome else entries)
