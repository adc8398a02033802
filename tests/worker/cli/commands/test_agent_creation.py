"""`holdfast agents create`: a file of an agent, by flags, by questions, or written by a model."""

import json
from pathlib import Path
from typing import Any

from tests.worker.cli.conftest import CommandRunner
from worker.scripted.model_server import ModelServer, serve
from worker.scripted.script import Refuse, Script, ScriptedAnswer, ScriptedCall

WRITTEN = {
    "identifier": "sql-reviewer",
    "whenToUse": "Use it for changes of queries: it finds missing indexes.",
    "systemPrompt": "You review SQL.\n\nReport each query without an index.",
}


def answer(**changed: Any) -> ScriptedAnswer:
    return ScriptedAnswer(tools=(ScriptedCall(name="StructuredOutput", arguments={**WRITTEN, **changed}),))


def with_model(person: CommandRunner, server: ModelServer) -> CommandRunner:
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": server.url, "apiKey": "k"}}
    folder = person.directory.parent / ".config" / "opencode"
    folder.mkdir(parents=True)
    own = {"provider": {"local": {**provider, "models": {"m": {"temperature": True}}}}, "model": "local/m"}
    (folder / "opencode.json").write_text(json.dumps(own))
    return person


def agent_file(person: CommandRunner, name: str) -> Path:
    return person.directory / ".opencode" / "agent" / f"{name}.md"


async def test_an_agent_is_created_from_flags_without_a_model_and_never_twice(bare: CommandRunner) -> None:
    (bare.directory / "prompt.md").write_text("You run the tests.\n")
    typed = ("agents", "create", "qa/tester", "--description", "Runs: the tests", "--prompt", "@prompt.md")
    first = await bare.run(*typed, "--mode", "subagent", "--tools", "read, bash")
    found = json.loads((await bare.run("agents", "show", "qa/tester", "--json")).out)
    file = agent_file(bare, "qa/tester")
    kept = file.read_text()
    again = await bare.run(*typed)
    unknown = await bare.run("agents", "create", "x", "--description", "d", "--prompt", "p", "--tools", "rm")

    assert first.code == 0 and first.out == kept and str(file) in " ".join(first.err.split())
    assert (found["mode"], found["description"]) == ("subagent", "Runs: the tests")
    assert {"bash", "read"}.isdisjoint({rule["permission"] for rule in found["rules"] if rule["file"] != "built-in"})
    assert (again.code, unknown.code) == (2, 2) and file.read_text() == kept
    assert "There is an agent 'qa/tester' already" in again.err
    assert "No tool is named 'rm'" in unknown.err


async def test_a_model_writes_one_without_a_clash_and_is_told_once_what_was_wrong(bare: CommandRunner) -> None:
    taken = answer(identifier="explore")
    async with serve(Script(answers=(taken,))) as server:
        person = with_model(bare, server)
        refused = await person.run("agents", "create", "--description", "reviews SQL")
        sent = server.last_request
        server.scripts = {"default": Script(answers=(answer(),))}
        written = await person.run("agents", "create", "--description", "reviews SQL", "--tools", "read")
    found = json.loads((await person.run("agents", "show", "sql-reviewer", "--json")).out)

    assert sent is not None and sent.body["temperature"] == 0.3
    assert "the identifier 'explore' is in use" in sent.body["messages"][-1]["content"]
    assert "explore, general" in sent.body["messages"][-1]["content"]
    assert refused.code == 2 and "twice: the identifier 'explore' is in use" in " ".join(refused.err.split())
    assert written.code == 0 and found["description"] == WRITTEN["whenToUse"]
    assert agent_file(person, "sql-reviewer").read_text().endswith(f"---\n\n{WRITTEN['systemPrompt']}\n")


async def test_a_person_is_asked_for_what_is_missing_and_may_refuse_what_a_model_wrote(bare: CommandRunner) -> None:
    questions = (
        ("What should the agent do", "reviews SQL"),
        ("Who may hand it work", "primary"),
        ("Which tools may it use", "rm"),
        ("No tool is named 'rm'(?s:.*)Which tools may it use", "read,grep"),
        ("Is it for you", "y"),
        ("Write this to", "n"),
    )
    async with (
        serve(Script(answers=(answer(),))) as server,
        with_model(bare, server).terminal("agents", "create") as terminal,
    ):
        for question, typed in questions:
            await terminal.until(question)
            terminal.type(f"{typed}\r")
        assert await terminal.ended() != 0

    assert not list(bare.directory.parent.rglob("sql-reviewer.md"))


async def test_what_stands_in_the_way_is_said_and_nothing_is_written(bare: CommandRunner) -> None:
    nothing = await bare.run("agents", "create", "--description", "reviews SQL")
    busy = ScriptedAnswer(text="x", faults={1: Refuse(status=401, body={"error": {"message": "wrong"}})})
    async with serve(Script(answers=(busy,))) as server:
        refused = await with_model(bare, server).run("agents", "create", "--description", "reviews SQL")

    assert nothing.code == 2 and "No provider has a key yet: " in nothing.err and "say NAME," in nothing.err
    assert refused.code == 2 and "rejected the API key (401)" in " ".join(refused.err.split())
    assert not (bare.directory / ".opencode").exists()
