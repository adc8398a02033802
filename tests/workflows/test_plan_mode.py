"""Plan mode: what it may do, and how a person lets it end."""

import pytest

from tests.workflows.conftest import Open
from worker.scripted.script import Script, ScriptedAnswer, ScriptedCall
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import Prompt


def calls(*named: tuple[str, dict[str, str]]) -> ScriptedAnswer:
    return ScriptedAnswer(tools=tuple(ScriptedCall(name=name, arguments={**arguments}) for name, arguments in named))


def write(name: str) -> tuple[str, dict[str, str]]:
    return "write", {"filePath": name, "content": "x"}


ASKING = ScriptedAnswer(tools=(ScriptedCall(name="question", arguments={"questions": [{"question": "Why?"}]}),))
EXIT = calls(("plan_exit", {"summary": "Write a.txt."}))


@pytest.mark.parametrize("restarted", [False, True], ids=["one worker", "another worker"])
async def test_an_approved_plan_is_carried_out_in_a_turn_of_the_agent_that_may_edit(
    open_harness: Open, restarted: bool
) -> None:
    planning = calls(write("a.txt"), write(".opencode/plans/p.md"), ("bash", {"command": "ls"}))
    texts = [ScriptedAnswer(text=text) for text in ("Approved.", "Written.")]
    again = calls(write("b.txt"))
    script = Script(answers=(planning, EXIT, texts[0], calls(write("a.txt")), texts[1], again, texts[1]))
    async with open_harness(scripts=script) as harness:
        async with harness.running_worker():
            prompt = Prompt.of_text("Plan it.", agent="plan", model="scripted/model")
            session = (await harness.client.start(str(harness.project), prompt)).session
            (ask,) = await harness.wait_for_asks(session)
            if not restarted:
                await harness.answer(ask, Reply.ANSWER, answers=(("Yes",),))
                await harness.ended(session, 2)
                await harness.client.prompt(session, "Write b.txt, too.")
                await harness.ended(session, 3)
        if restarted:
            await harness.answer(ask, Reply.ANSWER, answers=(("Yes",),))
            async with harness.running_worker():
                await harness.ended(session, 2)
                await harness.client.prompt(session, "Write b.txt, too.")
                await harness.ended(session, 3)
        assert harness.model.last_request is not None
        sent = str(harness.model.last_request.body["messages"])
        states = [(each.tool, each.state) for each in await harness.calls(session)]
        plan = (harness.project / ".opencode/plans/p.md").read_text()
        names = {tool["function"]["name"] for tool in harness.model.last_request.body["tools"]}

    assert states == [
        ("write", CallState.REFUSED),
        ("write", CallState.DONE),
        ("bash", CallState.DONE),
        ("plan_exit", CallState.DONE),
        ("write", CallState.DONE),
        ("write", CallState.DONE),
    ]
    assert plan == "x" and {"plan_enter", "write"} <= names and "plan_exit" not in names
    assert sent.count("Plan mode: look") == sent.count("The mode has changed from plan to build") == 1


@pytest.mark.parametrize(
    ("asking", "tools"),
    [(EXIT, None), (calls(("plan_enter", {"summary": "x"})), {"plan_enter": False}), (ASKING, {"question": False})],
    ids=["not offered", "taken away", "question"],
)
async def test_nobody_is_asked_by_a_tool_that_the_turn_does_not_have(
    open_harness: Open, asking: ScriptedAnswer, tools: dict[str, bool] | None
) -> None:
    script = Script(answers=(asking, ScriptedAnswer(text="Then not.")))
    async with open_harness(scripts=script) as harness, harness.running_worker():
        prompt = Prompt.of_text("Go.", model="scripted/model", tools=tools)
        session = (await harness.client.start(str(harness.project), prompt)).session
        await harness.ended(session)
        (call,) = await harness.calls(session)
    assert call.state is CallState.FAILED and call.outcome is not None
    assert "is not available in this turn" in call.outcome.output


async def test_a_declined_plan_leaves_the_session_where_writing_is_denied_and_the_unknown_asks(
    open_harness: Open,
) -> None:
    tried = calls(("bash", {"command": "touch a.txt"}), ("bash", {"command": "make all"}))
    script = Script(answers=(EXIT, tried, ScriptedAnswer(text="Then not.")))
    async with open_harness(scripts=script) as harness, harness.running_worker():
        prompt = Prompt.of_text("Plan it.", agent="plan", model="scripted/model")
        session = (await harness.client.start(str(harness.project), prompt)).session
        (ask,) = await harness.wait_for_asks(session)
        await harness.answer(ask, Reply.ANSWER, answers=(("Test it first.",),))
        (command,) = await harness.wait_for_asks(session, 2)
        await harness.answer(command, Reply.REJECT, feedback="No.")
        await harness.ended(session)
        declined, touched, made = await harness.calls(session)
        overview = await harness.client.sessions.get(session)
    assert declined.outcome is not None and "Test it first." in declined.outcome.output
    assert [touched.state, made.state] == [CallState.REFUSED] * 2 and overview.untaken == 0
    assert touched.outcome is not None and touched.outcome.output.endswith("This call would change: a.txt.")
