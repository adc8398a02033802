"""Project.load: the work according to rows and directory."""

import dataclasses
import json
import shutil
from datetime import datetime
from typing import Any

import pytest

from activities.calls import outcomes
from activities.credentials.keys import Keys
from activities.model.default_model import NO_KEY
from activities.project.config_loader import PRIMARY_ROLE, FindAccepted, Role
from activities.project.project_loader import DirectoryConfig, ProjectLoader
from activities.store import calls, events, retries, sessions, suspensions, trust_records, turns, waiting_items
from activities.store.database import Database
from activities.store.model_answers import NewAnswer
from tests.activities.rig import BODY, PERSON, ActivityRig
from workflows.domain.config.accepted_trust import AcceptedTrust
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust_items import TrustContent
from workflows.domain.errors import UnknownEpoch
from workflows.domain.events.prompts import PromptTaken
from workflows.domain.events.sessions import SessionSuspended
from workflows.domain.events.turns import ConfigurationChanged, TurnOpened
from workflows.domain.ids import PartId, RetryId
from workflows.domain.messages import CallState, NewPart, TextPart
from workflows.domain.open_call import CallPhase
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.rules import Action
from workflows.domain.prompt import PromptMode
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.wire import CloseReason, LoadResult, OpenTurn

WRITE = {"filePath": "a.txt", "content": "x"}


async def loaded(rig: ActivityRig) -> OpenTurn:
    turn = (await rig.load()).turn
    assert turn is not None
    return turn


async def test_without_a_prompt_there_is_nothing_to_do(rig: ActivityRig) -> None:
    assert await rig.load() == LoadResult(epoch=rig.epoch)
    assert await rig.types() == ["session.created"]


async def test_the_oldest_prompt_opens_the_turn_and_is_taken_at_its_first_step(rig: ActivityRig) -> None:
    first = await rig.prompt("First", model="scripted/model")
    await rig.prompt("Second", mode=PromptMode.QUEUE)
    turn = await loaded(rig)
    taken = [event for event in await rig.events() if isinstance(event, PromptTaken)]
    assert taken == [PromptTaken(prompt=first, turn=turn.id, step=1)]
    assert (turn.number, turn.step, turn.error) == (1, 0, None)


REVIEWER = {"reviewer": {"permission": {"edit": "deny"}, "model": "own/model", "steps": 3}}


async def test_a_turn_is_opened_under_the_agent_that_its_prompt_names_else_that_of_the_last_turn(
    rig: ActivityRig,
) -> None:
    rig.file("opencode.json", json.dumps({"model": "configured/model", "agent": REVIEWER}))
    found = []
    for agent, model in (("reviewer", None), (None, None), ("build", None), ("reviewer", "scripted/model")):
        await rig.prompt(agent=agent, model=model)
        turn = await loaded(rig)
        rig.turn, rig.step = turn.id, 0
        call = await rig.called("write", **WRITE)
        found.append((turn.max_steps, (await loaded(rig)).answer, call))
        await rig.close()

    opened = [event for event in await rig.events() if isinstance(event, TurnOpened)]
    assert [(event.agent, event.model) for event in opened] == [
        ("reviewer", "own/model"),
        ("reviewer", "own/model"),
        ("build", "configured/model"),
        ("reviewer", "scripted/model"),
    ]
    assert len({event.turn_config for event in opened}) == 2
    denied = [answer.calls[0].findings[0].action for _, answer, _ in found if answer is not None]
    assert denied == [Action.DENY, Action.DENY, Action.ALLOW, Action.DENY]
    assert [steps for steps, *_ in found] == [3, 3, None, 3]
    assert (await sessions.origin(rig.database, rig.session)).agent == "reviewer"


async def test_the_sessions_own_model_yields_to_that_of_another_agent_only(rig: ActivityRig) -> None:
    await rig.database.rows(b"UPDATE session SET model = 'scripted/model'")
    agents = REVIEWER | {"build": {"model": "other/model"}, "tester": {}}
    rig.file("opencode.json", json.dumps({"model": "configured/model", "agent": agents}))
    for agent in ("reviewer", None, "tester", "build", None):
        await rig.prompt(agent=agent)
        rig.turn = (await loaded(rig)).id
        await rig.close()

    opened = [event.model for event in await rig.events() if isinstance(event, TurnOpened)]
    assert opened == ["own/model", "own/model", "scripted/model", "scripted/model", "scripted/model"]


SCRIPTED = {"options": {"baseURL": "http://127.0.0.1:9/v1"}, "models": {"model": {}, "claude-opus-5": {}}}


async def test_an_agents_family_means_its_newest_model_else_that_of_the_session(rig: ActivityRig) -> None:
    await rig.database.rows(b"UPDATE session SET model = 'scripted/model'")
    agents = {"rev": {"model": "opus"}, "other": {"model": "haiku"}}
    rig.file("opencode.json", json.dumps({"model": "configured/model", "agent": agents}))
    rig.file(str(rig.config / "opencode.json"), json.dumps({"provider": {"scripted": SCRIPTED}}))

    for agent, model in (("rev", None), (None, None), ("other", None), ("rev", "scripted/model")):
        await rig.prompt(agent=agent, model=model)
        rig.turn, rig.step = (await loaded(rig)).id, 0
        await rig.close()

    opened = [event.model for event in await rig.events() if isinstance(event, TurnOpened)]
    assert opened == ["scripted/claude-opus-5", "scripted/claude-opus-5", "scripted/model", "scripted/model"]


async def test_a_turn_has_the_variant_that_is_named_else_the_sessions_with_the_sessions_model(rig: ActivityRig) -> None:
    await rig.database.rows(b"UPDATE session SET model = 'scripted/model', variant = 'high'")
    rig.file("opencode.json", json.dumps({"agent": REVIEWER | {"tester": {"variant": "low"}}}))
    named = (
        (None, None, None),
        (None, None, "max"),
        (None, "other/model", None),
        (None, "other/model", "max"),
        (None, "scripted/model", None),
        ("reviewer", None, None),
        ("tester", None, None),
    )
    for agent, model, variant in named:
        await rig.prompt(agent=agent, model=model, variant=variant)
        rig.turn = (await loaded(rig)).id
        await rig.close()

    opened = [event.variant for event in await rig.events() if isinstance(event, TurnOpened)]
    assert opened == ["high", "max", None, "max", "high", None, "high"]


async def test_a_retry_keeps_the_variant_with_the_model_and_may_name_another(rig: ActivityRig) -> None:
    found: list[str | None] = []
    for model, variant in ((None, None), (None, "low"), ("other/model", None)):
        await rig.prompt(model="scripted/model", variant="high")
        rig.turn = (await loaded(rig)).id
        await rig.close(CloseReason.FAILED)
        async with rig.journal() as journal:
            found.append((await retries.accept(journal, RetryId(f"rty_{len(found)}"), model, variant)).variant)
        rig.turn = (await loaded(rig)).id
        await rig.close()

    opened = [event.variant for event in await rig.events() if isinstance(event, TurnOpened)]
    assert found == ["high", "low", None] and opened == ["high", "high", "high", "low", "high", None]


@pytest.mark.parametrize("agent", ["reviewer", "explore", "title", "nope"])
async def test_an_agent_that_cannot_work_any_more_fails_the_turn_that_it_was_named_for(
    rig: ActivityRig, agent: str
) -> None:
    rig.file("opencode.json", json.dumps({"agent": {"reviewer": {"disable": True}, "tester": {}}}))
    await rig.prompt(agent=agent, model="scripted/model")
    turn = await loaded(rig)
    assert turn.error is not None and agent in turn.error and "Available agents: build, plan, tester." in turn.error
    (opened,) = [event for event in await rig.events() if isinstance(event, TurnOpened)]
    assert opened.agent == agent
    assert (await sessions.origin(rig.database, rig.session)).agent == "build"  # for prompts that name none


@dataclasses.dataclass(frozen=True)
class OvertakenLoader(ProjectLoader):
    """While the configuration is read for the first time, a stop withdraws the prompt and another one comes."""

    rig: ActivityRig | None = None
    agents: list[str | None] = dataclasses.field(default_factory=list)

    async def try_load(
        self,
        directory: str,
        sources: ConfigSources | None = None,
        role: Role = PRIMARY_ROLE,
        find_accepted: FindAccepted | None = None,
    ) -> DirectoryConfig:
        self.agents.append(role.agent)
        if self.rig is not None and len(self.agents) == 1:
            await self.rig.stop()
            await self.rig.prompt(agent="reviewer", model="scripted/model")
        return await super().try_load(directory, sources, role, find_accepted)


async def test_work_for_another_agent_that_comes_first_meanwhile_gets_that_agents_configuration(
    rig: ActivityRig,
) -> None:
    rig.file("opencode.json", json.dumps({"agent": REVIEWER}))
    await rig.prompt(model="scripted/model")
    loader = OvertakenLoader(**{each.name: getattr(rig.loader, each.name) for each in dataclasses.fields(rig.loader)})
    overtaken = dataclasses.replace(rig, loader=dataclasses.replace(loader, rig=rig))
    turn = await loaded(overtaken)
    (opened,) = [event for event in await rig.events() if isinstance(event, TurnOpened)]
    assert (opened.agent, turn.max_steps) == ("reviewer", 3)
    assert isinstance(overtaken.loader, OvertakenLoader) and overtaken.loader.agents == ["build", "reviewer"]


async def test_a_second_attempt_finds_the_turn_of_the_first(rig: ActivityRig) -> None:
    journal = await rig.open_turn()
    assert (await rig.load(attempt=2)).turn == journal
    assert (await rig.types()).count("turn.opened") == 1


async def test_a_change_of_the_configuration_between_turns_is_an_event(rig: ActivityRig) -> None:
    for config in ('{"permission": {"edit": "ask"}}', "{ no json", '{"permission": {"edit": "deny"}}', None):
        rig.file("opencode.json", config or '{"permission": {"edit": "deny"}}')
        await rig.prompt(model="scripted/model")
        turn = await loaded(rig)
        rig.turn = turn.id
        await rig.close(CloseReason.FAILED if turn.error else CloseReason.DONE, error=turn.error)

    logged = await rig.events()
    opened = [event.turn_config for event in logged if isinstance(event, TurnOpened)]
    (changed,) = [event for event in logged if isinstance(event, ConfigurationChanged)]
    (row,) = await rig.database.rows(b"SELECT body FROM note WHERE id = %(note)s", note=changed.note)
    assert (changed.before, changed.after) == (opened[0], opened[2]) and opened[2] == opened[3]
    assert row["body"] == "permission.edit: ask → deny"
    assert (await events.verify(rig.database, rig.session)).problem is None


async def test_a_turn_has_the_prompts_model_else_the_sessions_else_the_configured_one(rig: ActivityRig) -> None:
    rig.file("opencode.json", json.dumps({"model": "configured/model"}))
    for given in ("scripted/model", None):
        await rig.prompt(model=given)
        rig.turn = (await loaded(rig)).id
        await rig.close()
    journal = [event.model for event in await rig.events() if isinstance(event, TurnOpened)]
    assert journal == ["scripted/model", "configured/model"]


async def test_turns_are_numbered_and_their_rules_frozen(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "deny"})
    call = await rig.called("write", **WRITE)
    rig.file("opencode.json", "{}")
    turn = await loaded(rig)
    assert turn.answer is not None
    assert [finding.action for finding in turn.answer.calls[0].findings] == ["deny"]
    await rig.close()
    assert (await rig.open_turn()).number == 2 and await rig.state(call) is CallState.CANCELLED


async def test_an_open_turn_is_adopted_at_its_highest_step_with_its_calls(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    await rig.called("glob", pattern="*")
    settled, asked, answered = await rig.answered(
        ("glob", {"pattern": "*"}), ("write", WRITE), ("write", {**WRITE, "filePath": "b.txt"})
    )
    await rig.run(settled)
    ask = await rig.asked(asked)
    await rig.answer(await rig.asked(answered))
    turn = await loaded(rig)
    assert turn.step == 2 and turn.answer is not None and len(turn.recent_digests) == 1
    assert [call.phase for call in turn.answer.calls] == [CallPhase.SETTLED, CallPhase.ASKED, CallPhase.NEW]
    assert [(call.ask, call.requests, call.answered) for call in turn.answer.calls[1:]] == [
        (ask, (0,), ()),
        (None, (), (0,)),
    ]


async def test_a_registered_step_without_an_answer_is_reported_as_such(rig: ActivityRig) -> None:
    await rig.open_turn()
    async with rig.journal() as journal:
        turns.record_step(journal, rig.turn, 3)
    turn = await loaded(rig)
    assert (turn.step, turn.answer) == (3, None)


async def test_asks_of_an_earlier_revision_are_not_resumed_but_the_loop_guards_is(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    rig.file("a.txt", "one\n")
    call = await rig.called("edit", filePath="a.txt", oldString="one", newString="two")
    await rig.answer(await rig.asked(call))
    await rig.answer(await rig.asked(call, GUARD_REQUEST))
    rig.file("a.txt", "one\nmore\n")
    await rig.claim(call, loop_guarded=True)
    turn = await loaded(rig)
    assert turn.answer is not None
    assert (turn.answer.calls[0].revision, turn.answer.calls[0].answered) == (1, (GUARD_REQUEST,))


async def test_a_stop_and_a_rejection_are_remembered(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    call = await rig.called("write", **WRITE)
    await rig.answer(await rig.asked(call), Reply.REJECT)
    await rig.stop()
    turn = await loaded(rig)
    assert (turn.stopped, turn.rejected, turn.continue_after_reject) == (True, True, False)


async def test_going_on_after_a_rejection_is_a_setting(rig: ActivityRig) -> None:
    rig.config.mkdir()
    rig.file(str(rig.config / "opencode.json"), '{"experimental": {"continue_loop_on_deny": true}}')
    assert (await rig.open_turn()).continue_after_reject


@pytest.mark.parametrize("name", ["steps", "maxSteps"])
async def test_the_agents_steps_are_the_turns(rig: ActivityRig, name: str) -> None:
    assert (await rig.open_turn(agent={"build": {name: 7}})).max_steps == 7


@pytest.mark.parametrize(("steps", "text"), [(1, False), (2, None)])
async def test_an_answer_of_the_last_step_is_resumed_with_whether_it_has_text(
    rig: ActivityRig, steps: int, text: bool | None
) -> None:
    await rig.open_turn(agent={"build": {"steps": steps}})
    await rig.called("write", **WRITE)

    turn = await loaded(rig)

    assert turn.answer is not None and (turn.step, turn.answer.has_text) == (1, text)


async def test_an_answer_that_text_columns_refuse_is_resumed(rig: ActivityRig) -> None:
    await rig.open_turn(agent={"build": {"steps": 1}})
    part = NewPart(id=PartId("prt_odd"), position=0, body=TextPart(text="a\0\ud800b"))
    await rig.store_answer(rig.generation(1), NewAnswer(body=BODY, parts=(part,)))

    turn = await loaded(rig)

    assert turn.answer is not None and turn.answer.has_text is True


async def test_answers_that_the_output_limit_has_cut_are_counted_until_another_one(rig: ActivityRig) -> None:
    await rig.open_turn()
    body = BODY.model_copy(update={"finish": "length", "bounded": True})
    for step in range(1, 4):
        parts = (NewPart(id=PartId(f"prt_{step}"), position=0, body=TextPart(text="la")),)
        await rig.store_answer(rig.generation(step), NewAnswer(body=BODY if step == 1 else body, parts=parts))

    turn = await loaded(rig)

    assert turn.answer is not None and (turn.step, turn.answer.cut, turn.cuts, turn.cut_call) == (3, True, 1, False)


async def test_an_answer_that_the_output_limit_has_cut_in_a_call_is_told_apart(rig: ActivityRig) -> None:
    await rig.open_turn()
    cut = BODY.model_copy(update={"finish": "length", "bounded": True})
    await rig.answered(("no tool", {}), body=cut)
    await rig.answered()

    turn = await loaded(rig)

    assert (turn.step, turn.cuts, turn.cut_call) == (2, 1, True)


async def test_answers_that_the_provider_has_paused_in_are_counted_until_another_one(rig: ActivityRig) -> None:
    await rig.open_turn()
    paused = BODY.model_copy(update={"finish": "pause-turn", "explanation": "pause_turn"})
    for step in range(1, 5):
        await rig.store_answer(rig.generation(step), NewAnswer(body=BODY if step == 1 else paused))

    turn = await loaded(rig)

    assert turn.answer is not None and (turn.step, turn.answer.flaw, turn.pauses) == (4, None, 2)


async def test_an_ended_session_opens_no_turn_but_reports_the_open_one(rig: ActivityRig) -> None:
    await rig.prompt()
    await rig.end()
    assert await rig.load() == LoadResult(epoch=rig.epoch, ended=True)


async def test_the_open_turn_of_an_ended_session_is_there_to_be_closed(rig: ActivityRig) -> None:
    turn = await rig.open_turn()
    await rig.end()
    assert await rig.load() == LoadResult(epoch=rig.epoch, turn=turn, ended=True)


async def broken_file(rig: ActivityRig) -> None:
    rig.file("opencode.json", "{ no json")


async def wrong_field(rig: ActivityRig) -> None:
    rig.file("opencode.json", '{"permission": {"edit": "perhaps"}}')


@pytest.mark.parametrize(("spoil", "said"), [(broken_file, "opencode.json"), (wrong_field, "permission")])
async def test_a_directory_that_cannot_be_read_fails_the_turn_and_not_the_session(
    rig: ActivityRig, spoil: object, said: str
) -> None:
    assert callable(spoil)
    await spoil(rig)
    await rig.prompt(model="scripted/model")
    turn = await loaded(rig)
    assert turn.error is not None and said in turn.error


async def delete(rig: ActivityRig) -> None:
    shutil.rmtree(rig.project)


async def replace(rig: ActivityRig) -> None:
    rig.project.rename(rig.project.with_name("moved"))
    rig.project.mkdir()


async def switch(rig: ActivityRig) -> None:
    rig.file(".git/HEAD", "ref: refs/heads/other\n")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [(delete, SuspendReason.GONE), (replace, SuspendReason.REPLACED), (switch, SuspendReason.BRANCH)],
)
async def test_a_directory_that_changed_since_the_last_turn_suspends_the_session(
    rig: ActivityRig, spoil: object, reason: SuspendReason
) -> None:
    rig.file(".git/HEAD", "ref: refs/heads/main\n")
    await rig.open_turn()
    await rig.close()
    assert callable(spoil)
    await spoil(rig)
    await rig.prompt(model="scripted/model")
    loaded = [await rig.load() for _ in range(2)]
    (parked,) = [event for event in await rig.events() if isinstance(event, SessionSuspended)]
    assert loaded == [LoadResult(epoch=rig.epoch - 1), LoadResult(epoch=rig.epoch)] and parked.reason is reason


async def test_a_directory_that_was_missing_at_a_turns_end_is_compared_with_the_one_before(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.close()
    await rig.prompt(model="scripted/model")
    rig.turn = (await loaded(rig)).id
    rig.project.rename(rig.project.with_name("moved"))
    await rig.close()
    rig.project.mkdir()
    await rig.prompt(model="scripted/model")
    await rig.load()
    assert [event.reason for event in await rig.events() if isinstance(event, SessionSuspended)] == ["replaced"]


async def test_a_person_lets_it_go_on_with_the_directory_as_it_is_now(rig: ActivityRig) -> None:
    rig.file(".git/HEAD", "ref: refs/heads/main\n")
    await rig.open_turn()
    await rig.close()
    await switch(rig)
    await rig.prompt(model="scripted/model")
    await rig.load()
    async with rig.journal() as journal:
        await suspensions.resume(journal)
    rig.turn = (await loaded(rig)).id
    await rig.close()
    await rig.prompt(model="scripted/model")
    assert (await loaded(rig)).number == 3


async def test_a_directory_that_did_not_answer_is_compared_with_the_one_before_when_it_does(rig: ActivityRig) -> None:
    rig.file(".git/HEAD", "ref: refs/heads/main\n")
    await rig.open_turn()
    await rig.close()
    async with rig.journal() as journal:
        await suspensions.suspend(journal, SuspendCause(reason=SuspendReason.SILENT, was=str(rig.project)))
    async with rig.journal() as journal:
        await suspensions.resume(journal)
    await switch(rig)
    await rig.prompt(model="scripted/model")
    await rig.load()
    assert [event.reason for event in await rig.events() if isinstance(event, SessionSuspended)] == ["silent", "branch"]


async def test_a_directory_that_is_still_missing_suspends_the_session_again(rig: ActivityRig) -> None:
    await delete(rig)
    await rig.prompt(model="scripted/model")
    for _ in range(2):
        assert await rig.load() == LoadResult(epoch=rig.epoch)
        async with rig.journal() as journal:
            await suspensions.resume(journal)


async def test_without_a_model_and_a_key_the_error_says_how_to_have_one(rig: ActivityRig) -> None:
    await rig.prompt()
    assert (await loaded(rig)).error == NO_KEY


async def test_without_a_model_the_main_one_of_the_only_provider_with_a_key_works_and_stays(rig: ActivityRig) -> None:
    keys = Keys(rig.config.parent / "auth.json")
    keys.set("anthropic", "sk-ant-x")
    for _ in range(2):
        await rig.prompt()
        assert (turn := await loaded(rig)).error is None
        await rig.close(turn=turn.id)
        keys.set("openai", "sk-x")  # a choice between two, but for sessions that have a model
    first, second = [event.model for event in await rig.events() if isinstance(event, TurnOpened)]
    assert first == second and first.startswith("anthropic/claude-sonnet-")


async def test_a_model_that_is_configured_later_comes_before_that_of_the_last_turn(rig: ActivityRig) -> None:
    Keys(rig.config.parent / "auth.json").set("anthropic", "sk-ant-x")
    await rig.prompt()
    await rig.close(turn=(await loaded(rig)).id)
    rig.file("opencode.json", json.dumps({"model": "openai/gpt-6-sol"}))
    await rig.prompt()
    await loaded(rig)
    *_, opened = [event.model for event in await rig.events() if isinstance(event, TurnOpened)]
    assert opened == "openai/gpt-6-sol"


async def test_the_error_of_a_turn_is_known_after_a_takeover(rig: ActivityRig) -> None:
    await broken_file(rig)
    await rig.prompt(model="scripted/model")
    first = await loaded(rig)
    assert await loaded(rig) == first


async def test_every_load_gives_out_the_next_epoch_whatever_it_finds_and_whoever_asks(rig: ActivityRig) -> None:
    given = []
    for known in (0, 1, 0, 2):
        rig.epoch = known
        given.append((await rig.load()).epoch)
    await rig.prompt(model="scripted/model")
    given += [(await rig.load(attempt)).epoch for attempt in (1, 2)]
    await rig.end()
    given.append((await rig.load()).epoch)
    assert given == [1, 2, 3, 4, 5, 6, 7]


async def test_an_epoch_that_was_not_given_out_loads_nothing(rig: ActivityRig) -> None:
    await rig.open_turn()
    newest = rig.epoch
    rig.epoch += 1
    with pytest.raises(UnknownEpoch, match=f"given out no epoch {newest + 1}"):
        await rig.load()
    rig.epoch = newest
    assert (await rig.load()).epoch == newest + 1


async def test_a_load_that_takes_nothing_is_no_movement_of_the_session(rig: ActivityRig) -> None:
    async def moved_at() -> datetime:
        query = b"SELECT moved_at FROM session_head WHERE session = %(session)s"
        (row,) = await rig.database.rows(query, session=rig.session)
        moved: datetime = row["moved_at"]
        return moved

    await rig.prompt(model="scripted/model")
    before = await moved_at()
    await loaded(rig)
    taken = await moved_at()
    await rig.prompt()
    await rig.load()
    assert before < taken == await moved_at()


async def test_a_subagent_begins_nothing_for_a_call_that_is_over(rig: ActivityRig) -> None:
    await rig.open_turn()
    hands_over = {"description": "look", "prompt": "Where is it?", "subagent_type": "explore"}
    call = await rig.called("task", **hands_over)
    child = (await rig.run(call)).child
    assert child is not None
    async with rig.journal() as journal:
        calls.settle(journal, await calls.lock(journal, call), *outcomes.interrupted("not_begun"))
    begun = dataclasses.replace(rig, session=child, epoch=0)
    assert await begun.load() == LoadResult(epoch=1)
    assert (await begun.types())[-1] == "prompt.withdrawn"


@dataclasses.dataclass(frozen=True)
class RevokedMeanwhile(ProjectLoader):
    """A person revokes what they have accepted, while its files are read for the first time."""

    left: list[Database] = dataclasses.field(default_factory=list)

    async def try_load(self, directory: str, *given: Any, **named: Any) -> DirectoryConfig:
        found = await super().try_load(directory, *given, **named)
        if self.left:
            await trust_records.revoke(self.left.pop(), None, directory, directory, PERSON)
        return found


async def test_what_is_revoked_while_the_configuration_is_read_does_not_count(rig: ActivityRig) -> None:
    rig.config.mkdir()
    (rig.config / "opencode.json").write_text(json.dumps({"permission": {"bash": "ask"}}))
    rig.file("opencode.json", json.dumps({"permission": {"bash": {"*": "allow"}}}))
    root = str(rig.project)
    content = (await rig.loader.check_trust(root, rig.loader.default_sources)).content
    await trust_records.decide(rig.database, None, root, root, content, PERSON, accept=True)

    async def find_accepted(content: TrustContent) -> AcceptedTrust | None:
        return (await trust_records.read_decided(rig.database, None, root, root, content)).accepted

    accepted = await rig.loader.load(root, rig.loader.default_sources, PRIMARY_ROLE, find_accepted)
    assert accepted.accepted is not None
    rig.loader = RevokedMeanwhile(**vars(rig.loader), left=[rig.database])
    await rig.prompt(model="scripted/model")
    opened = await loaded(rig)
    async with rig.journal() as journal:
        turn = await turns.open_turn(journal)
        assert turn is not None and turn.id == opened.id
        config = await turns.turn_config(journal, turn.turn_config)
    assert config.accepted is None and config.rules != accepted.rules


def command(*shell: str) -> str:
    return json.dumps({"command": {"go": {"template": " ".join(f"!`{each}`" for each in shell)}}})


@pytest.mark.parametrize("decides", ["accept", "decline", "resume"])
async def test_what_was_accepted_and_has_changed_suspends_the_next_turn(rig: ActivityRig, decides: str) -> None:
    """Not a turn that never had it; and a person lets it go on, in one way or another."""
    root = str(rig.project)

    async def decide(*, accept: bool = True) -> None:
        content = (await rig.loader.check_trust(root, rig.loader.default_sources)).content
        await trust_records.decide(rig.database, None, root, root, content, PERSON, accept=accept)

    file = rig.file("opencode.json", command("make"))
    await decide()
    await rig.prompt(model="scripted/model")
    opened = await loaded(rig)
    await dataclasses.replace(rig, turn=opened.id).close()
    await rig.prompt("Go on.", model="scripted/model")
    for changed, how in ((command("make clean"), "has changed"), ("{}", "is gone")):
        rig.file("opencode.json", changed)
        assert (await rig.load()).turn is None
        async with rig.journal() as journal:
            assert journal.suspension is not None
            (found,) = await waiting_items.suspended_sessions(rig.database, rig.session)
            assert (found.reason, found.was) == ("trust", f"command.go.template of {file} {how}")
            if decides == "resume":
                await suspensions.resume(journal)
                break
        await rig.database.rows(b"UPDATE suspension SET state = 'closed'")
        await rig.database.rows(b"UPDATE session SET suspension = NULL")
    else:
        await decide(accept=decides == "accept")

    assert (await rig.load()).turn is not None
