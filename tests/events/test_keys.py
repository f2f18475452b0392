"""Keys: read from files, never shown, and what is derived from them."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from shared.events import key_files
from shared.events.key_files import KeyFileError
from shared.events.keys import MasterKeys, SigningKey, UnknownKey, command_digest, former_digests, verify_signature
from shared.events.sealed import Opened, TamperedBox

TABLE = "table.3.3-abc"
OLD, NEW = ("old", b"o" * 32), ("new", b"n" * 32)
OPENED = Opened("AS KS", "00" * 16)


def test_a_key_file_is_read_in_its_order(tmp_path):
    """The first key of a file seals; all of them open."""
    path = tmp_path / "master"
    path.write_text(f"new:{'6e' * 32}\n\nold:{'6F' * 32}\n")
    keys = MasterKeys.load(path)
    assert keys.ids == ("new", "old")
    box = MasterKeys((OLD,)).box_key(TABLE).seal(OPENED, b"n" * 12, b"here")
    assert keys.box_key(TABLE, box.key).open(box, b"here") == OPENED


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no key"),
        ("\n \n", "no key"),
        ("k1:" + "ab" * 31, "line 1"),
        ("k1:" + "ab" * 32 + "\nk1:" + "cd" * 32, "line 2: key k1"),
        ("Not a key:" + "ab" * 32, "line 1"),
        ("ab" * 32, "line 1"),
        ("k1:" + "ab" * 32 + "\nsecret-word", "line 2"),
    ],
)
def test_a_bad_key_file_is_named_by_line(tmp_path, text, says):
    """A file that holds something else than keys is refused, by file and line and without a word of its content."""
    path = tmp_path / "master"
    path.write_text(text)
    with pytest.raises(KeyFileError) as refused:
        MasterKeys.load(path)
    assert says in str(refused.value)
    assert "ab" * 8 not in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("kind", [MasterKeys, SigningKey])
def test_a_new_key_is_its_owners_alone(tmp_path, kind):
    """A created key is readable by nobody else, reads back as it was, and is never written over."""
    path = tmp_path / "key"
    made = kind.create(path, "k1", b"e" * 32)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert repr(kind.load(path)) == repr(made)
    with pytest.raises(FileExistsError):
        kind.create(path, "k2", b"f" * 32)
    assert "k1:" in path.read_text()
    with pytest.raises(ValueError, match="entropy"):
        kind.create(tmp_path / "weak", "k1", b"e" * 31)
    with pytest.raises(ValueError, match="key id"):
        kind.create(tmp_path / "odd", "K 1", b"e" * 32)


def test_no_key_shows(tmp_path):
    """What prints of keys is their ids."""
    master, signing = MasterKeys.create(tmp_path / "m", "k1", b"e" * 32), SigningKey.create(tmp_path / "s", "k2", b"e" * 32)
    secret = (tmp_path / "m").read_text().strip().partition(":")[2]
    for shown in (repr(master), repr(signing), repr(master.box_key(TABLE)), str(UnknownKey("k3"))):
        assert secret[:8] not in shown
        assert "k" in shown


def test_an_unknown_key_is_named():
    """A box under a key that is not here says which key that is; so does the check before a service starts."""
    keys = MasterKeys((NEW,))
    with pytest.raises(UnknownKey, match="old") as unknown:
        keys.box_key(TABLE, "old")
    assert unknown.value.key_id == "old"
    with pytest.raises(UnknownKey, match="older"):
        keys.require(frozenset({"new", "older"}))
    keys.require(frozenset({"new"}))


def test_every_table_has_a_key_of_its_own():
    """A box of one table does not open with the key of another, even at the same place."""
    keys = MasterKeys((NEW,))
    box = keys.box_key(TABLE).seal(OPENED, b"n" * 12, b"here")
    with pytest.raises(TamperedBox):
        keys.box_key("table.3.3-abd").open(box, b"here")


def test_derived_keys_are_not_kept_for_ever(monkeypatch):
    """However many tables are asked for, a bounded number of derived keys is remembered, and a forgotten one is made again."""
    monkeypatch.setattr("shared.events.keys.KEPT", 3)
    keys = MasterKeys((NEW,))
    box = keys.box_key("table.0").seal(OPENED, b"n" * 12, b"here")
    for number in range(10):
        keys.box_key(f"table.{number}")
        command_digest(keys, f"table.{number}", b"")
    assert len(keys._box_keys) == len(keys._digest_keys) == 3
    assert keys.box_key("table.0").open(box, b"here") == OPENED


def test_a_command_digest_is_keyed():
    """Another key, table or payload gives another digest, and a digest is none that could be computed without a key."""
    new, old = MasterKeys((NEW,)), MasterKeys((OLD,))
    digests = [
        command_digest(new, TABLE, b"one"),
        command_digest(new, TABLE, b"two"),
        command_digest(new, "table.3.3-abd", b"one"),
        command_digest(old, TABLE, b"one"),
    ]
    assert len(set(digests)) == 4
    assert {len(digest) for digest in digests} == {64}


def test_a_repeat_is_known_after_a_new_key():
    """A command repeated after a new master key was put in front is still the same command; another payload is not."""
    remembered = command_digest(MasterKeys((OLD,)), TABLE, b"one")
    keys = MasterKeys((NEW, OLD))
    assert former_digests(keys, TABLE, b"one") == (remembered,)
    assert former_digests(keys, TABLE, b"two") != (remembered,)
    assert former_digests(MasterKeys((NEW,)), TABLE, b"one") == ()


def test_a_signature_is_checked_with_the_public_half(tmp_path):
    """A signature holds for its message and its key, and for nothing else."""
    key = SigningKey.create(tmp_path / "signing", "s1", b"e" * 32)
    signature = key.sign(b"head")
    assert verify_signature(key.public, b"head", signature)
    assert not verify_signature(key.public, b"tail", signature)
    assert not verify_signature(SigningKey("s2", b"x" * 32).public, b"head", signature)
    assert not verify_signature(key.public, b"head", "no hex")
    assert not verify_signature("", b"head", signature)


# ---- a file that changes while it is used -------------------------------------------------------------------------------


@pytest.fixture
def eager(monkeypatch):
    """Files are looked at each time."""
    monkeypatch.setattr("shared.events.key_files.LOOK_S", 0.0)


@pytest.fixture
def followed(tmp_path):
    """A file of the old key, and the keys that follow it."""
    path = tmp_path / "master"
    key_files.create(path, key_files.lines([OLD]))
    return path, MasterKeys.load(path)


@pytest.mark.usefixtures("eager")
def test_a_key_is_rotated_while_it_is_used(followed):
    """Added behind, the new key opens and nothing is sealed under it; made the first, it seals; the old one goes on opening."""
    path, keys = followed
    first = keys.box_key(TABLE).seal(OPENED, b"n" * 12, b"here")
    key_files.replace(path, key_files.lines([OLD, NEW]))
    assert (keys.ids, keys.box_key(TABLE).id, keys.box_key(TABLE, "new").id) == (("old", "new"), "old", "new")
    key_files.replace(path, key_files.lines([NEW, OLD]))
    second = keys.box_key(TABLE).seal(OPENED, b"n" * 12, b"here")
    assert (first.key, second.key, keys.ids) == ("old", "new", ("new", "old"))
    for box in (first, second):
        assert keys.box_key(TABLE, box.key).open(box, b"here") == OPENED
    assert (
        command_digest(keys, TABLE, b"one") != former_digests(keys, TABLE, b"one")[0] == command_digest(MasterKeys((OLD,)), TABLE, b"one")
    )


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("text", "trouble"),
    [("", "no key"), ("half of a li", "line 1"), ("old:" + "ab" * 32, "another one than before"), (None, "No such file")],
)
def test_a_file_that_cannot_be_used_changes_nothing(followed, text, trouble):
    """Whatever is put in its place, the keys in hand go on sealing and opening; what is wrong is told, without a word of the content."""
    path, keys = followed
    box = keys.box_key(TABLE).seal(OPENED, b"n" * 12, b"here")
    path.unlink() if text is None else key_files.replace(path, text)
    assert keys.ids == ("old",)
    assert trouble in keys.trouble
    assert "ab" * 4 not in keys.trouble
    assert keys.box_key(TABLE, "old").open(box, b"here") == OPENED
    path.unlink(missing_ok=True)
    key_files.create(path, key_files.lines([NEW, OLD]))
    assert (keys.ids, keys.trouble) == (("new", "old"), None)


@pytest.mark.usefixtures("eager")
def test_a_key_that_is_taken_away_opens_until_the_process_ends(followed):
    """A slip of the pen in the file fails no move; a start with that file would say what is missing."""
    path, keys = followed
    key_files.replace(path, key_files.lines([NEW]))
    assert keys.ids == ("new", "old")
    assert MasterKeys.load(path).ids == ("new",)


def test_a_box_under_a_key_of_this_very_second(followed):
    """Another instance may have begun to seal under a new key before this one's next look: then it looks at once."""
    path, keys = followed
    box = MasterKeys((NEW,)).box_key(TABLE).seal(OPENED, b"n" * 12, b"here")
    key_files.replace(path, key_files.lines([OLD, NEW]))
    keys.require(frozenset({"new"}))
    assert keys.box_key(TABLE, box.key).open(box, b"here") == OPENED
    with pytest.raises(UnknownKey, match="newer"):
        keys.box_key(TABLE, "newer")


def test_a_replaced_file_keeps_its_owner_and_who_may_read_it(tmp_path):
    """It is another file under the same name, closed to the world, open to its group where it was; a link leads to where it led."""
    path = tmp_path / "master"
    key_files.create(path, key_files.lines([OLD]))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    (tmp_path / "link").symlink_to(path)
    before = path.stat()
    key_files.replace(tmp_path / "link", key_files.lines([NEW]))
    after = path.stat()
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (before.st_uid, before.st_gid, 0o640)
    assert after.st_ino != before.st_ino
    assert (tmp_path / "link").is_symlink()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "master"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_makes_and_replaces_files_for_their_owner(tmp_path):
    """A service that is not root reads them: a new file belongs to whoever has the folder, a replaced one to whom it belonged."""
    tmp_path.chmod(0o777)
    os.chown(tmp_path, 12345, 12346)
    path = tmp_path / "master"
    key_files.create(path, key_files.lines([OLD]))
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12346)
    os.chown(path, 23456, 23457)
    key_files.replace(path, key_files.lines([NEW]))
    assert (path.stat().st_uid, path.stat().st_gid) == (23456, 23457)


def test_a_file_of_another_user_is_not_replaced(tmp_path, monkeypatch):
    """They could not read what took its place."""
    path = tmp_path / "master"
    key_files.create(path, key_files.lines([OLD]))
    monkeypatch.setattr("shared.events.key_files.os.geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="another user"):
        key_files.replace(path, key_files.lines([NEW]))
    assert key_files.read(path) == (OLD,)


@pytest.mark.usefixtures("eager")
def test_a_file_that_is_made_readable_is_read(followed, monkeypatch):
    """It was put there as somebody else's, then given to the service: that changes no byte of it, and is seen all the same."""
    path, keys = followed
    key_files.replace(path, key_files.lines([NEW, OLD]))
    read = key_files.read

    def closed(_path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("shared.events.key_files.read", closed)
    assert (keys.ids, "Permission denied" in keys.trouble) == (("old",), True)
    monkeypatch.setattr("shared.events.key_files.read", read)
    path.chmod(0o600)
    path.chmod(0o640)
    assert (keys.ids, keys.trouble) == (("new", "old"), None)


def test_what_is_half_written_is_never_there(tmp_path, monkeypatch):
    """A full disk in the middle leaves the file as it was, and nothing beside it."""

    def full(_descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "master"
    key_files.create(path, key_files.lines([OLD]))
    monkeypatch.setattr("shared.events.key_files.os.fsync", full)
    for write in (lambda: key_files.replace(path, key_files.lines([NEW])), lambda: key_files.create(tmp_path / "other", "x")):
        with pytest.raises(OSError, match="No space"):
            write()
    assert key_files.read(path) == (OLD,)
    assert [one.name for one in tmp_path.iterdir()] == ["master"]
