"""Tokens: made by who holds the private key and by nobody else; what a thief of public keys or of a master key cannot do with them."""

from __future__ import annotations

import base64
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from shared.events import key_files
from shared.events.keys import MasterKeys
from shared.events.token_keys import PublicKeys, TokenSigner, hmac_key, public_half, public_text
from shared.web import auth
from shared.web.auth import BOT, HOST, LIFETIME, OPERATE, PLAY, READ, Caller, Issuer, Tokens
from shared.web.problems import Problem
from shared.web.service import CannotStart
from shared.web.settings import Settings
from tests.token_keys import ISSUER, KEY, PUBLIC, token_files, verifier

NOW = 1_800_000_000
MASTER = MasterKeys((("m1", b"m" * 32),))
OTHER = ("t2", bytes(range(32)))
CLAIMS = {"iss": "pulka", "sub": "3-abc", "scope": "play", "iat": NOW, "exp": NOW + 100, "jti": "id"}
OPERATORS = CLAIMS | {"sub": "operator:thief", "scope": "operate"}


def signed(claims=CLAIMS, key=None, algorithm="EdDSA", **header):
    """A token of these claims, under the true private key unless told otherwise."""
    key = Ed25519PrivateKey.from_private_bytes(KEY[1]) if key is None else key
    headers = {name: value for name, value in ({"kid": KEY[0]} | header).items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers=headers)


def by_hmac(claims=CLAIMS, key_id="m1", keys=MASTER, **header):
    """A token as they were made before there were private keys, or by whoever has a master key."""
    return jwt.encode(claims, hmac_key(keys, key_id), algorithm="HS256", headers=header or None)


def refused(tokens, token, now=NOW):
    with pytest.raises(Problem) as problem:
        tokens.verify(token, now)
    assert (problem.value.status_code, problem.value.code) == (401, "token_invalid")
    return True


def test_a_token_ends():
    """A token is refused once it has expired, even if it was verified while it held; two clocks may differ by a minute."""
    tokens, token = verifier(), ISSUER.issue("3-abc", (PLAY,), NOW, lifetime=100)
    assert tokens.verify(token, NOW) == tokens.verify(token, NOW + 159) == Caller("3-abc", frozenset({PLAY}), NOW + 100, KEY[0])
    for _ in range(2):
        assert refused(tokens, token, NOW + 161)
    assert tokens._verified == {}


def test_what_is_remembered_is_bounded(monkeypatch):
    """Of many tokens those are remembered that were used last; who is forgotten is verified anew."""
    monkeypatch.setattr("shared.web.auth._REMEMBERED", 3)
    tokens, made = verifier(), [ISSUER.issue(f"3-{number}", (PLAY,), NOW) for number in range(5)]
    for token in made:
        tokens.verify(token, NOW)
        tokens.verify(made[0], NOW)
        assert len(tokens._verified) <= 3
    assert [caller.player for caller in tokens._verified.values()] == ["3-3", "3-4", "3-0"]
    assert tokens.verify(made[1], NOW).player == "3-1"


def test_tokens_under_other_keys():
    """A key that nobody published signs nothing; a public key that is added leaves the older tokens valid."""
    token, later = ISSUER.issue("3-abc", (PLAY,), NOW), Issuer(TokenSigner((OTHER, KEY))).issue("3-abc", (PLAY,), NOW)
    assert refused(verifier(), later)
    both = Tokens(PublicKeys((PUBLIC, (OTHER[0], public_half(OTHER[1])))))
    assert [both.verify(one, NOW).key for one in (token, later)] == ["t1", "t2"]
    assert refused(Tokens(PublicKeys(((PUBLIC[0], public_half(OTHER[1])),))), token)


@pytest.mark.parametrize(
    "change",
    [
        {"drop": "exp"},
        {"drop": "iat"},
        {"exp": [1]},
        {"exp": float("inf")},
        {"drop": "sub"},
        {"sub": 7},
        {"scope": 7},
        {"iss": "other"},
    ],
)
def test_a_token_that_was_made_up(change):
    """A missing claim, a foreign issuer, a scope or an end of another type: refused, even under the right key."""
    claims = dict(CLAIMS)
    claims.pop(change.pop("drop", ""), None)
    key = Ed25519PrivateKey.from_private_bytes(KEY[1])
    assert refused(verifier(), jwt.api_jws.encode(json.dumps(claims | change).encode(), key, "EdDSA", {"kid": KEY[0]}))
    assert verifier().verify(jwt.api_jws.encode(json.dumps(CLAIMS).encode(), key, "EdDSA", {"kid": KEY[0]}), NOW)


PEM = Ed25519PrivateKey.from_private_bytes(KEY[1]).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize("secret", [PUBLIC[1], PUBLIC[1].hex().encode(), PEM, PEM.strip(), b"", public_text([PUBLIC]).encode()])
@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
@pytest.mark.parametrize("old", [None, MASTER])
@pytest.mark.filterwarnings("ignore::jwt.InsecureKeyLengthWarning")  # the thief does not mind
def test_a_public_key_is_no_secret_of_an_hmac(secret, algorithm, old):
    """The oldest attack on such tokens: sign by HMAC with what everybody may know. In no form of it, in no club, with or without a kid."""
    tokens = Tokens(PublicKeys((PUBLIC,), hmac_before=NOW + 10), old)
    for kid in (KEY[0], None):
        head = {"alg": algorithm, "typ": "JWT"} | ({"kid": kid} if kid else {})
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (head, OPERATORS)]
        message = b".".join(parts)
        signature = jwt.get_algorithm_by_name(algorithm).sign(message, secret)
        assert refused(tokens, (message + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode())


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(jwt.encode(OPERATORS, "", algorithm="none"), id="none"),
        pytest.param(jwt.encode(OPERATORS, "", algorithm="none", headers={"kid": KEY[0]}), id="none with a kid"),
        pytest.param(signed(OPERATORS, kid="nobody"), id="unknown kid"),
        pytest.param(signed(OPERATORS, kid=None), id="no kid"),
        pytest.param(signed(OPERATORS, kid="../../t1"), id="a path for a kid"),
        pytest.param(signed(OPERATORS, Ed25519PrivateKey.from_private_bytes(OTHER[1])), id="another key under our kid"),
        pytest.param(signed(OPERATORS, jwk={"kty": "OKP", "crv": "Ed25519", "x": "AA"}), id="a key of its own"),
        pytest.param(signed(OPERATORS, x5u="https://thief.example/key"), id="a key elsewhere"),
        pytest.param(signed(OPERATORS, crit=["exp"]), id="critical extensions"),
        pytest.param(signed().rsplit(".", 1)[0] + ".", id="no signature"),
        pytest.param(signed().rsplit(".", 1)[0] + "." + "A" * 86, id="a signature of zeros"),
        pytest.param(signed().replace(".", ".."), id="four dots"),
        pytest.param("." + signed(), id="no header"),
        pytest.param("e30." + signed().split(".", 1)[1], id="an empty header"),
        pytest.param("bm8." + signed().split(".", 1)[1], id="a header that is no JSON"),
    ],
)
def test_attacks_on_the_header(token):
    """The header names one of our keys and the one algorithm that it is for, and nothing else: whatever is different is 401."""
    assert refused(verifier(), token)
    assert refused(Tokens(PublicKeys((PUBLIC,), hmac_before=NOW + 10), MASTER), token)


def test_a_signature_holds_for_its_claims():
    """Claims that were changed, or taken from another token, do not fit."""
    mine, theirs = signed().split("."), signed(OPERATORS).split(".")
    assert refused(verifier(), ".".join([mine[0], theirs[1], mine[2]]))
    assert verifier().verify(signed(), NOW).player == "3-abc"


def test_scopes_nobody_knows_are_dropped():
    """A scope that this version does not know allows nothing."""
    assert verifier().verify(ISSUER.issue("3-abc", ("play", "fly"), NOW), NOW).scopes == {PLAY}


def test_the_bot_host():
    """The bot host's own token carries the scope that signs up bots, and nothing that plays."""
    assert verifier().verify(ISSUER.issue_host(NOW), NOW).scopes == {HOST}


# ---- tokens of former times ---------------------------------------------------------------------------------------------


def test_a_players_token_of_former_times_is_good_to_its_end():
    """Until the moment in the public file tokens were signed by HMAC: they go on, under every master key, as players' and bots'."""
    tokens = Tokens(PublicKeys((PUBLIC,), hmac_before=NOW), MasterKeys((("m2", b"n" * 32), ("m1", b"m" * 32))))
    old = CLAIMS | {"iat": NOW - 1, "exp": NOW - 1 + LIFETIME, "scope": "bot play read"}
    assert tokens.verify(by_hmac(old), NOW + LIFETIME - 1).scopes == {PLAY, READ, BOT}
    assert refused(tokens, by_hmac(old), NOW + LIFETIME + 60)


@pytest.mark.parametrize(
    "change",
    [
        {"scope": "operate", "sub": "operator:thief"},
        {"scope": "operate play"},
        {"scope": "host", "sub": "bot-host"},
        {"iat": NOW},
        {"iat": NOW + 5},
        {"iat": None},
        {"exp": NOW + LIFETIME + 1},
        {"exp": 10**12},
    ],
)
def test_who_steals_a_master_key_makes_no_operator(change):
    """By HMAC nobody is an operator or a host, nobody signs any more, and nothing is good for longer than a year from that moment."""
    tokens = Tokens(PublicKeys((PUBLIC,), hmac_before=NOW), MASTER)
    old = CLAIMS | {"iat": NOW - 1, "exp": NOW + 50}
    assert tokens.verify(by_hmac(old), NOW).player == "3-abc"
    claims = {name: value for name, value in (old | change).items() if value is not None}
    assert refused(tokens, by_hmac(claims))
    assert refused(tokens, by_hmac(old, kid=KEY[0]))


def test_a_club_without_former_times_takes_no_hmac():
    """Without that moment in the public file, or without the master keys (a ledger), an HMAC proves nothing."""
    old = by_hmac(CLAIMS | {"iat": NOW - 1})
    assert refused(Tokens(PublicKeys((PUBLIC,)), MASTER), old)
    assert refused(Tokens(PublicKeys((PUBLIC,), hmac_before=NOW)), old)


def test_the_lobby_signs_as_before_until_the_moment_comes():
    """While instances are exchanged one by one, the older ones know what the newer ones hand out; operators' tokens are never so."""
    issuer = Issuer(TokenSigner((KEY,), hmac_before=NOW, old=MASTER))
    algorithms = [
        jwt.get_unverified_header(token)["alg"]
        for token in (
            issuer.issue("3-abc", (PLAY, READ), NOW - 1),
            issuer.issue("3-abc", (PLAY, READ), NOW),
            issuer.issue("operator:desk", (OPERATE,), NOW - 1),
            issuer.issue_host(NOW - 1),
        )
    ]
    assert algorithms == ["HS256", "EdDSA", "EdDSA", "EdDSA"]
    tokens = Tokens(PublicKeys((PUBLIC,), hmac_before=NOW), MASTER)
    assert tokens.verify(issuer.issue("3-abc", (PLAY, READ), NOW - 1), NOW).player == "3-abc"


# ---- files ----------------------------------------------------------------------------------------------------------------


def changed(path, text):
    """Another file in the place of one that is in use; the next look at it is due."""
    key_files.replace(path, text)


@pytest.fixture
def eager(monkeypatch):
    """Files are looked at each time."""
    monkeypatch.setattr("shared.events.key_files.LOOK_S", 0.0)


@pytest.mark.usefixtures("eager")
def test_public_keys_follow_their_file(tmp_path):
    """A key is added: its tokens count at once. It is taken away: they end at once, remembered or not. A broken file changes nothing."""
    path = tmp_path / "public"
    key_files.create(path, public_text([PUBLIC]))
    tokens = Tokens(PublicKeys.load(path))
    mine, later = signed(), Issuer(TokenSigner((OTHER,))).issue("3-abc", (PLAY,), NOW)
    assert tokens.verify(mine, NOW)
    assert refused(tokens, later)
    changed(path, public_text([PUBLIC, (OTHER[0], public_half(OTHER[1]))]))
    assert tokens.verify(later, NOW).player == tokens.verify(mine, NOW).player == "3-abc"
    changed(path, "nothing that one could read")
    assert tokens.verify(mine, NOW)
    assert "line 1" in tokens.public.trouble
    assert "nothing" not in tokens.public.trouble
    changed(path, public_text([(OTHER[0], public_half(OTHER[1]))]))
    assert refused(tokens, mine)
    assert tokens.verify(later, NOW)
    assert tokens.public.trouble is None


def test_an_unknown_kid_is_looked_up_at_once(tmp_path):
    """The lobby may sign with a key that was published within this second."""
    path = tmp_path / "public"
    key_files.create(path, public_text([PUBLIC]))
    tokens = Tokens(PublicKeys.load(path))
    changed(path, public_text([PUBLIC, (OTHER[0], public_half(OTHER[1]))]))
    assert tokens.verify(Issuer(TokenSigner((OTHER,))).issue("3-abc", (PLAY,), NOW), NOW)


@pytest.mark.usefixtures("eager")
def test_the_signer_follows_its_file(tmp_path):
    """The first key of the file signs; a broken file leaves the one in hand."""
    path = tmp_path / "private"
    key_files.create(path, key_files.lines([KEY]))
    signer = TokenSigner.load(path)
    assert jwt.get_unverified_header(signer.sign(CLAIMS))["kid"] == "t1"
    changed(path, key_files.lines([OTHER, KEY]))
    assert jwt.get_unverified_header(signer.sign(CLAIMS))["kid"] == "t2"
    changed(path, "")
    assert signer.id == "t2"
    assert OTHER[1].hex()[:8] not in repr(signer)


def test_a_service_needs_public_keys_and_a_lobby_the_private_one(tmp_path):
    """What is missing is named, with what to do; a private key whose public half nobody has would sign for nobody."""
    with pytest.raises(CannotStart, match=r"public token keys in .*token_public_keys.*`pulka keys new`"):
        auth.verifying(Settings(home=str(tmp_path)))
    with pytest.raises(CannotStart, match=r"private token key in .*token_key.*`pulka keys new`"):
        auth.issuing(Settings(home=str(tmp_path)))
    settings = Settings(**token_files(tmp_path))
    assert auth.verifying(settings).verify(auth.issuing(settings).issue("3-abc", (PLAY,), NOW), NOW)
    changed(tmp_path / "token_public_keys", public_text([(KEY[0], public_half(OTHER[1]))]))
    with pytest.raises(CannotStart, match="lacks the public half of t1"):
        auth.issuing(settings)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hmac-before:5\n", "no key"),
        (public_text([PUBLIC], 5) + "hmac-before:6\n", "twice"),
        (public_text([PUBLIC]) + "hmac-before:soon\n", "line 2"),
        (f"t1:{'zz' * 32}\n", "line 1"),
    ],
)
def test_a_public_file_that_cannot_be_used(tmp_path, text, says):
    """It is named with its line, and a service does not start."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "token_public_keys").write_text(text)
    with pytest.raises(CannotStart, match=says):
        auth.verifying(Settings(home=str(tmp_path)))
