"""Counts as the command line says them."""

import pytest

from services.cli.console.plural import counted


@pytest.mark.parametrize(("count", "said"), [(0, "0 tables"), (1, "1 table"), (2, "2 tables"), (21, "21 tables")])
def test_one_is_no_plural(count, said):
    """One table, several tables."""
    assert counted(count, "table") == said
