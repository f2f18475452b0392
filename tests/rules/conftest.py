"""How properties of the rules are run: without a deadline for one example, since a machine that others use too may be slow for a moment."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("rules", deadline=None)
if settings.get_current_profile_name() == "default":  # not where a run has chosen its own: `mutants.py` does
    settings.load_profile("rules")
