"""Events become OpenCode's objects: as they come, when replayed, and as an export has them."""

import asyncio
import json
from collections import defaultdict
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from tests.harness import Harness
from tests.histories.history_scenarios import DONE, Scenario, scenarios
from tests.polling import WAIT_TIMEOUT
from tests.workflows.conftest import Open
from tests.workflows.conftest import open_harness as open_harness
from tests.workflows.conftest import pooler_url as pooler_url
from tests.workflows.conftest import port as port
from tests.workflows.conftest import with_sweeper as with_sweeper
from worker.opencode.export import Exporter
from worker.opencode.exported_shapes import Paths, SessionInfo
from worker.opencode.message_stream import StreamEvent
from worker.opencode.projector import Projector
from worker.opencode.shapes import CacheShape, TokensShape
from worker.scripted.script import DEFAULT_SCRIPT, Script, ScriptedAnswer, ScriptedCall, ScriptedUsage
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.ids import SessionId
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents

OBJECTS = (
    *("plain_turn", "parallel_calls", "rejected", "ask_waiting", "ask_answered", "steered", "stopped", "cut"),
    *("compacted", "outgrown", "paused", "titled", "steps_used_up", "structured_output", "waited", "retried"),
    *("child_waiting", "child_answered", "child_stopped", "budget_spent"),
)
NOTHING = TokensShape(input=0, output=0, reasoning=0, cache=CacheShape(read=0, write=0))


class Objects:
    """What a client has that follows the stream from its beginning."""

    def __init__(self) -> None:
        self.infos: dict[str, Any] = {}
        self.parts: dict[str, dict[str, Any]] = defaultdict(dict)
        self.types: list[str] = []

    def add(self, event: StreamEvent) -> None:
        properties: Any = event.dump()["properties"]
        self.types.append(event.type)
        match event.type:
            case "message.updated":
                before = self.infos.setdefault(properties["info"]["id"], properties["info"])
                assert before["time"]["created"] == properties["info"]["time"]["created"]
                self.infos[properties["info"]["id"]] = properties["info"]
            case "message.removed":
                self.infos.pop(properties["messageID"], None)
                self.parts.pop(properties["messageID"], None)
            case "message.part.updated":
                part = properties["part"]
                assert part["messageID"] in self.infos, "a message comes before its parts"
                self.parts[part["messageID"]][part["id"]] = part
            case "message.part.removed":
                del self.parts[properties["messageID"]][properties["partID"]]

    @property
    def messages(self) -> list[Any]:
        """As clients sort them."""
        return [
            {"info": self.infos[id], "parts": [self.parts[id][key] for key in sorted(self.parts[id])]}
            for id in sorted(self.infos)
        ]


async def exported(harness: Harness, session: SessionId) -> tuple[SessionInfo, list[Any]]:
    records, sessions, overview = (
        harness.client.records,
        harness.client.sessions,
        await harness.client.sessions.get(session),
    )
    exporter = Exporter(
        overview,
        overview.directory,
        await records.unfinished_turns(session),
        await records.summaries(session),
        None,
        await records.failures(session),
    )
    info = exporter.info(await sessions.origin(session), await sessions.totals(session), "global", "1")
    pieces = [piece async for piece in exporter.document(info, records.messages(session))]
    messages: list[Any] = json.loads("".join(pieces))["messages"]
    for each in messages:
        each["parts"].sort(key=lambda part: part["id"])
    return info, sorted(messages, key=lambda each: each["info"]["id"])


def projected(info: SessionInfo, events: list[EventWithContents]) -> tuple[Projector, Objects]:
    begun = info.model_copy(update={"cost": 0, "tokens": NOTHING, "title": "", "agent": "", "model": None})
    projector, objects = Projector(info.id, Paths(cwd=info.directory, root=info.directory), begun), Objects()
    for seen in events:
        for event in projector.of_event(seen):
            objects.add(event)
    return projector, objects


async def follow(harness: Harness, live: dict[SessionId, list[EventWithContents]]) -> None:
    async with aclosing(harness.client.records.watch_all({})) as news:
        async for seen in news:
            live[seen.record.session].append(seen)


@pytest.mark.parametrize("name", OBJECTS)
async def test_objects_are_the_same_live_replayed_and_exported(open_harness: Open, tmp_path: Path, name: str) -> None:
    scenario: Scenario = scenarios(tmp_path / "gate")[name]
    scripts = {
        DEFAULT_SCRIPT: Script(answers=scenario.answers, auxiliary_answer=scenario.summary),
        "child": Script(answers=scenario.child),
    }
    live: dict[SessionId, list[EventWithContents]] = defaultdict(list)
    async with open_harness(scripts=scripts) as harness:
        following = asyncio.create_task(follow(harness, live))
        async with harness.running_worker():
            await scenario.play(harness, tmp_path / "gate")
            if name in ("parallel_calls", "cut"):  # copies are messages, too
                (overview, *_) = await harness.client.sessions.list_recent()
                copied = await harness.client.copies.fork_session(overview.id)
                await harness.client.prompt(copied.session, "And on.")
                await harness.ended(copied.session)
        for overview in await harness.client.sessions.list_recent():
            async with asyncio.timeout(WAIT_TIMEOUT):
                while len(live[overview.id]) < overview.seq:
                    await asyncio.sleep(0.01)
            info, expected = await exported(harness, overview.id)
            log = [seen async for seen in harness.client.records.log(overview.id)]
            for events in (log, live[overview.id]):
                projector, objects = projected(info, events)
                assert objects.messages == expected
                found, types = projector.info, {each.record.event.type for each in log}
                assert found is not None and found.agent == (info.agent if "turn.opened" in types else "")
                assert found.title == (info.title if "session.titled" in types else "")
                assert name.startswith("child") or (found.tokens, found.cost) == (info.tokens, info.cost)
        following.cancel()
        await asyncio.wait([following])


async def test_a_call_is_there_before_it_is_asked_about_and_its_answer_before_its_result(
    open_harness: Open, tmp_path: Path
) -> None:
    scenario = scenarios(tmp_path / "gate")["ask_answered"]
    async with open_harness(*scenario.answers) as harness, harness.running_worker():
        session = await scenario.play(harness, tmp_path / "gate")
        info, _ = await exported(harness, session)
        log = [seen async for seen in harness.client.records.log(session)]
    projector = Projector(info.id, Paths(cwd=info.directory, root=info.directory), info)
    told = [state_of(event) for seen in log for event in projector.of_event(seen)]
    assert [each for each in told if each != "session.updated"] == [
        *("session.created", "user", "text", "busy"),
        *("assistant", "step-start", "pending", "running", "permission.asked"),
        *("permission.replied", "running", "completed"),
        *("step-finish", "assistant", "assistant", "step-start", "text", "step-finish", "idle", "session.idle"),
    ]


def piece(attempt: str, part: int | str | None, text: str, source: str) -> PublishedDelta:
    body: dict[str, JsonValue] = {"part": part, "kind": "text", "text": text, "name": None}
    return PublishedDelta(id=1, source=source, attempt=attempt, body=body)


async def test_results_that_models_see_no_more_are_marked_live_and_replayed(open_harness: Open) -> None:
    files = [f"{number}.txt" for number in range(8)]
    read = ScriptedAnswer(tools=tuple(ScriptedCall(name="read", arguments={"filePath": name}) for name in files))
    full = DONE.model_copy(update={"usage": ScriptedUsage(input=170_000, output=10)})
    live: dict[SessionId, list[EventWithContents]] = defaultdict(list)
    async with open_harness(read, DONE, full, DONE, DONE) as harness:
        following = asyncio.create_task(follow(harness, live))
        limit = {"context": 200_000, "output": 32_000}
        harness.configure_person(model={"limit": limit}, compaction={"prune": True})
        for name in files:
            harness.file(name, "one of many lines\n" * 2_000)
        async with harness.running_worker():
            session = await harness.start_session("Read.")
            for turn in (1, 2, 3):
                await harness.ended(session, turn)
                await harness.client.prompt(session, "And?")
            await harness.ended(session, 4)
        info, expected = await exported(harness, session)
        log = [seen async for seen in harness.client.records.log(session)]
        async with asyncio.timeout(WAIT_TIMEOUT):
            while len(live[session]) < len(log):
                await asyncio.sleep(0.01)
        following.cancel()
        await asyncio.wait([following])
    assert projected(info, log)[1].messages == expected
    marked = [cleared(messages) for messages in (expected, projected(info, live[session])[1].messages)]
    assert marked[0] == marked[1] and marked[0]


def cleared(messages: list[Any]) -> set[str]:
    """Calls with cleared results: the event of that and its row have times of their own."""
    parts = (part for each in messages for part in each["parts"] if part["type"] == "tool")
    return {part["id"] for part in parts if "compacted" in part["state"]["time"]}


async def test_pieces_come_after_their_part_and_go_with_their_attempt(open_harness: Open) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        session = await harness.start_session("Go.")
        await harness.ended(session)
        info, expected = await exported(harness, session)
        log = [seen async for seen in harness.client.records.log(session)]
    (end,) = (at for at, seen in enumerate(log) if isinstance(seen.record.event, MessageCompleted))
    projector, objects = Projector(info.id, Paths(cwd=info.directory, root=info.directory)), Objects()
    for event in (event for seen in log[:end] for event in projector.of_event(seen)):
        objects.add(event)
    answer = expected[-1]["info"]["id"]
    for each, types in (
        (piece("1-1-1", None, "", answer), ["assistant", "step-start"]),
        (piece("1-1-1", "prt_1", "Do", answer), ["text", "message.part.delta"]),
        (piece("1-1-1", "prt_1", "ne", answer), ["message.part.delta"]),
        (piece("1-1-2", "prt_2", "Done", answer), ["message.part.removed", "text", "message.part.delta"]),
        (piece("1-1-1", "prt_1", "late", answer), []),
        (
            piece("1-2-1", "prt_0", "Done", f"{answer[:-1]}_"),
            ["message.removed", "assistant", "step-start", "text", "message.part.delta"],
        ),
        (
            piece("1-2-2", "prt_3", "Done.", answer),
            ["message.removed", "assistant", "step-start", "text", "message.part.delta"],
        ),
    ):
        told = projector.of_delta(each)
        assert [state_of(event) for event in told] == types
        for event in told:
            objects.add(event)
    for event in (event for seen in log[end:] for event in projector.of_event(seen)):
        objects.add(event)
    assert objects.messages == expected
    assert projector.of_delta(piece("1-2-3", "prt_9", "late", answer)) == []


def state_of(event: StreamEvent) -> str:
    """What an event is about, in a word."""
    properties: Any = event.dump()["properties"]
    match event.type:
        case "message.updated":
            return str(properties["info"]["role"])
        case "message.part.updated":
            part = properties["part"]
            return str(part["state"]["status"] if part["type"] == "tool" else part["type"])
        case "session.status":
            return str(properties["status"]["type"])
    return event.type
