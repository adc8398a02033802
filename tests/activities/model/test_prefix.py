"""Each request of a session extends the one before byte for byte, so that its provider's cache has all of it."""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from activities.archive.archiver import Archiver
from activities.store import events
from tests.activities.model.model_rig import ModelRig, Open
from worker.scripted.script import Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain.errors import DamagedArchive
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.wire import GenerateRequest

TWO = ScriptedAnswer(text="Both:", tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}),) * 2)
DONE = ScriptedAnswer(text="Done.")
BUSY = Refuse(status=503)


class Requests:
    """The bodies of a session's requests."""

    def __init__(self, model: ModelRig) -> None:
        self.model = model
        self.sent: list[Mapping[str, Any]] = []

    async def step(self, step: int, *, text_only: bool = False) -> None:
        """One that is answered, with its calls' results."""
        answer = await self.model.generate(self.model.request(step=step, text_only=text_only))
        self.sent.append(self.model.sent)
        for call in answer.calls:
            await self.model.rig.run(call.id)

    async def failing_attempt(self, request: GenerateRequest, attempt: int) -> None:
        await self.model.failure(request, attempt)
        self.sent.append(self.model.sent)
        await self.model.rested()

    async def next_turn(self) -> None:
        await self.model.rig.close()
        await self.model.rig.open_turn()

    def check(self) -> None:
        for before, after in zip(self.sent, self.sent[1:], strict=False):
            count = len(before["messages"])
            assert json.dumps(after["messages"][:count]) == json.dumps(before["messages"])
            assert json.dumps(after["tools"]) == json.dumps(before["tools"])

    def count(self, text: str) -> int:
        """How often the newest request has it."""
        return json.dumps(self.sent[-1]).count(text)


@pytest.mark.parametrize("restarts", [False, True], ids=["one worker", "a new worker for each step"])
async def test_in_later_turns_past_midnight_with_steered_prompts_and_after_the_last_step(
    open_model: Open, restarts: bool
) -> None:
    async with open_model(TWO, TWO, DONE, TWO, DONE) as model:
        model.worker = None if restarts else model.started()
        requests = Requests(model)
        await requests.step(1)
        await model.rig.prompt("Also this.")
        await requests.step(2)
        await requests.step(3, text_only=True)
        model.today = date(2026, 2, 1)
        await requests.next_turn()
        await requests.step(1)
        model.today = date(2026, 2, 2)
        await requests.step(2)
    requests.check()
    said = ("The user sent this", "no more tools", "date is 2026-01-31", "date is 2026-02-01", "date is 2026-02-02")
    assert [requests.count(text) for text in said] == [1] * len(said)
    assert requests.sent[0]["messages"][1]["role"] == "user", "the date stands in the prompt's message"
    assert len(requests.sent[0]["messages"]) == 2


async def test_in_attempts_at_a_step_past_midnight_and_with_a_prompt_between(open_model: Open) -> None:
    async with open_model(TWO, ScriptedAnswer(text="x", faults={1: BUSY, 2: BUSY})) as model:
        requests = Requests(model)
        await requests.step(1)
        request = model.request(step=2, text_only=True)
        await requests.failing_attempt(request, 1)
        model.today = date(2026, 2, 1)
        await model.rig.prompt("Also this.")
        await requests.failing_attempt(request, 2)
        await model.generate(request, 3)
        requests.sent.append(model.sent)
    requests.check()
    assert requests.count("Also this.") == requests.count("no more tools") == 1
    assert not requests.count("2026-02-01"), "the next step says it"


async def test_after_a_turn_that_ended_before_its_last_answer(open_model: Open) -> None:
    async with open_model(TWO, ScriptedAnswer(text="x", faults={1: BUSY}), DONE) as model:
        requests = Requests(model)
        await requests.step(1)
        await requests.failing_attempt(model.request(step=2, text_only=True), 1)
        await requests.next_turn()
        await requests.step(1)
    requests.check()
    assert requests.count("no more tools") == 1


async def test_what_a_reminder_has_said_is_sealed_and_shown_by_the_event_of_the_answer(
    open_model: Open, tmp_path: Path
) -> None:
    async with open_model(ScriptedAnswer(text="x", faults={1: BUSY})) as model:
        requests, request, rig = Requests(model), model.request(text_only=True), model.rig
        await requests.failing_attempt(request, 1)
        await model.generate(request, 2)
        await rig.close()
        whole = await events.verify(rig.database, rig.session)
        records = [record async for record in events.after(rig.database, rig.session)]
        (answer,) = [record for record in records if isinstance(record.event, MessageCompleted)]
        shown = json.dumps(await events.contents(rig.database, [answer]))
        await rig.database.rows(b"UPDATE generation SET reminders = '[]'")
        changed = (await events.verify(rig.database, rig.session)).problem
        with pytest.raises(DamagedArchive, match=f"{request.generation}/reminders was changed"):
            await Archiver(rig.database, tmp_path / "data").archive_one(rig.session)

    assert whole.problem is None and "no more tools" in shown and "2026-01-31" in shown
    assert changed is not None and f"{request.generation}/reminders was changed" in changed
