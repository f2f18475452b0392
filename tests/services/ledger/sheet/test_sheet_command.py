"""`pulka sheet` and `pulka whatif` of a table whose result was changed after the settlement: in the terminal as on the page."""

from __future__ import annotations

import asyncio
import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

from services.cli.player.sheet import sheet
from services.cli.player.whatif import whatif
from shared.rules.score_files.scorer_words import signed
from tests.served import served
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers

WORDS = {
    "en": ("After the settlement", "result now", "annulled", "over, annulled", "Above is what was played"),
    "ru": ("После расчёта", "итог теперь", "аннулирована", "окончена, аннулирована", "Выше то, что сыграно"),
}
COMMANDS = ((sheet, ()), (whatif, ("--convention", "leningrad")))


async def run(command, *arguments):
    return await asyncio.to_thread(CliRunner().invoke, command, [str(one) for one in arguments])


def document_of(done):
    """The one JSON object; the server, in the same process here, logs beside it."""
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(line)


async def test_4_2_16_corrected_and_annulled_it_says_so(site, log):
    """Who, why, how much and what stands now, in both languages, below the sheet and below a comparison; nothing of it before."""
    played = await PlayedTable(log, 31, target=2).play()
    await site.read(played, "/sheet")
    async with served(site.app) as server:
        table = (played.id, "--url", f"http://127.0.0.1:{server.port}")
        before = await run(sheet, *table)
        assert (before.exit_code, "result now" in before.stdout) == (0, False)
        assert "annulled" not in document_of(await run(whatif, *table, "--convention", "leningrad", "--json"))
        await played.correct(5, "-5/3", "-10/3")
        await site.read(played, "/sheet")
        corrected = await run(sheet, *table)
        await played.annul()
        await site.read(played, "/sheet")
        told = {(command, lang): await run(command, *more, *table, "--lang", lang) for command, more in COMMANDS for lang in WORDS}
        document = document_of(await run(whatif, *table, "--convention", "leningrad", "--json"))
    for words in ("over, corrected", "+5", "−5/3", "−10/3", "result now"):
        assert words in corrected.stdout
    for (command, lang), done in told.items():
        heading, stands, annulled, state, above = WORDS[lang]
        assert done.exit_code == 0, done.output
        for words in (heading, stands, f"{annulled}: ", above, "operator:desk", *((state,) if command is sheet else ())):
            assert words in done.stdout, (command.name, words)
        last = next(line for line in done.stdout.splitlines() if stands in line)
        assert last.count(" 0 ") == 3
    assert document["annulled"]["reason"] == "two players were one"
    assert len(document["corrections"]) == 1


async def test_4_2_13_a_corrected_result_is_owed_as_the_statement_has_it(site, log):
    """F33: the terminal's sheet ends with the payments of the table's statement, and nowhere shows those that were corrected."""
    played = await PlayedTable(log, 33, target=4, terms={"stake": "7/100"}).play()
    await played.correct(5, -5, 0)
    await played.correct("1/7", "-1/7", 0)
    standing = (await site.read(played, "/statement"))["results"]
    async with served(site.app) as server:
        done = await run(sheet, played.id, "--url", f"http://127.0.0.1:{server.port}")
    assert done.exit_code == 0, done.output
    owed = [signed(Fraction(one["payment"])) for one in standing]
    last = next(line for line in reversed(done.stdout.splitlines()) if all(f" {amount} " in line for amount in owed))
    assert done.stdout.index("Settlement") < done.stdout.index("+1/7") < done.stdout.index(last)
