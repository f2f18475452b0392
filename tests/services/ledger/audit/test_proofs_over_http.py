"""Checkpoints, proofs and exports of tables over HTTP: all that a stranger checks with, and nothing that a viewer may not know."""

from __future__ import annotations

import json

import httpx
import msgspec
import pytest

from services.ledger.audit.audit_api import proof_routes
from services.ledger.audit.proof_reads import ProofReads
from services.ledger.audit.signing import DAY_MS
from services.ledger.desk.desk import Desk
from shared.events.checkpoint_document import Proof, is_proved
from shared.events.commit import hash_of
from shared.events.export_file import ExportedProof, ExportedTable, read_export
from shared.events.keys import MasterKeys
from shared.web import application
from shared.web.service import Service
from shared.web.settings import Settings
from tests.services.ledger.audit.test_checkpoints import KEY, NOW, OURS, leaf, read
from tests.services.ledger.played import PlayedTable
from tests.token_keys import token_files

pytestmark = pytest.mark.servers


@pytest.fixture
async def site(log, projector, readers, proofs, tmp_path):
    async def nothing() -> None:
        """Started and stopped by the fixtures."""

    async def health() -> dict:
        return {}

    reads = ProofReads(Desk(log, readers, projector.at_least), proofs)
    service = Service(name="ledger", routes=proof_routes(lambda: reads), start=nothing, stop=nothing, health=health)
    MasterKeys.create(tmp_path / "master_keys", "k1", b"k" * 32)
    app = application.build([service], Settings(master_keys_file=str(tmp_path / "master_keys"), **token_files(tmp_path)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://ledger/v1/ledger") as client:
        yield client


async def told(site, path, status=200, **parameters):
    answer = await site.get(path, params=parameters)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.headers["content-type"] != "application/x-ndjson" else answer.content


async def test_checkpoints_over_http(log, projector, checkpoints, site):
    """Newest first, in pages, each with what is needed to check it, without a token."""
    played = await PlayedTable(log, 9).play(commits=9)
    await read(projector, played)
    made = [(await checkpoints.sign(KEY, NOW + day * DAY_MS))[0] for day in range(3)]
    page = await told(site, "/checkpoints", limit=2)
    rest = await told(site, "/checkpoints", limit=2, cursor=page["cursor"])
    assert rest["cursor"] is None
    assert [(one["number"], one["signed"], one["signature"]) for one in page["checkpoints"] + rest["checkpoints"]] == [
        (number, made[number - 1].signed, made[number - 1].signature) for number in (3, 2, 1)
    ]
    assert await told(site, "/checkpoints/3") == page["checkpoints"][0]
    assert (await told(site, "/checkpoints/4", 404))["code"] == "no_such_checkpoint"
    await told(site, "/checkpoints/99999999999999999999", 404)


async def test_every_commit_is_proved_over_http(log, projector, checkpoints, site):
    """In the newest checkpoint, or in an older one that is named; a stranger checks it with the public key alone."""
    one, two = await PlayedTable(log, 10).play(commits=30), await PlayedTable(log, 11).play(commits=8)
    await read(projector, one, two)
    await checkpoints.sign(KEY, NOW)
    await two.play()
    await read(projector, two)
    await checkpoints.sign(KEY, NOW)
    for revision in (1, 2, 8, 9, len(two.commits)):
        proof = msgspec.convert(await told(site, f"/tables/{two.id}/audit/proof", revision=revision), Proof)
        assert is_proved(proof, OURS)
        assert (proof.leaf, proof.commit) == (leaf(two), hash_of(two.commits[revision - 1].data))
    older = msgspec.convert(await told(site, f"/tables/{two.id}/audit/proof", revision=8, checkpoint=1), Proof)
    assert is_proved(older, OURS)
    assert older.leaf.revision == 8
    for revision, number in ((9, 1), (len(two.commits) + 1, 2)):
        refused = await told(site, f"/tables/{two.id}/audit/proof", 404, revision=revision, checkpoint=number)
        assert refused["code"] == "not_in_checkpoint"
    assert (await told(site, f"/tables/{two.id}/audit/proof", 404, revision=1, checkpoint=3))["code"] == "no_such_checkpoint"
    await told(site, f"/tables/{two.id}/audit/proof", 400)
    await told(site, f"/tables/{two.id}/audit/proof", 400, revision=1, checkpoint=1 << 63)
    await told(site, f"/tables/{two.id}/audit/proof", 400, revision=0)


async def test_what_a_viewer_may_not_know_is_not_proved_to_him(log, projector, checkpoints, site):
    """A private table's proofs are for its players; a delayed table's end is not told by a checkpoint either."""
    terms = {"visibility": "private"}
    private = await PlayedTable(log, 12, terms=terms).play(commits=30)
    delayed = await PlayedTable(log, 13, terms={"spectators": {"allowed": True, "delay_deals": 1}}).play(deals=2)
    await read(projector, private, delayed)
    await checkpoints.sign(KEY, NOW)
    for path, asked in (("proof", {"revision": 1}), ("deals/1", {}), ("export", {})):
        await told(site, f"/tables/{private.id}/audit/{path}", 401, **asked)
    assert (await told(site, f"/tables/{delayed.id}/audit/proof", 404, revision=1))["code"] == "not_in_checkpoint"
    await delayed.play()
    await read(projector, delayed)
    await told(site, f"/tables/{delayed.id}/audit/proof", revision=1)


async def test_a_deal_is_dealt_once_more_over_http(log, projector, site):
    """Once it is revealed: promise, seeds, cut, and the cards that follow; not before, and not what does not exist."""
    played = await PlayedTable(log, 14, target=30).play(deals=2)
    await played.play(commits=len(played.commits) + 6)
    await read(projector, played)
    deal = await told(site, f"/tables/{played.id}/audit/deals/2")
    assert (deal["number"], deal["verified"], deal["problems"], deal["players"]) == (2, True, [], 3)
    revealed = next(
        event
        for recorded in played.commits
        for event in json.loads(recorded.data)["events"]
        if event["type"] == "DealRevealed" and event["number"] == 2
    )
    assert (deal["hands"], deal["talon"], deal["server_seed"]) == (revealed["hands"], revealed["talon"], revealed["server_seed"])
    for number in (0, 3, 4):
        assert (await told(site, f"/tables/{played.id}/audit/deals/{number}", 404))["code"] == "no_such_deal"


async def test_a_finished_table_is_exported(log, projector, checkpoints, site):
    """To the byte, with the newest checkpoint if it holds all of it; while the pulka goes on it is refused."""
    played = PlayedTable(log, 15)
    await played.play(commits=20)
    await read(projector, played)
    assert (await told(site, f"/tables/{played.id}/audit/export", 409))["code"] == "pulka_goes_on"
    await played.play()
    await read(projector, played)
    _, table = read_export((await told(site, f"/tables/{played.id}/audit/export")).splitlines(keepends=True))
    stored = tuple(recorded.data for recorded in played.commits)
    assert table == ExportedTable(played.id, "TABLE_0", hash_of(stored[-1]), stored)
    signed, _ = await checkpoints.sign(KEY, NOW)
    *_, checkpoint, proof = read_export((await told(site, f"/tables/{played.id}/audit/export")).splitlines(keepends=True))
    assert checkpoint == signed
    assert isinstance(proof, ExportedProof)
    assert proof.leaf == leaf(played)
    assert proof.path.leads_to(proof.leaf.entry) == signed.header.root


async def test_a_finished_table_is_exported_with_the_proof_of_its_beginning(log, projector, checkpoints, site):
    """A checkpoint that was signed while the pulka went on proves the table as far as it knows it, over HTTP as by the command."""
    played = await PlayedTable(log, 15).play(commits=20)
    await read(projector, played)
    signed, _ = await checkpoints.sign(KEY, NOW)
    await played.play()
    await read(projector, played)
    _, table, *proved = read_export((await told(site, f"/tables/{played.id}/audit/export")).splitlines(keepends=True))
    assert len(table.commits) == len(played.commits) > 20
    assert proved[0] == signed
    assert (proved[1].leaf, proved[1].path.leads_to(proved[1].leaf.entry)) == (leaf(played, 20), signed.header.root)


async def test_f20_a_copy_in_the_log_changes_no_checkpoint(log, projector, checkpoints, site, connection):
    """F20: a commit that lies there twice is one commit: signed, proved and exported as without its copy, also without the books' rows."""
    played = await PlayedTable(log, 20).play(commits=10)
    await read(projector, played)
    await checkpoints.sign(KEY, NOW)
    for commits in (10, 20, 0):
        played._sequence = (await log.append(played.address, played.commits[-1].data, played._sequence)).sequence
        await played.play(commits=commits)
    await read(projector, played)
    _, leaves = await checkpoints.sign(KEY, NOW)
    assert leaves == [leaf(played)]
    _, table, *_ = read_export((await told(site, f"/tables/{played.id}/audit/export")).splitlines(keepends=True))
    assert table.commits == tuple(stored.data for stored in played.commits)
    await connection.execute("DELETE FROM audit_trail WHERE revision = 2")  # as a commit that was left out has no row
    proof = msgspec.convert(await told(site, f"/tables/{played.id}/audit/proof", revision=30), Proof)
    assert is_proved(proof, OURS)
    assert proof.commit == hash_of(played.commits[29].data)
