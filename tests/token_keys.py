"""The keys of tokens in tests: one pair, the files that settings name, who makes tokens with it and who verifies them."""

from __future__ import annotations

from pathlib import Path

from shared.events import key_files
from shared.events.token_keys import PublicKeys, TokenSigner, public_half, public_text
from shared.web.auth import Issuer, Tokens

KEY = ("t1", bytes(range(100, 132)))
PUBLIC = (KEY[0], public_half(KEY[1]))
ISSUER = Issuer(TokenSigner((KEY,)))


def verifier() -> Tokens:
    """Takes what `ISSUER` made."""
    return Tokens(PublicKeys((PUBLIC,)))


def token_files(folder: Path) -> dict[str, str]:
    """Both files, in `folder`: the settings that name them."""
    private, public = folder / "token_key", folder / "token_public_keys"
    if not private.exists():
        key_files.create(private, key_files.lines([KEY]))
        key_files.create(public, public_text([PUBLIC]))
    return {"token_key_file": str(private), "token_public_keys_file": str(public)}


def token_variables(folder: Path) -> dict[str, str]:
    """The same as the environment has them."""
    return {f"PULKA_{name.upper()}": path for name, path in token_files(folder).items()}
