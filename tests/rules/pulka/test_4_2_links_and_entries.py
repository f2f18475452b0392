"""While links are opened somebody may be asked about a late entry: that comes first, and the links are opened all the same (4.2.10)."""

from __future__ import annotations

import msgspec

from shared.rules.adjudicated.sheet_entries import kept_sheet_of
from shared.rules.language.moves import OpenLink, Remedy
from shared.rules.pulka import decider as match
from tests.rules.pulka.test_3_2_links import cut, folded, link_of, to_be_cut


def test_4_2_10_whoever_is_asked_about_an_entry_sees_that_choice():
    """The others see their link; nobody is shown both, and neither waits for the other."""
    pulka = cut(to_be_cut())
    kept = kept_sheet_of({"mode": "adjudicated", "entries": "by_hand"})
    asked = type("Asked", (), {"waiting": (1,)})()
    both = msgspec.structs.replace(pulka, kept_sheet=msgspec.structs.replace(kept, asked=asked))
    assert (match.phase(both), match.to_act(both)) == ("remedy", 1)
    assert match.legal_moves(both, 1) == (Remedy("accept"), Remedy("pass"))
    assert match.legal_moves(both, 0) == ()
    opened = match.decide(pulka, 0, OpenLink(link_of(0, 1)))
    assert len(opened) == 1
    assert match.phase(folded(pulka, opened)) == "links"
