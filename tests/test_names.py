"""One name, one thing: within a service, within what is shared, and in the description that clients are made from."""

from __future__ import annotations

import ast
import secrets
from collections import Counter
from pathlib import Path

import httpx
import pytest

from services.cli.serving.composition import SERVICES
from shared.events.keys import MasterKeys
from shared.web import application
from shared.web.settings import Settings
from tests.token_keys import token_files

ROOT = Path(__file__).parents[1]
HOUSES = ["shared", *(f"services/{path.parent.name}" for path in sorted((ROOT / "services").glob("*/__init__.py")))]
OF_STRUCTS = 30  # component schemas that there are at least: the moves alone are nearly as many


@pytest.mark.parametrize("house", HOUSES)
def test_no_two_public_classes_of_one_name(house):
    """Who reads a name, or searches for it, finds one class."""
    found = Counter(
        node.name
        for path in (ROOT / house).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert found
    assert [name for name, times in found.items() if times > 1] == []


async def test_components_are_called_by_one_plain_name(tmp_path):
    """The components of the OpenAPI document are words: two structs of one name would be told apart by their modules' paths, which clients
    would then be made from. Every reference leads to one.
    """
    path = tmp_path / "master_keys"
    MasterKeys.create(path, "k1", secrets.token_bytes(32))
    settings = Settings(master_keys_file=str(path), **token_files(tmp_path))
    app = application.build([create(settings) for create in SERVICES.values()], settings)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        answer = await client.get("/schema/openapi.json")
    schemas = answer.json()["components"]["schemas"]
    assert len(schemas) >= OF_STRUCTS
    assert [name for name in schemas if not (name.isalpha() and name[0].isupper())] == []
    assert Counter(schema.get("title", name) for name, schema in schemas.items()).most_common(1)[0][1] == 1
    referred = {text.partition('"')[0] for text in answer.text.split('"#/components/schemas/')[1:]}
    assert referred - schemas.keys() == set()
