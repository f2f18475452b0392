"""Settings: one value read once, complaints that name the variable, no password shown."""

import msgspec
import pytest

from shared.events.address import SIZES
from shared.web.settings import BadSetting, Settings, describe_settings, masked, read_settings, variable


def test_nothing_given_is_the_defaults():
    """An empty variable is one that was not given."""
    assert read_settings({}) == read_settings({"PULKA_PORT": "", "PULKA_NATS_URL": ""}) == Settings()


def test_variables_are_read_by_their_type():
    """Numbers, switches and words arrive as such."""
    given = {"PULKA_PORT": "0", "PULKA_BOTS": "no", "PULKA_NATS_DURABLE": "Yes", "PULKA_NAMESPACE": "t1", "PULKA_LOG_LEVEL": "debug"}
    read = read_settings(given)
    assert (read.port, read.bots, read.nats_durable, read.namespace, read.log_level) == (0, False, True, "t1", "debug")


def test_every_field_has_its_variable():
    """A value given for any setting arrives at that setting and at no other."""
    samples = {
        "nats_durable": "yes",
        "bots": "no",
        "port": "1",
        "log_level": "error",
        "lobby_url": "http://lobby",
        "table_url": "http://table",
    }
    samples |= {"partitions": "16", "partitions_used": "8", "replicas": "3", "stream_bytes": "1024", "cache_mb": "64", "bot_seats": "5"}
    for field in msgspec.structs.fields(Settings):
        read = read_settings({variable(field.name): samples.get(field.name, "x")})
        changed = [name for name in Settings.__struct_fields__ if getattr(read, name) != getattr(Settings(), name)]
        assert changed == [field.name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PULKA_PORT", "http"),
        ("PULKA_PORT", "65536"),
        ("PULKA_PORT", "-1"),
        ("PULKA_BOTS", "perhaps"),
        ("PULKA_NAMESPACE", "A b"),
        ("PULKA_LOG_LEVEL", "loud"),
    ],
)
def test_a_bad_value_names_its_variable(name, value):
    """What cannot be read is refused with the name of the variable."""
    with pytest.raises(BadSetting, match=f"^{name}: "):
        read_settings({name: value})


def test_a_description_stands_with_every_setting_and_shows_no_password():
    """`pulka settings` tells what each is for; connection strings are shown without their passwords."""
    rows = describe_settings(Settings(nats_url="nats://service:hush@host:4222", postgres_dsn="postgresql://pulka:hush@host/db"))
    assert [row["variable"] for row in rows] == [variable(field.name) for field in msgspec.structs.fields(Settings)]
    assert all(row["description"] for row in rows)
    assert "hush" not in str(rows)
    assert rows[0]["value"] == "nats://service:***@host:4222"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("nats://host:4222", "nats://host:4222"),
        ("postgresql://u:p%40ss@[::1]:5432/db?x=1", "postgresql://u:***@[::1]:5432/db?x=1"),
        ("nats://u:a@h1:1,nats://u:b@h2:2", "nats://u:***@h1:1,nats://u:***@h2:2"),
        ("postgresql://h/db?user=u&password=secret", "postgresql://h/db?user=u&password=***"),
        ("host=h user=u password=secret", "***"),
    ],
)
def test_masked(url, shown):
    """No form in which a password may be given is shown with it."""
    assert masked(url) == shown


def test_the_url_of_a_wildcard_address_is_reached_over_loopback():
    """Bots and the ready line need an address that can be connected to."""
    wildcard = "0.0.0.0"  # noqa: S104 - compared, not bound
    assert [Settings(host=host, port=1).url for host in (wildcard, "127.0.0.1", "::", "::1", "host")] == [
        "http://127.0.0.1:1",
        "http://127.0.0.1:1",
        "http://[::1]:1",
        "http://[::1]:1",
        "http://host:1",
    ]


def test_partitions_are_doublings_of_the_fewest():
    """What a setting may say is what a log can have, and nought for its default."""
    for field in ("partitions", "partitions_used"):
        given = [number for number in range(130) if _is_read(variable(field), str(number))]
        assert given == [0, *SIZES]


def _is_read(name, text):
    try:
        read_settings({name: text})
    except BadSetting:
        return False
    return True
