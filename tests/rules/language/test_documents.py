"""JSON from outside, read strictly: each member of an object once (F11)."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.rules.language.documents import decode, doubled
from shared.rules.language.refusal import Malformed, NotJson
from shared.rules.open_cards.document import solve_document
from shared.rules.pulka.imported import imported
from shared.rules.score_files.deal_record import replay_document
from shared.rules.score_files.score_file import score_document


class Amount(msgspec.Struct, forbid_unknown_fields=True):
    """A document of one shape."""

    amount: int


texts = st.text(alphabet='abAB:{}[],"\\ é', max_size=4)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a":1,"a":1}', "a"),
        ('{"a":{"b":1,"c":2,"b":3}}', "a.b"),
        ('{"deals":[{},{"tricks":[1],"tricks":[2]}]}', "deals[1].tricks"),
        (r'{"a":1,"\u0061":2}', "a"),
        (r'{"x":"\u003a","x":"y:z"}', "x"),
        (r'{"a":1,"a":2,"b":"\u003a"}', "a"),
        ('[[],{"a":1,"a":2}]', "[1].a"),
        ('{"n":1' + "0" * 5000 + ',"a":1,"a":0}', "a"),
    ],
)
def test_a_member_named_twice_is_found(text, place):
    """F11: wherever it stands, and however its name or the values are spelled (RFC 7493, 2.3)."""
    assert doubled(text) == doubled(text.encode()) == place


@pytest.mark.slow
@given(value=values, plain=st.booleans())
def test_whatever_is_written_by_a_program_has_none(value, plain):
    """Colons, quotes and escapes in texts are no members."""
    assert doubled(json.dumps(value, ensure_ascii=plain)) is None


@pytest.mark.slow
@given(members=st.lists(st.tuples(texts, values), max_size=5), plain=st.booleans())
def test_an_object_has_one_if_a_name_comes_twice(members, plain):
    """Exactly then, and it is the first such name."""
    inner = ",".join(f"{json.dumps(name, ensure_ascii=plain)}:{json.dumps(value, ensure_ascii=plain)}" for name, value in members)
    names = [name for name, _ in members]
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    found = doubled(f"[{{{inner}}}]")
    assert found == (f"[0].{twice[0]}" if twice else None)


@pytest.mark.parametrize(
    "read",
    [score_document, replay_document, solve_document, lambda text: imported(text, (), "public", "operator:desk")],
    ids=["score", "replay", "solve", "import"],
)
def test_every_document_is_read_so(read):
    """F11: score files, deal records, open-card positions and imports name the member, before whatever else is wrong with them."""
    for text in (b'{"players":3,"players":4}', '{"players":3,"convention":{"preset":"sochi","preset":"code"}}'):
        with pytest.raises(Malformed) as refused:
            read(text)
        assert refused.value.message == "given more than once"
        assert refused.value.path in ("players", "convention.preset")
        assert not isinstance(refused.value, NotJson)


def test_the_place_begins_where_the_document_stands():
    """A document inside another is named by its place there."""
    with pytest.raises(Malformed) as refused:
        decode(b'{"a":1,"a":1}', dict, "inner")
    assert refused.value.path == "inner.a"


@pytest.mark.parametrize("text", [b'{"na\xe4me":1}', b'{"name":"\xff","wrong":1}', b'{"\xed\xa0\x80":1}', b'[1,"\xc3("]', '{"\ud800":1}'])
def test_what_is_no_text_is_no_json(text):
    """JSON is UTF-8 (RFC 8259, 8.1): so it is said, wherever it stands, and whatever else is wrong with its shape."""
    for kind in (Amount, dict, list):
        with pytest.raises(NotJson):
            decode(text, kind)
