"""`holdfast run --schema` as a process."""

import json
from typing import Any

from tests.worker.cli.conftest import CommandRunner, OpenHarness, shell
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.output_format import STRUCTURED_OUTPUT

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
GIVE = ScriptedAnswer(
    text="Here it is.", tools=(ScriptedCall(name=STRUCTURED_OUTPUT, arguments={"city": "Köln", "people": 1}),)
)
TEXT = ScriptedAnswer(text="Köln.")
PROMPT = "msg_000000000001AAAAAAAAAAAAAA"
RUN = ("run", "-m", "scripted/model", "--schema", "city.json")


async def test_standard_output_is_the_value_alone_and_empty_without_one(open_harness: OpenHarness) -> None:
    async with open_harness(TEXT, GIVE, GIVE, TEXT, TEXT, TEXT) as harness, harness.running_worker():
        harness.file("city.json", json.dumps(CITY))
        person = shell(harness)
        given = await person.run(*RUN, "--id", PROMPT, "Which city?")
        exported = json.loads((await person.run("export", "last")).out)
        logged = await person.run("log", "last")
        again = await person.run(*RUN, "-c", "--json", "Which city?")
        deleted = await person.run("delete", "last", "--yes", "--message", exported["messages"][2]["info"]["id"])
        gone = await person.run(*RUN, "--id", PROMPT, "Which city?")
        without = json.loads((await person.run("export", "last")).out)["messages"][2]["info"]
        failed = await person.run(*RUN, "-c", "Which city?")
    assert (given.code, given.out) == (0, '{"city": "Köln", "people": 1}\n'), given.err
    assert "Here it is." in given.err and "Done in" in given.err and "another configuration" not in given.err
    user, _, answer = exported["messages"]
    assert user["info"]["format"] == {"type": "json_schema", "schema": CITY, "retryCount": 2}
    assert answer["info"]["structured"] == {"city": "Köln", "people": 1}
    assert deleted.code == 0 and (gone.code, gone.out) == (6, "") and "structured" not in without
    assert "The result of prompt" in gone.err and "was deleted with message" in gone.err
    assert STRUCTURED_OUTPUT in logged.out and "Köln" in logged.out
    used = [json.loads(line) for line in again.out.splitlines()]
    assert [each["part"]["state"]["input"] for each in used if each["type"] == "tool_use"] == [
        {"city": "Köln", "people": 1}
    ]
    assert (failed.code, failed.out) == (1, "") and "no result that fits the schema, in 3 tries" in failed.err


async def test_a_file_that_is_no_schema_is_refused_before_anything_starts(bare: CommandRunner) -> None:
    for text, why in (
        (None, "cannot be read: No such file"),
        ("{", "is no JSON"),
        ("[]", "is no JSON object"),
        ('{"type": "string"}', "has to be of an object"),
    ):
        if text is not None:
            bare.directory.joinpath("city.json").write_text(text)
        wrong = await bare.run(*RUN, "Which city?")
        assert wrong.code == 2 and why in " ".join(wrong.err.split())
    assert not (bare.directory.parent / "home").exists()
