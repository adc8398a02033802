"""`holdfast trust`, and the question of `run`: what of a project's configuration counts, and since when."""

import json
import re

from tests.harness import Harness
from tests.worker.cli.conftest import PROGRAM, OpenHarness, shell
from worker.cli.exit_codes import ExitCode
from worker.scripted.script import ScriptedAnswer, ScriptedCall

COMMANDS = ("touch ran", f"{PROGRAM} trust --yes")
RUNS = ScriptedAnswer(tools=tuple(ScriptedCall(name="bash", arguments={"command": each}) for each in COMMANDS))
HELLO = ScriptedAnswer(text="Hello to you.")
ASKS = ("run", "-m", "scripted/model", "--no-wait", "--exit", "go")
PROJECT = {
    "permission": {"bash": {"*": "allow"}},
    "provider": {"scripted": {"options": {"headers": {"X-Shop": "{file:./header}"}}}},
}


def sent(harness: Harness) -> tuple[str | None, str]:
    """The project's header of the last request, and what the model got to read."""
    request = harness.model.last_request
    assert request is not None
    return request.headers.get("X-Shop"), json.dumps(request.body)


async def test_what_a_person_accepts_counts_until_it_changes(open_harness: OpenHarness) -> None:
    async with open_harness(RUNS, HELLO) as harness, harness.running_worker():
        harness.configure_person(model={}, permission={"bash": "ask"})
        harness.file("header", "one")
        harness.file("opencode.json", json.dumps(PROJECT))
        person = shell(harness).with_(COLUMNS="300")

        unasked = await person.run(*ASKS)
        before = sent(harness)
        async with person.terminal(*ASKS) as terminal:
            await terminal.until(r"has 1 thing that would start.*\s+Accept \(y/n/s\)")
            terminal.type("s\r")
            await terminal.until(
                r"(?s)where requests to provider scripted go.*bash `\*`: ask → allow.*bash.\*: allow.*Accept"
            )
            terminal.type("y\r")
            await terminal.until("Accepted: it counts from the next turn on")
            await terminal.until("counts, accepted by")
            await terminal.until("Hello to you")
            accepted = await terminal.ended()
        after = sent(harness)
        told = await person.run("log", "last")
        shown = await person.run("config")

        harness.file("header", "two")
        changed = await person.run(*ASKS)
        async with person.with_(COLUMNS="50").terminal("trust") as terminal:
            difference = await terminal.until(r"(?s)What was accepted.*(?=Accept it\?)")
            terminal.type("n\r")
            declined = await terminal.ended()
        async with person.terminal(*ASKS) as terminal:
            waited = await terminal.ended()
        harness.file("header", "one")
        again = await person.run(*ASKS)
        harness.file("opencode.json", "{")
        revoked = await person.run("trust", "--revoke")
        harness.file("opencode.json", json.dumps(PROJECT))
        verified = await person.run("trust", "--verify")
        piped = await person.run("trust")
        listing = json.loads((await person.run("trust", "--json")).out)
        other = await person.run("run", "--trust", "0" * 64, "-m", "scripted/model", "--exit", "go")
        named = await person.run("run", "--trust", listing["digest"], "-m", "scripted/model", "--exit", "go")
        by_digest = sent(harness)[0]
        await person.run("trust", "--revoke")
        decided = await person.run("trust", "--json", "--yes")

    assert unasked.code == ExitCode.WAITING and before[0] is None
    held = "Not there until a person accepts it (`holdfast trust`): provider.scripted of the project's files."
    assert held in " ".join(unasked.err.split())
    assert (accepted, after[0]) == (0, "one") and (harness.project / "ran").exists()
    assert "Only a person may decide this, but call " in after[1]
    assert re.search(r"accepted by .* \(record 1\)", " ".join(told.out.split()))
    assert "permission.bash.*" in shown.out and "allow" in shown.out
    assert (changed.code, waited) == (0, 0)  # its rules are accepted as before, its header is not there
    assert "held something else" in " ".join(difference[0].split()) and declined == ExitCode.FAILED
    assert max(len(re.sub(r"\x1b\[\d+m", "", row)) for row in difference[0].splitlines()) <= 50
    assert again.code == 0 and (again.out + again.err).count("accepted by") == 1
    assert (revoked.code, verified.code, piped.code) == (0, 0, ExitCode.USAGE)
    assert verified.out.endswith(": 3 records: the chain is whole\n")
    assert other.code == ExitCode.USAGE and listing["digest"] in " ".join(other.err.split())
    assert (named.code, by_digest) == (0, "one")
    assert (decided.code, json.loads(decided.out)) == (0, listing)
    assert listing["decision"] is None and {each["file"] for each in listing["items"]} == {
        str(harness.project / "opencode.json")
    }
