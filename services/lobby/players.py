"""A player: who signed up, and the tokens they were given. Events (`shared.events.lobby_events`) · State and evolve · decide · the service.

What is personal (name, password hash) is sealed before it is decided, under the player's own key, which the vault keeps outside the log.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Final

import msgspec

from services.lobby.passwords import Passwords
from services.lobby.vault import Vault
from shared.eventlog.aggregates.aggregates import Aggregates, Committed, Decide, Loaded, Nothing, RefusedAt, Request
from shared.eventlog.aggregates.closed_books import RegularBooks
from shared.eventlog.port import EventLog
from shared.events.address import Address, is_id
from shared.events.commit import Commit
from shared.events.keys import MasterKeys, command_digest
from shared.events.lobby_events import AnyLobbyEvent, PlayerErased, PlayerSignedUp, TokenIssued
from shared.events.personal import open_personal, seal_personal
from shared.events.sealed import Sealed
from shared.events.sealing import LobbyCodec
from shared.rules.language.refusal import Refused
from shared.web.auth import BOT, LIFETIME, PLAY, READ, Issuer

# ---- State and evolve --------------------------------------------------------------------------------------------------


class Player(msgspec.Struct, frozen=True):
    """A player as their log leaves them; `name` None: nobody signed up under this id, or they are `erased`."""

    id: str
    name: Sealed | None = None
    password: Sealed | None = None
    bot: bool = False
    erased: bool = False


def initial(where: Address) -> Player:
    """Nobody yet."""
    return Player(where.id)


def evolve(player: Player, event: AnyLobbyEvent) -> Player:
    """The player after `event`; a token changes nothing about them."""
    match event:
        case PlayerSignedUp():
            return Player(player.id, event.name, event.password, event.bot)
        case PlayerErased():
            return Player(player.id, bot=player.bot, erased=True)
    return player


def fold(player: Player, _commit: Commit, events: tuple[AnyLobbyEvent, ...]) -> Player:
    """The player after one commit."""
    for event in events:
        player = evolve(player, event)
    return player


#: A player has a commit a log-in, and so has a few hundred in some years.
BOOKS: Final = RegularBooks(Player, fold=1, every=64)


# ---- decide ------------------------------------------------------------------------------------------------------------

NOBODY: Final = Refused("no_such_player", "", "There is no such player.")


def sign_up(player: Player, signed_up: PlayerSignedUp, token: TokenIssued) -> tuple[AnyLobbyEvent, ...]:
    """A new player and their first token; nothing for somebody who is there already."""
    return () if player.name is not None else (signed_up, token)


def issue(player: Player, token: TokenIssued) -> tuple[AnyLobbyEvent, ...] | Refused:
    """One more token."""
    return (token,) if player.name is not None else NOBODY


def erase(player: Player, erased: PlayerErased) -> tuple[AnyLobbyEvent, ...] | Refused:
    """What proves that somebody is erased; nothing for whom is so already."""
    if player.erased:
        return ()
    return (erased,) if player.name is not None else NOBODY


# ---- The service -------------------------------------------------------------------------------------------------------

Result = Committed[Player, AnyLobbyEvent] | RefusedAt | Nothing[Player]

HUMAN: Final = (PLAY, READ)
MACHINE: Final = (PLAY, READ, BOT)


class Issued(msgspec.Struct, frozen=True):
    """A token that was given out; `expires` in milliseconds since 1970."""

    player: str
    token: str
    scopes: tuple[str, ...]
    expires: int


class Players:
    """Sign-up, tokens, names."""

    def __init__(self, log: EventLog, keys: MasterKeys, vault: Vault, issuer: Issuer, passwords: Passwords) -> None:
        self._partitions = log.partitions
        self._keys = keys
        self._vault = vault
        self._issuer = issuer
        self._passwords = passwords
        self._aggregates: Aggregates[Player, AnyLobbyEvent] = Aggregates(log, LobbyCodec(), initial, fold, books=BOOKS)
        self.cache = self._aggregates.cache

    async def load(self, player_id: str) -> Loaded[Player]:
        """The player; `name` None when there is none."""
        return await self._aggregates.load(address_of(player_id))

    async def sign_up(self, name: str, password: str | None, *, bot: bool, now: int, request_id: str) -> Issued:
        """A new player. Needs the vault: raises what Postgres raises, before anything is in the log."""
        player = self._partitions.new_id(secrets.token_bytes(32))
        hashed = None if password is None else await self._passwords.hash(password)
        key = await self._vault.create(player, secrets.token_bytes(32))
        signed_up = PlayerSignedUp(
            player=player,
            name=seal_personal(key, "name", name, secrets.token_bytes(32)),
            password=None if hashed is None else seal_personal(key, "password", hashed, secrets.token_bytes(32)),
            bot=bot,
        )
        token, event = self._token(player, MACHINE if bot else HUMAN, now, LIFETIME)
        await self._transact(player, now, request_id, lambda loaded, _at: sign_up(loaded.state, signed_up, event))
        return token

    async def issue(self, player: str, scopes: Iterable[str], lifetime: int, now: int, request_id: str) -> Issued | RefusedAt:
        """One more token for a player who has shown who they are."""
        token, event = self._token(player, tuple(scopes), now, lifetime)
        result = await self._transact(player, now, request_id, lambda loaded, _at: issue(loaded.state, event))
        return result if isinstance(result, RefusedAt) else token

    async def erase(self, player: str, author: str, now: int, request_id: str) -> Loaded[Player] | RefusedAt:
        """Erase a player: prove it in the log, then destroy the key under which their personal data lies. Again it does no harm, and ends
        what a crash between the two has left.

        Needs the vault: raises what Postgres raises.
        """
        event = PlayerErased(player, author, await self._vault.digest(player))
        result = await self._transact(player, now, request_id, lambda loaded, _at: erase(loaded.state, event), author)
        if isinstance(result, RefusedAt):
            return result
        await self._vault.destroy([player])
        return result.loaded

    async def knows_password(self, player_id: str, password: str) -> bool:
        """Whether `password` is the player's; as slow for somebody who does not exist or has none."""
        state = (await self.load(player_id)).state if is_id(player_id) else Player(player_id)
        key = await self._vault.key(player_id) if state.password is not None else None
        hashed = None if state.password is None or key is None else open_personal(key, "password", state.password)
        return await self._passwords.verify(hashed, password)

    async def drain(self) -> None:
        """Wait for what was begun."""
        await self._aggregates.drain()

    def _token(self, player: str, scopes: tuple[str, ...], now: int, lifetime: int) -> tuple[Issued, TokenIssued]:
        token_id = secrets.token_hex(8)
        token = self._issuer.issue(player, scopes, now // 1000, lifetime, token_id)
        expires = (now // 1000 + lifetime) * 1000
        return Issued(player, token, scopes, expires), TokenIssued(player, token_id, scopes, expires)

    async def _transact(
        self, player: str, now: int, request_id: str, decide: Decide[Player, AnyLobbyEvent], actor: str | None = None
    ) -> Result:
        """One command on `player`, who gives it themselves unless `actor` does."""
        where = address_of(player)
        command = secrets.token_hex(16)
        request = Request(
            command, actor or player, command_digest(self._keys, where.subject, command.encode()), now, correlation=request_id
        )
        return await self._aggregates.transact(where, request, decide)


def address_of(player_id: str) -> Address:
    """Where a player's log lies."""
    return Address("lobby", "player", player_id)
