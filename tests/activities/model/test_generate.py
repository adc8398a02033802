"""Model.generate: an answer is paid and stored once, and only while its turn is open."""

import asyncio
import json
import os
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from datetime import timedelta
from pathlib import Path
from time import monotonic

import pytest
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DataConverter

from activities.model.retry_budget import ProviderPause, RetryBudget
from activities.store import deltas, events, faults, generations, turns
from tests.activities.conftest import Arm
from tests.activities.model.model_rig import Open
from tests.activities.rig import ActivityRig
from tests.harness import wait_for_file
from tests.polling import WAIT_TIMEOUT
from tests.watch_progress import read_nothing
from worker.scripted.script import Drop, Hold, Refuse, ScriptedAnswer, ScriptedCall, ScriptedFault, StreamError
from workflows.domain.errors import Unavailable
from workflows.domain.events.calls import CallPrepared
from workflows.domain.events.generations import MessageCompleted, ModelRetry
from workflows.domain.events.prompts import PromptTaken
from workflows.domain.ids import answer_id
from workflows.domain.messages import FilePart, TextPart
from workflows.domain.prompt import PromptMode
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.wire import FINISH_PAUSED, FINISH_STOPPED, StepResult

HELLO = ScriptedAnswer(text="Hello.")


End = Callable[[ActivityRig], Awaitable[object]]


async def test_an_answer_is_stored_with_its_parts_and_its_calls(open_model: Open) -> None:
    read = ScriptedCall(name="read", arguments={"filePath": "a.txt"})
    async with open_model(ScriptedAnswer(reasoning="Hm.", text="Let me look.", tools=(read,))) as model:
        step = await model.generate()
        (parts,) = await model.parts()
        (completed,) = [event for event in await model.rig.events() if isinstance(event, MessageCompleted)]
    assert (step.finish, [call.tool for call in step.calls]) == ("tool-calls", ["read"])
    assert [part.type for part in parts] == ["reasoning", "text", "tool"]
    assert [part.kind for part in completed.parts] == ["reasoning", "text"] and completed.tokens.output > 0


async def test_a_committed_answer_is_returned_and_nothing_is_taken_or_asked(open_model: Open, arm: Arm) -> None:
    async with open_model(HELLO) as model:
        request = model.request()
        arm("model.committed=drop@1")
        with pytest.raises(ConnectionResetError):
            await model.generate(request)
        await model.rig.prompt("And this?")
        step = await model.generate(request, attempt=2)
        taken = [event for event in await model.rig.events() if isinstance(event, PromptTaken)]
    assert step == StepResult(finish="stop")
    assert len(model.server.ledger.entries) == 1 and len(taken) == 1


@pytest.mark.parametrize("command", [f"rm {'a' * 300}", f"cd {'a' * 300} && rm x", "python /proc/1/root/x", "./*"])
async def test_an_answer_with_odd_calls_is_paid_once(open_model: Open, command: str) -> None:
    odd = ScriptedCall(name="bash", arguments={"command": command})
    async with open_model(ScriptedAnswer(tools=(odd,)), permission={"*": "allow"}) as model:
        step = await model.generate()
        again = await model.generate(model.request(), attempt=2)
    assert [call.tool for call in step.calls] == ["bash"] and again == step
    assert len(model.server.ledger.entries) == 1


@pytest.mark.parametrize("end", [ActivityRig.stop, ActivityRig.close, ActivityRig.end])
async def test_a_turn_that_is_over_is_not_asked_about(open_model: Open, end: End) -> None:
    async with open_model(HELLO) as model:
        await end(model.rig)
        assert await model.generate() == StepResult(finish=FINISH_STOPPED)
    assert model.server.ledger.entries == []


async def test_an_attempt_that_comes_after_a_later_one_asks_nothing(open_model: Open) -> None:
    async with open_model(ScriptedAnswer(text="x", faults={1: Refuse(status=503)})) as model:
        request = model.request()
        await model.failure(request, attempt=2)
        stale = await model.failure(request, attempt=1)
        log = await model.rig.types()
    assert (stale.type, stale.non_retryable) == ("StaleFence", True) and log[-1] == "write.refused"
    assert len(model.server.ledger.entries) == 1


async def test_an_attempt_that_was_overtaken_commits_nothing(open_model: Open, tmp_path: Path) -> None:
    holds = {number: Hold(after=1, path=str(tmp_path / f"gate{number}")) for number in (1, 2)}
    async with open_model(ScriptedAnswer(text="Hello.", faults=holds)) as model:
        request = model.request()
        zombie = asyncio.create_task(model.failure(request))
        await wait_for_file(tmp_path / "gate1")
        newest = asyncio.create_task(model.generate(request, attempt=2))
        await wait_for_file(tmp_path / "gate2")
        (tmp_path / "gate1").touch()
        assert (await zombie).type == "StaleFence" and await model.parts() == []
        (tmp_path / "gate2").touch()
        assert await newest == StepResult(finish="stop") and await model.parts() == [[TextPart(text="Hello.")]]


async def test_an_attempt_that_finds_its_successors_answer_adds_nothing_to_it(open_model: Open, tmp_path: Path) -> None:
    slow = ScriptedAnswer(text="Hello.", faults={1: Hold(after=1, path=str(tmp_path / "gate"))})
    async with open_model(slow) as model:
        request = model.request()
        zombie = asyncio.create_task(model.generate(request))
        await wait_for_file(tmp_path / "gate")
        stored = await model.generate(request, attempt=2)
        (tmp_path / "gate").touch()
        assert await zombie == stored
        assert (await model.rig.types()).count("message.completed") == 1


async def test_an_attempt_that_outlived_its_turn_stores_nothing(open_model: Open, tmp_path: Path) -> None:
    slow = ScriptedAnswer(text="Hello.", faults={1: Hold(after=1, path=str(tmp_path / "gate"))})
    async with open_model(slow) as model:
        late = asyncio.create_task(model.generate())
        await wait_for_file(tmp_path / "gate")
        await model.rig.stop()
        await model.rig.close()
        (tmp_path / "gate").touch()
        assert await late == StepResult(finish=FINISH_STOPPED)
        assert await model.parts() == []


async def test_a_file_that_does_not_answer_holds_up_nothing_but_its_step(
    open_model: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    keys = tmp_path / ".local/share/opencode/auth.json"  # another program's, looked at where there is no key
    keys.parent.mkdir(parents=True)
    os.mkfifo(keys)
    async with open_model(HELLO) as model:
        async with model.rig.journal() as journal:
            turns.change_model(journal, model.rig.turn, "openai/gpt-5", "change")
        step = asyncio.create_task(model.failure())
        with await asyncio.to_thread(keys.open, "w"):  # opens as the step does
            await asyncio.wait_for(model.rig.prompt("And this?"), WAIT_TIMEOUT)
        assert "There is no key for 'openai'" in (await step).message


async def test_an_attempt_asks_the_model_that_its_turn_has_got_meanwhile(open_model: Open) -> None:
    async with open_model(ScriptedAnswer(text="Hello.", faults={1: Refuse(status=503)})) as model:
        model.worker, request = model.started(), model.request()
        await model.failure(request)
        await model.rested()
        async with model.rig.journal() as journal:
            turns.change_model(journal, model.rig.turn, "scripted/other", "change")
        await model.generate(request, attempt=2)
        assert model.sent["model"] == "other"


async def test_an_earlier_epoch_is_refused(open_model: Open) -> None:
    async with open_model(HELLO) as model:
        earlier = model.rig.epoch
        await model.rig.load()
        assert (await model.failure(model.request(epoch=earlier))).type == "StaleFence"
    assert model.server.ledger.entries == []


async def test_steered_prompts_are_taken_and_queued_ones_are_not(open_model: Open) -> None:
    glob = ScriptedCall(name="glob", arguments={"pattern": "*"})
    async with open_model(ScriptedAnswer(tools=(glob,)), HELLO) as model:
        (call,) = (await model.generate()).calls
        await model.rig.run(call.id)
        steered = await model.rig.prompt("Also this.")
        await model.rig.prompt("Later that.", mode=PromptMode.QUEUE)
        await model.generate(model.request(step=2))
        taken = [event for event in await model.rig.events() if isinstance(event, PromptTaken)]
        said = await model.prompts_seen()
    assert [(event.step, event.prompt == steered) for event in taken] == [(1, False), (2, True)]
    assert len(said) == 2 and "Also this." in str(said[1]) and "<system-reminder>" in str(said[1])


async def test_what_comes_after_the_registration_is_not_in_the_view(open_model: Open, tmp_path: Path) -> None:
    slow = ScriptedAnswer(text="Hello.", faults={1: Hold(after=1, path=str(tmp_path / "gate"))})
    async with open_model(slow) as model:
        running = asyncio.create_task(model.generate())
        await wait_for_file(tmp_path / "gate")
        await model.rig.prompt("Also this.")
        (tmp_path / "gate").touch()
        await running
        assert await model.prompts_seen() == ["Go."]
        assert (await model.rig.types()).count("prompt.taken") == 1


async def test_a_provider_failure_is_an_event_and_a_pause_that_counts(open_model: Open) -> None:
    busy = Refuse(status=429, headers={"retry-after": "42"})
    async with open_model(ScriptedAnswer(text="x", faults={1: busy, 2: busy})) as model:
        request = model.request()
        first = await model.failure(request)
        await model.rested()
        failures = [first, await model.failure(request, attempt=2)]
        retries = [event for event in await model.rig.events() if isinstance(event, ModelRetry)]
    assert [failure.type for failure in failures] == ["ProviderFailed"] * 2
    assert [delay.total_seconds() for failure in failures if (delay := failure.next_retry_delay)] == [42.0, 42.0]
    assert [(event.attempt, event.kind) for event in retries] == [(1, "429"), (2, "429")]


async def test_a_step_uses_what_the_last_one_was_asked_by_until_a_request_fails(open_model: Open) -> None:
    busy = Refuse(status=429, headers={"retry-after": "42"})
    async with open_model(HELLO, ScriptedAnswer(text="x", faults={1: busy})) as model:
        model.worker, request, keys = model.started(), model.request(step=2), []
        await model.generate()
        model.log_in("second")
        await model.failure(request)
        keys += [received.headers["authorization"] for received in model.server.received]
        await model.rested()
        await model.generate(request, attempt=2)
        keys += [received.headers["authorization"] for received in model.server.received]
    assert keys == ["Bearer k", "Bearer second"]


async def test_a_hint_of_no_time_starts_the_next_attempt_at_once(open_model: Open) -> None:
    busy = Refuse(status=503, headers={"retry-after": "0"})
    async with open_model(ScriptedAnswer(text="x", faults={1: busy})) as model:
        failed, sent = await model.failure(), Failure()
    await DataConverter.default.encode_failure(failed, sent)
    delay = sent.application_failure_info.next_retry_delay.ToTimedelta()
    assert timedelta(0) < delay < timedelta(seconds=0.01)  # the engine follows its policy where none is given


async def test_b14_an_answer_that_breaks_off_leaves_nothing_but_its_retry(open_model: Open) -> None:
    broken = ScriptedAnswer(text="Hello there, all of you.", faults={1: StreamError(after=2)})
    async with open_model(broken) as model:
        request = model.request()
        assert (await model.failure(request)).type == "ProviderFailed"
        assert await model.parts() == []
        await model.rested()
        await model.generate(request, attempt=2)
        assert await model.parts() == [[TextPart(text="Hello there, all of you.")]]


@pytest.mark.parametrize("fault", [StreamError(after=2), Drop(after=2)])
async def test_no_more_than_five_answers_of_a_step_are_begun_and_paid(open_model: Open, fault: ScriptedFault) -> None:
    broken = ScriptedAnswer(text="Hello there, all of you.", faults=dict.fromkeys(range(1, 9), fault))
    async with open_model(broken) as model:
        request = model.request()
        for attempt in range(1, 5):
            assert (await model.failure(request, attempt)).type == "ProviderFailed"
            await model.rested()
        last = await model.failure(request, attempt=5)
    assert (last.type, last.non_retryable) == ("ModelFailed", True)
    assert "began 5 answers" in last.message
    assert len(model.server.ledger.entries) == 5


TEXT_ALONE = (
    Refuse(status=400, body={"error": {"message": "messages[1].content must be a string"}}),
    Refuse(status=404, body={"error": {"message": "No endpoints found that support image input"}}),
    Refuse(status=500, body={"error": {"message": "image input is not supported - hint: provide the mmproj"}}),
)


@pytest.mark.parametrize("refused", TEXT_ALONE, ids=lambda each: str(each.status))
async def test_a_model_that_nobody_knows_is_sent_pictures_until_it_refuses_them(
    open_model: Open, refused: Refuse
) -> None:
    picture = b64encode(b"GIF89a" + bytes((9, 0, 9, 0))).decode()
    async with open_model(ScriptedAnswer(text="x", faults={1: refused})) as model:
        await model.rig.prompt(
            "What is it?", files=(FilePart(mime="image/gif", url=f"data:image/gif;base64,{picture}"),)
        )
        model.worker, request = model.started(), model.request()
        first = await model.failure(request)
        sent = str(model.sent)
        await model.rested()
        step = await model.generate(request, attempt=2)
        (retry,) = [event for event in await model.rig.events() if isinstance(event, ModelRetry)]
    assert (first.type, step) == ("ProviderFailed", StepResult(finish="stop"))
    assert picture in sent and picture not in str(model.sent)
    assert "[Not attached: this model cannot see pictures.]" in str(model.sent)
    assert "scripted/model is asked again without pictures and documents: " in str(first)
    assert (retry.attempt, retry.kind) == (1, str(refused.status))


async def test_a_model_that_refuses_pictures_that_were_not_sent_again_fails_the_turn(open_model: Open) -> None:
    refused = Refuse(status=400, body={"error": {"message": "no images, and no tools either"}})
    async with open_model(ScriptedAnswer(text="x", faults={1: refused, 2: refused})) as model:
        model.worker, request = model.started(), model.request()
        first = await model.failure(request)
        await model.rested()
        second = await model.failure(request, attempt=2)
    assert (first.non_retryable, second.non_retryable) == (False, True)
    assert "refused the request (400): no images, and no tools either" in second.message


@pytest.mark.parametrize("busy", [0, 4])
async def test_a_refusal_in_words_of_a_passing_fault_is_asked_again_five_times_at_most(
    open_model: Open, busy: int
) -> None:
    refused = Refuse(status=400, body={"error": {"message": "Internal error: try again later"}})
    faults = {**dict.fromkeys(range(1, 10), refused), **dict.fromkeys(range(1, busy + 1), Refuse(status=503))}
    async with open_model(ScriptedAnswer(text="x", faults=faults)) as model:
        request = model.request()
        for attempt in range(1, busy + 5):
            with suppress(ProviderPause):
                assert (await model.generate(request, attempt)).finish == FINISH_PAUSED  # for long
            await model.rested()
        last = await model.failure(request, attempt=busy + 5)
    assert (last.type, last.non_retryable) == ("ModelFailed", True)
    assert "has refused the request 5 times, the last time: Internal error: try again later" in last.message
    assert len(model.server.ledger.entries) == busy + 5


async def test_what_fails_before_an_answer_begins_is_waited_out_longer(open_model: Open) -> None:
    busy = ScriptedAnswer(text="Hello.", faults=dict.fromkeys(range(1, 7), StreamError()))
    async with open_model(busy) as model:
        request = model.request()
        for attempt in range(1, 7):
            assert (await model.failure(request, attempt)).type == "ProviderFailed"
            await model.rested()
        assert await model.generate(request, attempt=7) == StepResult(finish="stop")


async def test_patience_ends_in_words(open_model: Open) -> None:
    busy = Refuse(status=503, headers={"retry-after": "50"})
    async with open_model(ScriptedAnswer(text="x", faults={1: busy, 2: busy})) as model:
        model.retry_budget = RetryBudget(99.0)
        request, began = model.request(), monotonic()
        first = await model.failure(request)
        await model.rested()
        last = await model.failure(request, attempt=2)
        took = monotonic() - began
    assert (first.non_retryable, last.non_retryable, last.type) == (False, True, "ModelFailed")
    told = re.search(r"scripted/model has failed 2 times in 0:(\d\d):(\d\d), the last time:", str(last))
    assert told is not None and 50 <= 60 * int(told[1]) + int(told[2]) <= 50 + took


async def test_a_pause_that_is_longer_than_our_patience_is_not_begun(open_model: Open) -> None:
    away = Refuse(status=429, headers={"retry-after": "7200"})
    async with open_model(ScriptedAnswer(text="x", faults={1: away})) as model:
        model.retry_budget = RetryBudget(3600.0)
        failure = await model.failure()
    assert failure.non_retryable
    assert "scripted/model asks for a pause of 2:00:00, which is too long to wait: Rate limit" in str(failure)


async def test_an_attempt_that_comes_before_the_end_of_the_pause_waits_for_the_rest_of_it(
    open_model: Open, arm: Arm
) -> None:
    busy = Refuse(status=429, headers={"retry-after": "42"})
    async with open_model(ScriptedAnswer(text="x", faults={1: busy})) as model:
        request = model.request()
        arm("model.retry_noted=raise:OSError@1")
        with pytest.raises(OSError):
            await model.generate(request)
        early = await model.failure(request, attempt=2)
    assert early.type == "ProviderFailed" and early.next_retry_delay is not None
    assert 30 < early.next_retry_delay.total_seconds() <= 42 and len(model.server.ledger.entries) == 1


@pytest.mark.parametrize(
    ("refusal", "kind", "said"),
    [
        (
            Refuse(status=401, body={"error": {"message": "bad key"}}),
            "ModelFailed",
            "model: rejected the API key (401): bad key",
        ),
        (Refuse(status=400, body={"error": {"message": "no"}}), "ModelFailed", "model: refused the request (400): no"),
        (Refuse(status=404, body={"error": {"message": "no"}}), "ModelFailed", "model: no such model (404): no"),
        (Refuse(status=402, body={"error": {"message": "pay"}}), "ModelFailed", "model: out of credit (402): pay"),
        (
            Refuse(status=400, body={"error": {"message": "too long", "code": "context_length_exceeded"}}),
            "ContextOverflow",
            "The conversation is too long for scripted/model: too long.",
        ),
    ],
)
async def test_what_no_retry_can_mend_ends_the_turn_with_its_reason(
    open_model: Open, refusal: Refuse, kind: str, said: str
) -> None:
    async with open_model(ScriptedAnswer(text="x", faults={1: refusal})) as model:
        failure = await model.failure()
        log = await model.rig.types()
    assert (failure.type, failure.non_retryable) == (kind, True) and said in str(failure)
    assert "model.retry" not in log


async def test_a_model_that_cannot_be_reached_by_name_says_why(open_model: Open) -> None:
    async with open_model(HELLO) as model:
        (model.rig.config / "opencode.json").unlink()
        await model.rig.close()
        await model.rig.prompt(model="nobody")
        turn = (await model.rig.load()).turn
        assert turn is not None
        model.rig.turn = turn.id
        failure = await model.failure()
    assert (failure.type, failure.non_retryable) == ("ModelFailed", True) and "names no provider" in str(failure)


async def test_the_last_step_has_the_tools_of_the_others_and_may_not_call_them(open_model: Open) -> None:
    async with open_model(HELLO, HELLO) as model:
        bodies = []
        for step, text_only in enumerate((False, True), start=1):
            await model.generate(model.request(step=step, text_only=text_only))
            assert model.server.last_request is not None
            bodies.append(model.server.last_request.body)
    assert bodies[0]["tools"] and bodies[0]["tools"] == bodies[1]["tools"]
    assert [body.get("tool_choice") for body in bodies] == [None, "none"]
    assert "no more tools can be called" in bodies[1]["messages"][-1]["content"]


@pytest.mark.parametrize("text", ["Here it is.", " \n", pytest.param("a\0\ud800b", id="what text columns refuse")])
async def test_the_last_step_says_whether_it_has_text_when_it_is_asked_again_too(open_model: Open, text: str) -> None:
    answer = ScriptedAnswer(text=text, tools=(ScriptedCall(name="bash", arguments={"command": "touch a"}),))
    async with open_model(answer) as model:
        request = model.request(text_only=True)
        steps = [await model.generate(request), await model.generate(request)]
        other = await model.generate(model.request())

    assert [(step.has_text, len(step.calls)) for step in steps] == [(bool(text.strip()), 1)] * 2
    assert other.has_text is None


async def test_what_an_answer_costs_is_not_known_without_a_price(open_model: Open) -> None:
    async with open_model(HELLO) as model:
        await model.generate()
        (completed,) = [event for event in await model.rig.events() if isinstance(event, MessageCompleted)]
    assert completed.cost is None and completed.finish == "stop"


async def test_watchers_see_an_answer_grow_and_its_pieces_are_gone_when_it_is_stored(
    open_model: Open, tmp_path: Path
) -> None:
    slow = ScriptedAnswer(text="Hello there, all of you.", faults={1: Hold(after=2, path=str(tmp_path / "gate"))})
    async with open_model(slow) as model:
        rig = model.rig
        request = model.request()
        running = asyncio.create_task(model.generate(request))
        pieces = await pieces_of(rig, "Hello there, all")
        assert {piece.source for piece in pieces} == {answer_id(request.generation)}
        assert all(piece.attempt.startswith(f"{request.epoch}-{request.sequence}-1-") for piece in pieces)
        (tmp_path / "gate").touch()
        await running
        assert await deltas.since(rig.database, rig.session, 0) == []


@pytest.mark.parametrize(("thinks", "kind"), [(True, "reasoning"), (False, "text")])
async def test_watchers_see_before_the_first_piece_whether_the_model_is_known_to_think(
    open_model: Open, tmp_path: Path, thinks: bool, kind: str
) -> None:
    silent = ScriptedAnswer(text="Hello.", faults={1: Hold(after=0, path=str(tmp_path / "gate"))})
    async with open_model(silent) as model:
        file = model.rig.config / "opencode.json"
        config = json.loads(file.read_text())
        config["provider"]["scripted"]["models"] = {"model": {"reasoning": thinks}}
        file.write_text(json.dumps(config))
        await model.rig.close()
        await model.rig.open_turn()
        running = asyncio.create_task(model.generate())
        (piece,) = await pieces_of(model.rig, "")
        (tmp_path / "gate").touch()
        await running

    assert (piece.body["kind"], piece.body["text"]) == (kind, "")


async def test_each_piece_names_its_stored_part_and_those_of_another_attempt_name_others(
    open_model: Open, tmp_path: Path
) -> None:
    read = ScriptedCall(name="read", arguments={"filePath": "a.txt"})
    holds = {number: Hold(after=5, path=str(tmp_path / f"gate{number}")) for number in (1, 2)}
    written = 'Hm.I look.{"filePath": "a.'
    async with open_model(ScriptedAnswer(reasoning="Hm.", text="I look.", tools=(read,), faults=holds)) as model:
        request = model.request()
        zombie = asyncio.create_task(model.generate(request))
        first = await pieces_of(model.rig, written)
        newest = asyncio.create_task(model.generate(request, attempt=2))
        await wait_for_file(tmp_path / "gate2")
        second = [each for each in await pieces_of(model.rig, written * 2) if each.attempt != first[0].attempt]
        for number in (1, 2):
            (tmp_path / f"gate{number}").touch()
        await asyncio.gather(zombie, return_exceptions=True)  # it is refused, or finds the answer of the newest
        await newest
        log = await model.rig.events()
    lost, named = [[part for each in pieces if (part := each.body["part"])] for pieces in (first, second)]
    (completed,) = [event for event in log if isinstance(event, MessageCompleted)]
    stored = [*(sealed.part for sealed in completed.parts), *(e.call for e in log if isinstance(e, CallPrepared))]
    assert list(dict.fromkeys(named)) == stored == sorted(stored)
    assert len(set(lost)) == 3 and not set(lost) & set(named)


async def pieces_of(rig: ActivityRig, text: str) -> list[PublishedDelta]:
    """The pieces for watchers, once they have this text."""
    async with aclosing(events.ticks(rig.database, rig.session, read_nothing(rig.session))) as ticks:
        async for _ in ticks:
            pieces = await deltas.since(rig.database, rig.session, 0)
            if pieces and "".join(str(piece.body["text"]) for piece in pieces) == text:
                return pieces
    raise AssertionError("the log ticks for ever")


async def test_five_failures_of_our_own_end_the_turn_with_their_reason(open_model: Open, arm: Arm) -> None:
    async with open_model(HELLO) as model:
        request = model.request()
        arm("model.after_chunk=raise:KeyError")
        for attempt in range(1, 5):
            with pytest.raises(KeyError):
                await model.generate(request, attempt)
        failed = await model.failure(request, attempt=5)
    assert (failed.type, failed.non_retryable) == ("GivenUp", True)
    assert failed.message.startswith("Holdfast itself failed 5 times at this step, the last time: KeyError:")
    assert len(model.server.ledger.entries) == 5


async def test_an_absent_store_is_no_failure_of_our_own_however_long_it_is_away(open_model: Open, arm: Arm) -> None:
    async with open_model(HELLO) as model:
        request = model.request()
        arm("external.sql=drop")
        for attempt in range(1, 40):  # ten minutes of the engine's pauses, and more
            with pytest.raises(Unavailable):
                await model.generate(request, attempt)
        arm("model.after_chunk=raise:Unavailable")
        for attempt in range(40, 46):
            with pytest.raises(Unavailable):
                await model.generate(request, attempt)
        arm("model.after_chunk=raise:KeyError")
        with pytest.raises(KeyError):
            await model.generate(request, attempt=46)
        arm("")
        assert await model.generate(request, attempt=47) == StepResult(finish="stop")


async def test_an_attempt_that_fails_by_a_fault_of_ours_counts_once(rig: ActivityRig) -> None:
    await rig.open_turn()
    fence = rig.fence()
    fences = (fence, fence, rig.fence())
    counted = [await faults.count_failed_attempt(rig.database, rig.session, "a step", each) for each in fences]
    assert counted == [1, 1, 2]


async def test_a_step_that_became_the_last_one_after_its_registration_is_told_so(open_model: Open) -> None:
    """As where a budget is spent."""
    call = ScriptedCall(name="glob", arguments={"pattern": "*"})
    async with open_model(ScriptedAnswer(tools=(call,)), ScriptedAnswer(text="Done.")) as model:
        (first,) = (await model.generate()).calls
        await model.rig.run(first.id)
        async with model.rig.journal() as journal:
            await generations.begin(journal, model.rig.generation(2), model.rig.fence())
        await model.generate(model.request(step=2, text_only=True))

    assert "no more tools can be called" in str(model.sent["messages"][-1])
