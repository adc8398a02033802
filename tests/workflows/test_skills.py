"""A skill from its line in the instructions to its text in the conversation, by the rules of each agent."""

from typing import Final

from tests.activities.web.page_server import page_server
from tests.harness import Harness
from tests.workflows.conftest import Open
from tests.workflows.session_runs import local_calls
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState
from workflows.domain.sent_request import RequestChoice

LOAD: Final = ScriptedAnswer(tools=(ScriptedCall(name="skill", arguments={"name": "deploy"}),))
DONE: Final = ScriptedAnswer(text="Done.")


def write_skill(harness: Harness, body: str) -> None:
    harness.file(".claude/skills/deploy/SKILL.md", f"---\nname: deploy\ndescription: How we deploy\n---\n{body}")


async def layers(harness: Harness, session: SessionId, turn: int, step: int) -> dict[str, str]:
    sent = await harness.client.records.sent(session, RequestChoice(turn=turn, step=step))
    assert sent.as_sent
    return {each.name: each.text for each in sent.layers}


async def test_a_skill_is_listed_asked_about_and_loaded_as_it_is_then(open_harness: Open) -> None:
    async with (
        page_server({"/rules.md": "Answer in verse."}) as server,
        open_harness(LOAD, DONE, LOAD, DONE) as harness,
        harness.running_worker(),
    ):
        harness.configure_person(model={}, instructions=[f"{server.url}/rules.md"])
        write_skill(harness, "Old text")
        harness.configure(permission={"skill": "ask"})
        session = await harness.start_session("Deploy.")
        (ask,) = await harness.wait_for_asks(session)
        write_skill(harness, "New text")
        await harness.answer(ask)
        await harness.ended(session)
        write_skill(harness, "Newest text")
        listed = [await layers(harness, session, 1, step) for step in (1, 2)]
        harness.file("AGENTS.md", "Use tabs.")
        harness.configure(permission={"skill": "deny"})
        await harness.client.prompt(session, "Again.")
        await harness.ended(session, 2)
        (loaded, refused) = await harness.calls(session)
        denied = await layers(harness, session, 2, 1)
        history = (await harness.history(session)).to_json()

    assert listed[0] == listed[1] and "<name>deploy</name><description>How we deploy" in listed[0]["skills"]
    assert loaded.state is CallState.DONE and loaded.outcome is not None and "New text" in loaded.outcome.output
    assert listed[0][f"instructions {server.url}/rules.md"].endswith("Answer in verse.")
    assert server.asked == [("/rules.md", 200)] and "in verse" not in history
    assert not any("Use tabs" in text for text in listed[1].values())
    assert denied[f"instructions {harness.project}/AGENTS.md"].endswith("Use tabs.")
    assert refused.state is CallState.REFUSED and "skills" not in denied
    assert "New text" not in history


async def test_a_read_within_a_task_carries_the_instructions_beside_its_file_once(open_harness: Open) -> None:
    def look(file: str) -> ScriptedAnswer:
        return ScriptedAnswer(tools=(ScriptedCall(name="read", arguments={"filePath": file}),))

    async with open_harness(look("sub/a.txt"), look("sub/b.txt"), DONE) as harness, harness.running_worker():
        harness.file("sub/AGENTS.md", "Use tabs.")
        for name in ("a", "b"):
            harness.file(f"sub/{name}.txt", name)
        session = await harness.start_session("Look.")
        await harness.ended(session)
        outputs = [call.outcome.output for call in await harness.calls(session) if call.outcome]
        assert local_calls(await harness.history(session)) == [call.id for call in await harness.calls(session)]

    assert ["Use tabs." in output for output in outputs] == [True, False]
