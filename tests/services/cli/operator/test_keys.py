"""`pulka keys`: made once, for their owner alone; checked; rotated in two steps, of which the second waits for every instance."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from services.cli.embedded.home import Home
from services.cli.operator import keys_rotate
from services.cli.operator.key_files import place_of
from services.cli.operator.keys import keys
from shared.events import key_files
from shared.events.keys import MasterKeys, SigningKey
from shared.events.token_keys import TokenSigner, public_half, public_text, read_public
from shared.web import application, auth
from shared.web.problems import Problem
from shared.web.service import CannotBeDone, CannotStart, ServersUnreachable, Service
from shared.web.settings import Settings
from tests.served import served

FILES = ("master_keys", "signing_key", "token_key", "token_public_keys")


class Keys:
    """The command, a HOME, and the files there."""

    def __init__(self, folder):
        self.home, self.at = folder, folder / "keys"
        self.environment = {name: None for name in os.environ if name.startswith("PULKA_")} | {"PULKA_HOME": str(folder)}

    def run(self, *arguments):
        return CliRunner(env=self.environment).invoke(keys, arguments)

    def told(self, *arguments, status=0):
        done = self.run(*arguments, "--json")
        assert done.exit_code == status, (done.output, done.exception)
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]  # an instance in this process logs there too
        return msgspec.json.decode(line)

    def refused(self, *arguments):
        """What the command was refused with: its kind, and the line."""
        error = self.run(*arguments).exception
        assert isinstance(error, CannotStart), error
        return type(error), str(error)

    def ids(self, name):
        path = self.at / name
        return [key_id for key_id, _ in (read_public(path)[0] if name == "token_public_keys" else key_files.read(path))]

    def secrets(self):
        return [key.hex() for name in FILES[:3] for _, key in key_files.read(self.at / name)]


@pytest.fixture
def club(tmp_path):
    made = Keys(tmp_path / "home")
    made.told("new")
    return made


def elsewhere(club):
    """The same files, named by variables: the command cannot know which instances use them."""
    for name in FILES:
        club.environment[f"PULKA_{name.upper()}_FILE"] = str(club.at / name)
    club.environment["PULKA_HOME"] = str(club.home / "none")


# ---- new ------------------------------------------------------------------------------------------------------------------


def test_new_keys_are_for_their_owner_alone(tmp_path):
    """All four files, 0600 in a folder 0700; a second time nothing is made; nothing that is said holds a key."""
    club = Keys(tmp_path / "home")
    said = club.run("new").output
    assert [stat.S_IMODE((club.at / name).stat().st_mode) for name in FILES] == [0o600] * 4
    assert stat.S_IMODE(club.at.stat().st_mode) == 0o700
    before = {name: (club.at / name).read_text() for name in FILES}
    assert club.told("new")["made"] == []
    assert {name: (club.at / name).read_text() for name in FILES} == before
    assert not any(secret in said for secret in club.secrets())
    assert SigningKey.load(club.at / "signing_key").public in said


def test_a_new_club_takes_no_hmac_and_an_older_one_for_a_while(tmp_path):
    """Where there was a master key before there may be tokens by HMAC; until when they are made is written down (`--switch-in`)."""
    club = Keys(tmp_path / "home")
    club.told("new")
    assert read_public(club.at / "token_public_keys")[1] == 0
    for options, later in (((), 0), (("--switch-in", "90"), 90 * 60)):
        for name in ("token_key", "token_public_keys"):
            (club.at / name).unlink()
        assert club.told("new", *options)["made"] == [str(club.at / "token_key"), str(club.at / "token_public_keys")]
        assert abs(read_public(club.at / "token_public_keys")[1] - time.time() - later) < 60


def test_what_is_missing_of_the_token_keys_is_made_from_the_other(club):
    """The public half of a private key that is there is written anew; a lost private key gets a successor, the older tokens stay good."""
    old = club.ids("token_key")
    (club.at / "token_public_keys").unlink()
    club.told("new")
    assert club.ids("token_public_keys") == old
    (club.at / "token_key").unlink()
    club.told("new")
    (new,) = club.ids("token_key")
    assert club.ids("token_public_keys") == [new, *old]
    assert read_public(club.at / "token_public_keys")[1] == 0


def test_no_new_master_key_beside_a_log(club):
    """A key that is lost is put back, or the log cannot be read; a lost signing key may have a successor."""
    Home(club.home).log.mkdir(parents=True)
    (club.at / "signing_key").unlink()
    assert club.told("new")["made"] == [str(club.at / "signing_key")]
    (club.at / "master_keys").unlink()
    assert "put it back" in club.refused("new")[1]
    assert not (club.at / "master_keys").exists()


def test_new_where_no_folder_is(club):
    """Only a HOME's own folder is made."""
    club.environment["PULKA_MASTER_KEYS_FILE"] = str(club.home / "no" / "master")
    assert club.refused("new")[1].endswith("is no folder")


# ---- check ----------------------------------------------------------------------------------------------------------------


def test_check_of_what_is_well(club):
    """Status 0, ids and public halves, and no key."""
    said = club.run("check", "--files-only")
    assert (said.exit_code, said.output.splitlines()[-1]) == (0, "well")
    assert not any(secret in said.output for secret in club.secrets())
    about = club.told("check")
    assert (about["well"], about["problems"]) == (True, [])
    assert about["master"]["opens"] == [about["master"]["seals"]] == club.ids("master_keys")
    assert about["token"]["known"] == [about["token"]["signs"]] == club.ids("token_key")


def _opened(club):
    (club.at / "master_keys").chmod(0o640)


def _lost(club):
    (club.at / "signing_key").unlink()


def _garbled(club):
    key_files.replace(club.at / "token_key", "secret-word\n")


def _foreign(club):
    (key_id,) = club.ids("token_key")
    key_files.replace(club.at / "token_public_keys", public_text([(key_id, public_half(b"f" * 32))]))


def _no_point(club):
    key_files.replace(club.at / "token_public_keys", public_text([("k1", b"\xff" * 31)]))


@pytest.mark.parametrize(
    ("damage", "found", "says"),
    [
        (_opened, ("master", "mode"), "chmod 600"),
        (_lost, ("signing", "missing"), "pulka keys new"),
        (_garbled, ("token", "unreadable"), "line 1"),
        (_foreign, ("token", "token_refused"), "pulka keys new"),
        (_no_point, ("token", "unreadable"), "line 1"),
    ],
)
def test_check_of_what_is_wrong(club, damage, found, says):
    """Status 1; each file is named with what to do about it, and without a word of what stands in it."""
    damage(club)
    (problem,) = club.told("check", "--files-only", status=1)["problems"]
    assert (problem["about"], problem["code"]) == found
    assert says in problem["message"]
    said = club.run("check", "--files-only").output
    assert said.splitlines()[-1] == "NOT WELL"
    assert "secret" not in said


def test_check_on_a_machine_of_a_table(club):
    """Where neither private key belongs, their absence is no fault."""
    elsewhere(club)
    for name in ("token_key", "signing_key"):
        (club.at / name).unlink()
    assert club.told("check", "--files-only")["well"]


# ---- rotate ---------------------------------------------------------------------------------------------------------------


def test_a_home_that_nobody_runs_takes_both_steps_at_once(club):
    """The new key is the first; the older ones open."""
    old = club.ids("master_keys")
    answer = club.told("rotate", "master")
    assert (answer["uses"], club.ids("master_keys")) == (True, [answer["key"], *old])
    again = club.told("rotate", "master")
    assert club.ids("master_keys") == [again["key"], answer["key"], *old]
    assert stat.S_IMODE((club.at / "master_keys").stat().st_mode) == 0o600


def test_files_elsewhere_take_two_steps(club):
    """First all instances have to know the key, and the command says what to run then; nothing seals under it before."""
    elsewhere(club)
    old = club.ids("master_keys")
    answer = club.told("rotate", "master")
    assert (answer["uses"], club.ids("master_keys")) == (False, [*old, answer["key"]])
    assert re.search(rf"pulka keys rotate master --to {answer['key']}$", answer["message"])
    assert club.told("rotate", "master", "--to", answer["key"])["uses"]
    assert club.ids("master_keys") == [answer["key"], *old]
    assert club.told("rotate", "master", "--to", answer["key"])["uses"]
    assert club.ids("master_keys") == [answer["key"], *old]
    assert "has no key k0" in club.refused("rotate", "master", "--to", "k0")[1]


def test_a_signing_key_is_published_before_it_signs(club):
    """Two steps, always; the private half that signs no more goes."""
    (old,) = club.ids("signing_key")
    answer = club.told("rotate", "signing", "--home", str(club.home))
    assert club.ids("signing_key") == [old, answer["key"]]
    assert answer["public"] in answer["message"]
    assert answer["message"].endswith(f"--to {answer['key']} --home {club.home}")
    assert club.told("rotate", "signing", "--to", answer["key"])["public"] == answer["public"]
    assert SigningKey.load(club.at / "signing_key").public == answer["public"]
    assert club.ids("signing_key") == [answer["key"]]


def test_a_token_key_is_known_before_it_signs(club):
    """The older one's public half stays, so that its tokens go on, until it is forgotten; the one that signs cannot be."""
    (old,) = club.ids("token_key")
    settings = Settings(home=str(club.home))
    early, tokens = auth.issuing(settings).issue("3-abc", ("play",), 100), auth.verifying(settings)
    answer = club.told("rotate", "token")
    assert (club.ids("token_key"), club.ids("token_public_keys")) == ([answer["key"]], [answer["key"], old])
    assert auth.verifying(settings).verify(early, 100).player == tokens.verify(early, 100).player == "3-abc"
    assert auth.issuing(settings).signer.id == answer["key"]
    assert "signs tokens now" in club.refused("rotate", "token", "--forget", answer["key"])[1]
    club.told("rotate", "token", "--forget", old)
    with pytest.raises(Problem, match="none of ours"):
        auth.verifying(settings).verify(early, 100)
    assert "has no key" in club.refused("rotate", "token", "--forget", old)[1]


def test_a_private_key_that_nobody_knows_is_not_used(club):
    """The second step refuses a key whose public half is missing."""
    elsewhere(club)
    answer = club.told("rotate", "token")
    public = read_public(club.at / "token_public_keys")[0]
    key_files.replace(club.at / "token_public_keys", public_text([one for one in public if one[0] != answer["key"]]))
    assert "lacks the public half" in club.refused("rotate", "token", "--to", answer["key"])[1]


@pytest.mark.parametrize("arguments", [("master", "--forget", "k1"), ("token", "--forget", "a", "--to", "b"), ("other",), ()])
def test_bad_usage(club, arguments):
    """Status 2, and nothing is changed."""
    before = club.ids("master_keys")
    assert club.run("rotate", *arguments).exit_code == 2
    assert club.ids("master_keys") == before


def test_two_rotations_at_once_lose_no_key(club, monkeypatch):
    """Each waits for the other."""
    monkeypatch.setenv("PULKA_HOME", str(club.home))
    place = place_of(None)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: keys_rotate._add(place, "token"), range(8)))
    assert set(club.ids("token_key")[1:]) == set(club.ids("token_public_keys")[:-1]) == set(made)


# ---- instances ------------------------------------------------------------------------------------------------------------


async def nothing():
    """A start and a stop."""


def instance(folder):
    """An application with keys from the files in `folder`, which says of them what a table and a lobby say."""
    master = MasterKeys.load(folder / "master_keys")
    signer = TokenSigner.load(folder / "token_key")

    async def health():
        master.refresh(now=True)
        return {
            "status": "ok",
            "master_keys": {"seals": master.ids[0], "opens": list(master.ids), "trouble": master.trouble},
            "token_key": signer.id,
        }

    settings = Settings(token_public_keys_file=str(folder / "token_public_keys"))
    return application.build([Service(name="table", start=nothing, stop=nothing, health=health)], settings)


@pytest.mark.parametrize("kind", ["master", "token"])
async def test_it_waits_until_every_instance_knows_the_key(club, kind):
    """With an address for each it takes both steps by itself; `check` asks them too."""
    elsewhere(club)
    async with served(instance(club.at)) as one, served(instance(club.at)) as other:
        urls = [option for at in (one, other) for option in ("--url", f"http://127.0.0.1:{at.port}")]
        answer = await asyncio.to_thread(club.told, "rotate", kind, *urls)
        assert (answer["uses"], answer["instances"]) == (True, urls[1::2])
        assert club.ids(f"{kind}_key{'s' * (kind == 'master')}")[0] == answer["key"]
        about = await asyncio.to_thread(club.told, "check", *urls)
        assert [seen["seals" if kind == "master" else "signs_tokens"] for seen in about["instances"]] == [[answer["key"]]] * 2


async def test_an_instance_that_has_another_file_stops_it(club, tmp_path, monkeypatch):
    """Nothing seals under the key before that instance knows it; what was begun goes on with `--to` once it has the file."""
    monkeypatch.setattr("services.cli.operator.key_files.WAIT_S", 0.0)
    elsewhere(club)
    other = tmp_path / "other"
    other.mkdir()
    for name in FILES:
        key_files.create(other / name, (club.at / name).read_text())
    (old,) = club.ids("master_keys")
    async with served(instance(other)) as at:
        url = f"http://127.0.0.1:{at.port}"
        kind, said = await asyncio.to_thread(club.refused, "rotate", "master", "--url", url)
        (_, new) = club.ids("master_keys")
        assert (kind, f"does not know the master key {new} yet" in said, f"--to {new}" in said) == (CannotBeDone, True, True)
        about = await asyncio.to_thread(club.told, "check", "--url", url, status=1)
        assert [problem["code"] for problem in about["problems"]] == ["instance_lacks_key"]
        key_files.replace(other / "master_keys", (club.at / "master_keys").read_text())
        kind, said = await asyncio.to_thread(club.refused, "rotate", "master", "--to", new, "--url", url)
        assert (kind, "may be another one" in said) == (CannotBeDone, True)  # the file of this instance is still to be brought
        assert club.ids("master_keys") == [new, old]


async def test_what_is_no_instance_is_told_before_anything_is_changed(club):
    """Another server, an older version, nobody at all."""
    before = club.ids("master_keys")
    older = application.build([], Settings(token_public_keys_file=str(club.at / "token_public_keys")))
    async with served(older) as at:
        kind, _ = await asyncio.to_thread(club.refused, "rotate", "master", "--url", "http://127.0.0.1:1")
        assert kind is ServersUnreachable
        kind, said = await asyncio.to_thread(club.refused, "rotate", "master", "--url", f"http://127.0.0.1:{at.port}/schema")
        assert (kind, "says nothing of keys" in said) == (CannotStart, True)
    assert club.ids("master_keys") == before


def test_public_keys_are_public_keys(club):
    """What is made is what the library takes."""
    for _, key in read_public(club.at / "token_public_keys")[0]:
        assert Ed25519PublicKey.from_public_bytes(key)
