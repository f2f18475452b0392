"""`pulka token`: an operator's or a bot host's token by whoever has the private key, and by nobody else."""

from __future__ import annotations

import time

import click
import msgspec
import pytest
from click.testing import CliRunner

from services.cli.embedded.keys import ensure_token_keys
from services.cli.operator.token import token
from shared.events.token_keys import PublicKeys
from shared.web.auth import Tokens
from shared.web.problems import Problem
from shared.web.service import CannotStart
from tests.token_keys import token_files, verifier


@pytest.fixture
def keys(tmp_path):
    (tmp_path / "home" / "keys").mkdir(parents=True)
    token_files(tmp_path / "home" / "keys")
    return verifier()


@pytest.fixture
def other(tmp_path):
    """The keys of another club: the environment that names them, and what takes its tokens."""
    private, public = tmp_path / "other", tmp_path / "other_public"
    ensure_token_keys(private, public, 0)
    return {"PULKA_TOKEN_KEY_FILE": str(private), "PULKA_TOKEN_PUBLIC_KEYS_FILE": str(public)}, Tokens(PublicKeys.load(public))


def made(*options, environment=None):
    return CliRunner().invoke(token, ["--scope", "operate", *options], env=environment or {})


def test_the_token_names_an_operator_who_may_operate_and_nothing_else(keys, tmp_path):
    """Signed with the HOME's key, for as long as was asked; a service with that key takes it."""
    answer = msgspec.json.decode(made("--name", "desk", "--days", "2", "--home", str(tmp_path / "home"), "--json").stdout)
    now = int(time.time())
    caller = keys.verify(answer["token"], now)
    assert (caller.player, caller.scopes) == (answer["author"], frozenset(answer["scopes"])) == ("operator:desk", {"operate"})
    assert answer["expires"] == caller.expires * 1000
    assert 2 * 24 * 3600 - 60 < caller.expires - now <= 2 * 24 * 3600


def test_standard_output_is_the_token(keys, tmp_path):
    """So that a shell can put it into a variable; whose it is and until when stands on standard error."""
    answer = made(environment={"PULKA_HOME": str(tmp_path / "home")})
    assert keys.verify(answer.stdout.strip(), int(time.time())).player == "operator:operator"
    assert "operator:operator" in answer.stderr
    assert answer.stdout.strip() not in answer.stderr


def test_another_key_is_another_club(keys, other):
    """What one key has signed means nothing to a service that has another."""
    environment, tokens = other
    answer = made(environment=environment)
    assert tokens.verify(answer.stdout.strip(), int(time.time())).player == "operator:operator"
    with pytest.raises(Problem):
        keys.verify(answer.stdout.strip(), int(time.time()))


def test_a_home_that_is_named_comes_before_a_key_file(keys, other, tmp_path):
    """`--home` says whose key is meant, whatever the environment says."""
    answer = made("--home", str(tmp_path / "home"), environment=other[0])
    assert keys.verify(answer.stdout.strip(), int(time.time())).scopes == {"operate"}


def test_without_the_key_there_is_no_token(tmp_path):
    """An empty HOME gets no new key by it."""
    with pytest.raises(CannotStart):
        CliRunner().invoke(token, ["--scope", "operate", "--home", str(tmp_path)], catch_exceptions=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options", [("--name", ""), ("--name", "a b"), ("--name", "x" * 41), ("--name", "a\n"), ("--days", "0"), ("--days", "366")]
)
def test_bad_usage(options):
    """Names that would not be read well in a log, and terms out of bounds."""
    answer = made(*options)
    assert answer.exit_code == 2


def test_a_host_s_token_is_for_a_host_and_nothing_else(keys, tmp_path):
    """`pulka serve bots` is known to the lobby by it; it neither plays nor operates, and has no name of its own."""
    answer = CliRunner().invoke(token, ["--scope", "host", "--days", "30", "--home", str(tmp_path / "home"), "--json"])
    told, now = msgspec.json.decode(answer.stdout), int(time.time())
    caller = keys.verify(told["token"], now)
    assert (caller.player, caller.scopes, told["author"]) == ("bot-host", {"host"}, "bot-host")
    assert not caller.is_operator
    assert 30 * 24 * 3600 - 60 < caller.expires - now <= 30 * 24 * 3600


@pytest.mark.parametrize("scope", ["play", "bot", "read", ""])
def test_no_other_scope_is_given(scope):
    """Who plays signs up, and a bot host gets its players' from the lobby."""
    assert isinstance(CliRunner().invoke(token, ["--scope", scope], standalone_mode=False).exception, click.BadParameter)
