"""Settings: read once from `PULKA_*` variables, then handed down as one frozen value; nothing else reads the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta


class BadSetting(ValueError):
    """A `PULKA_*` variable that cannot be read; the message names the variable."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting of every command; the variable of field `x` is `PULKA_X`. Empty text means "not given"."""

    nats_url: Annotated[str, Meta(description="NATS with JetStream, nats://user:password@host:port; empty: `pulka up` starts its own")] = ""
    postgres_dsn: Annotated[str, Meta(description="Postgres, postgresql://…; empty: `pulka up` starts its own")] = ""
    nats_durable: Annotated[
        bool, Meta(description="yes: the NATS given by PULKA_NATS_URL syncs every write to disk (a client cannot see it)")
    ] = False
    nats_operator_url: Annotated[
        str, Meta(description="The same NATS as the user who may purge; empty: PULKA_NATS_URL with the password in HOME/keys/nats_operator")
    ] = ""
    archive_dir: Annotated[str, Meta(description="Folder of `pulka archive`, to read archived tables from; empty: none")] = ""
    lobby_url: Annotated[
        str,
        Meta(
            pattern="^(https?://.+)?$",
            description="The lobby's base URL, where the ledger asks for names, `serve bots` for all; empty: the same process, or none",
        ),
    ] = ""
    namespace: Annotated[
        str,
        Meta(pattern="^([a-z][a-z0-9_]{0,39})?$", description="Prefix of streams, subjects and schemas, so that several can share servers"),
    ] = ""
    partitions: Annotated[
        Literal[0, 8, 16, 32, 64],
        Meta(description="Partitions of the log that this process knows: 8, 16, 32 or 64; 0: as many as the log has, a new one 8"),
    ] = 0
    partitions_used: Annotated[
        Literal[0, 8, 16, 32, 64],
        Meta(description="Into how many of them new tables and players go; 0: those that hold something, all of a new log"),
    ] = 0
    replicas: Annotated[
        Literal[0, 1, 3, 5],
        Meta(description="Copies of every stream of the log: 1, 3 or 5; 0: 3 where NATS has three nodes or more, else 1"),
    ] = 0
    stream_bytes: Annotated[
        int, Meta(ge=0, description="Most bytes of one stream of the log; 0: only the limits of NATS itself bound them")
    ] = 0  # the disk's room is shared by all
    master_keys_file: Annotated[str, Meta(description="Lines id:64 hex digits; the first seals, all open; empty: HOME/keys")] = ""
    token_key_file: Annotated[
        str,
        Meta(description="Private key of tokens, lines id:64 hex digits, the first signs; only for the lobby; empty: HOME/keys"),
    ] = ""
    token_public_keys_file: Annotated[
        str, Meta(description="Public keys of tokens, by which every service verifies them; empty: HOME/keys")
    ] = ""
    signing_key_file: Annotated[str, Meta(description="Ed25519 private key, one line id:64 hex digits; empty: HOME/keys")] = ""
    home: Annotated[str, Meta(description="Folder of `pulka up` for data, keys and logs")] = ".pulka"
    host: Annotated[str, Meta(description="Address to listen on")] = "127.0.0.1"  # nobody from outside unless asked for
    port: Annotated[int, Meta(ge=0, le=65535, description="Port to listen on; 0 takes a free one")] = 8080
    log_level: Annotated[str, Meta(pattern="^(debug|info|warning|error)$", description="debug, info, warning or error")] = "info"
    cache_mb: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000,
            description="Megabytes of tables kept in memory by a table service; 0: an eighth of the machine's, at most 1024",
        ),
    ] = 0
    table_url: Annotated[
        str,
        Meta(
            pattern="^(https?://.+)?$",
            description="The tables' base URL, where `serve bots` plays; empty: that of PULKA_LOBBY_URL, where both are at one address",
        ),
    ] = ""
    bot_token_file: Annotated[
        str,
        Meta(description="Token by which `serve bots` is known to the lobby, of `pulka token --scope host`; empty: HOME/keys/bot_token"),
    ] = ""
    bot_seats: Annotated[
        int, Meta(ge=1, le=100_000, description="Most seats that one bot host plays at a time; the others wait, or another host plays them")
    ] = 400  # each is a stream: two open files where the tables are in the same process, and 1,024 are usual
    bots: Annotated[bool, Meta(description="Whether `pulka up` and `serve all` fill the seats that a table asks bots for")] = True

    @property
    def url(self) -> str:
        """Base URL under which this machine reaches the services; a wildcard address is reached over loopback."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self.host, self.host)  # noqa: S104 - compared, not bound
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


_SECRET_URLS = frozenset({"nats_url", "nats_operator_url", "postgres_dsn"})  # these carry passwords
_PASSWORD = re.compile(r"(://[^:/?#@,]*:)[^@,]*(?=@)|([?&]password=)[^&,]*", re.IGNORECASE)  # user:HERE@host, or the parameter
_WORDS = {"yes": True, "true": True, "1": True, "on": True, "no": False, "false": False, "0": False, "off": False}


def read_settings(environment: Mapping[str, str]) -> Settings:
    """The settings that `environment` gives; an unknown `PULKA_*` name is left to others (tests and tools have their own).

    Raises `BadSetting` naming the variable.
    """
    given: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        name = variable(field.name)
        text = environment.get(name, "")
        if text == "":
            continue
        given[field.name] = _yes_or_no(name, text) if isinstance(field.default, bool) else text
        try:
            msgspec.convert({field.name: given[field.name]}, Settings, strict=False)
        except msgspec.ValidationError as wrong:
            reason = str(wrong).split(" - at ")[0].replace("Invalid enum value", "none of its values (`pulka settings` has them):")
            raise BadSetting(f"{name}: {reason}") from None
    return msgspec.convert(given, Settings, strict=False)


def variable(field: str) -> str:
    """The environment variable of a field."""
    return f"PULKA_{field.upper()}"


def describe_settings(settings: Settings) -> list[dict[str, Any]]:
    """One row a setting: variable, value (passwords masked), default, description."""
    rows: list[dict[str, Any]] = []
    for field in msgspec.inspect.type_info(Settings).fields:  # type: ignore[attr-defined] # a StructType, which has fields
        value = getattr(settings, field.name)
        meta = field.type
        rows.append(
            {
                "variable": variable(field.name),
                "value": masked(value) if field.name in _SECRET_URLS else value,
                "default": field.default,
                "description": (getattr(meta, "extra_json_schema", None) or {}).get("description", ""),
            }
        )
    return rows


def masked(url: str) -> str:
    """One or several connection URLs, parted by commas, without their passwords; other text is hidden whole."""
    if not url:
        return ""
    if "://" not in url:
        return "***"  # "host=… password=…": nothing we could take apart surely
    return _PASSWORD.sub(r"\1\2***", url)


def home_of(settings: Settings) -> Path:
    """The home folder as an absolute path."""
    return Path(settings.home).expanduser().resolve()


def _yes_or_no(name: str, text: str) -> bool:
    try:
        return _WORDS[text.strip().lower()]
    except KeyError:
        raise BadSetting(f"{name}: {text!r} is neither yes nor no") from None
