"""Who lost their token loses the streams that it opened: a thief of the private key, above all, who could look into anybody's hand."""

from __future__ import annotations

import pytest

from services.table.tokens_watched import ENDS_S, TokensWatched
from shared.events import key_files
from shared.events.keys import MasterKeys
from shared.events.token_keys import PublicKeys, TokenSigner, public_half, public_text
from shared.web.auth import LIFETIME, PLAY, READ, Issuer, Tokens
from shared.web.streams.streaming import Streams
from tests.services.cli.processes import until_async
from tests.services.table.onlooking import Onlooker
from tests.services.table.playing import PLAYERS, Playing
from tests.services.table.test_viewer_stream import reader_of

ONE, TWO = ("t1", bytes(range(32))), ("t2", bytes(range(1, 33)))
BOTH = [(key_id, public_half(key)) for key_id, key in (ONE, TWO)]
OLD = MasterKeys((("m1", b"m" * 32),))
NOW = 1_800_000_000


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """A table whose onlookers come with tokens of two keys, and of former times; the file of public keys; and who watches them."""
    monkeypatch.setattr("shared.events.key_files.LOOK_S", 0.0)
    path = tmp_path / "public"
    key_files.create(path, public_text(BOTH, NOW))
    return path, Tokens(PublicKeys.load(path), OLD), Streams(), [1000 * NOW]


async def opened(tokens, streams, *made):
    """A table in its first auction; a stream for each token, None for nobody's, all of them among the others already."""
    playing = await Playing().open()
    await playing.until("auction")
    reader = reader_of(playing)
    looking = [await Onlooker(playing, reader, streams, token and tokens.verify(token, NOW)).open() for token in made]
    await until_async(lambda: all(onlooker.together for onlooker in looking))
    return playing, looking


def signed(key, player, lifetime=LIFETIME):
    return Issuer(TokenSigner((key,))).issue(player, (PLAY, READ), NOW, lifetime)


async def everybody_goes(streams, looking):
    for onlooker in looking:
        await onlooker.close()
        assert onlooker.matches()
    assert streams.count == 0


async def test_a_key_that_is_gone_ends_the_streams_of_its_tokens(watched):
    """Within a look, of players and spectators, slow ones too; everybody else goes on, and a file that cannot be read ends nothing."""
    path, tokens, streams, now = watched
    mine, other = signed(ONE, PLAYERS[0]), signed(TWO, PLAYERS[1])
    playing, looking = await opened(tokens, streams, mine, signed(ONE, "eve"), mine, other, None)
    watching = TokensWatched(tokens, streams, lambda: now[0])
    watching.look()
    key_files.replace(path, "nothing that one could read")
    watching.look()
    assert not any(onlooker.ended for onlooker in looking)
    looking[2].takes.clear()
    await playing.step()
    await until_async(lambda: len(looking[3].frames) == 2)
    key_files.replace(path, public_text(BOTH[1:], NOW))
    watching.look()
    watching.look()
    assert [onlooker.ended for onlooker in looking] == [True, True, False, False, False]
    looking[2].takes.set()
    await until_async(lambda: looking[2].ended)
    await playing.step()
    await until_async(lambda: all(len(onlooker.frames) == 3 for onlooker in looking[3:]))
    assert all(len(onlooker.frames) <= 2 for onlooker in looking[:3])
    await everybody_goes(streams, looking)


async def test_a_token_that_has_ended_ends_its_streams(watched):
    """Within as long as two clocks may differ, at the second look."""
    _, tokens, streams, now = watched
    _, looking = await opened(tokens, streams, signed(ONE, PLAYERS[0], 100), signed(ONE, PLAYERS[1]))
    watching = TokensWatched(tokens, streams, lambda: now[0])
    watching.look()
    now[0] += 1000 * (100 + ENDS_S)
    watching.look()
    assert not any(onlooker.ended for onlooker in looking)
    now[0] += 1000 * ENDS_S
    watching.look()
    assert [onlooker.ended for onlooker in looking] == [True, False]
    await everybody_goes(streams, looking)


async def test_tokens_of_former_times_end_with_their_line(watched):
    """Their streams as well, once the file has no `hmac-before` any more."""
    path, tokens, streams, now = watched
    old = Issuer(TokenSigner((ONE,), NOW + 1, OLD)).issue(PLAYERS[0], (PLAY, READ), NOW - 1)
    _, looking = await opened(tokens, streams, old, signed(ONE, PLAYERS[1]))
    watching = TokensWatched(tokens, streams, lambda: now[0])
    watching.look()
    assert not any(onlooker.ended for onlooker in looking)
    key_files.replace(path, public_text(BOTH))
    watching.look()
    assert [onlooker.ended for onlooker in looking] == [True, False]
    await everybody_goes(streams, looking)


async def test_it_looks_by_itself(watched, monkeypatch):
    """As long as the service runs."""
    monkeypatch.setattr("services.table.tokens_watched.LOOK_S", 0.01)
    path, tokens, streams, now = watched
    _, looking = await opened(tokens, streams, signed(ONE, PLAYERS[0]))
    watching = TokensWatched(tokens, streams, lambda: now[0])
    watching.begin()
    key_files.replace(path, public_text(BOTH[1:], NOW))
    await until_async(lambda: looking[0].ended)
    await watching.stop()
    await everybody_goes(streams, looking)
