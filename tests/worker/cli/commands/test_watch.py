"""`holdfast watch` as a process, and what it does when a database statement is lost."""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from activities import failpoints
from tests.harness import Harness
from tests.polling import WAIT_TIMEOUT
from tests.worker.cli.conftest import CTRL_C, CommandResult, OpenHarness, shell
from worker.cli.commands.watch import WatchLoop
from worker.cli.session_follower import SessionFollower
from worker.client import Holdfast
from worker.scripted.script import ScriptedAnswer, ScriptedCall, Stall
from worker.session_client import SessionClient
from worker.settings import Settings
from workflows.domain.ids import AskId, SessionId
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.inbox import InboxEntry

HELLO = ScriptedAnswer(text="Hello to you.")
TOUCH = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "touch ran"}),))
HANGS = ScriptedAnswer(text="never said in full", faults={1: Stall(after=1)})


async def test_watch_shows_past_events_and_ends_when_the_session_is_idle(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO) as harness, harness.running_worker():
        session = await harness.start_session("one")
        await harness.ended(session)
        await harness.client.stop(session)  # which stops nothing, and follows the end of the turn in the log
        ended = await shell(harness).run("watch", session, "--until-idle")

    assert ended.code == 0 and "> one" in ended.out and "Hello to you." in ended.out


async def test_a_client_of_json_goes_on_behind_any_line_and_misses_nothing(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        session = await harness.start_session("one")
        await harness.ended(session)
        whole = json_lines(await shell(harness).run("watch", session, "--until-idle", "--json"))
        half = whole[2]["seq"]  # in the middle of a step, whose call has not ended yet
        rest = json_lines(await shell(harness).run("watch", session, "--until-idle", "--json", "--after", str(half)))

    assert [line["type"] for line in whole[1:5]] == ["step_start", "tool_use", "step_finish", "step_start"]
    assert rest == [line for line in whole if line["seq"] > half]
    assert {line["sessionID"] for line in whole} == {session}


def json_lines(ended: CommandResult) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.out.splitlines()]


async def test_ctrl_c_only_leaves(open_harness: OpenHarness) -> None:
    async with open_harness(HANGS) as harness, harness.running_worker():
        session = await harness.start_session("hang")
        await harness.model.stalled.wait()
        async with shell(harness).terminal("watch", session) as terminal:
            await terminal.until("> hang")
            terminal.type(CTRL_C)
            code = await terminal.ended()
        now = await harness.client.sessions.get(session)
        await harness.client.stop(session)
        await harness.ended(session)

    assert code == 130 and now.turn_state == "open"


async def test_a_watcher_answers_at_the_terminal_and_follows_until_the_session_is_ended(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("go")
        async with shell(harness).terminal("watch", session) as terminal:
            await terminal.until_shown("reject > $")
            terminal.type("once\r")
            await terminal.until("once by ")
            await terminal.until("Hello to you.")
            await terminal.until("\a")  # the task has ended, `watch` has not
            terminal.type("and now\r")
            await terminal.until("Not sent, for `watch` takes answers only")
            await shell(harness).run("end", session)
            await terminal.until("The session has ended")
            code = await terminal.ended()

    assert code == 0


async def test_a_watcher_that_is_killed_misses_nothing_the_next_time(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("go")
        await harness.wait_for_asks(session)
        async with shell(harness).process("watch", session, "--json") as watcher:
            assert watcher.stdout is not None
            await watcher.stdout.readuntil(b'"type":"ask"')
            watcher.kill()
        (entry,) = await harness.client.inbox.asks()
        await harness.answer(entry.id)
        await harness.ended(session)
        ended = await shell(harness).run("watch", session, "--until-idle", "--json")

    types = [json.loads(line)["type"] for line in ended.out.splitlines()]
    assert types[1:] == ["step_start", "tool_use", "step_finish", "step_start", "text", "step_finish", "turn_end"]


@dataclass
class Heard:
    """A renderer that records sequence numbers and open asks."""

    seqs: list[int] = field(default_factory=list)
    asked: list[AskId] = field(default_factory=list)

    def on_event(self, seen: EventWithContents) -> None:
        self.seqs.append(seen.record.seq)

    def on_delta(self, delta: PublishedDelta) -> None:
        raise AssertionError(f"nothing is unfinished: {delta}")

    def on_ask(self, entry: InboxEntry) -> None:
        self.asked.append(entry.id)


async def test_no_statement_that_is_lost_ends_the_watching(
    open_harness: OpenHarness, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: failpoints.configure({}))
    watchers = [f"watcher-{n}" for n in range(1, 13)]  # more than one that loses nothing has statements
    faults = ";".join(f"external.sql:{name}=drop@{n}" for n, name in enumerate(watchers, start=1))
    async with open_harness(TOUCH, HELLO) as harness:
        async with harness.running_worker():
            harness.configure(permission={"bash": "ask"})
            session = await harness.start_session("go")
            asked = await harness.wait_for_asks(session)
        settings = Settings.read(shell(harness).environment)
        failpoints.configure({failpoints.VARIABLE: faults, failpoints.TEST_VARIABLE: str(tmp_path)})
        heard = await asyncio.gather(*(watched(harness, settings, session, name) for name in watchers))

    lost = Counter(line.split()[1] for line in (tmp_path / failpoints.ARRIVALS).read_text().splitlines())
    assert sum(lost[name] >= n for n, name in enumerate(watchers, start=1)) >= 5
    assert all(each == Heard(heard[-1].seqs, asked) for each in heard)


async def watched(harness: Harness, settings: Settings, session: SessionId, name: str) -> Heard:
    """What a watcher of a waiting session has seen when the ask comes."""
    heard = Heard()
    with failpoints.during_activity(name):
        async with Holdfast(settings, harness.endpoints) as holdfast:
            own = holdfast.as_(harness.client.actor)
            watching = asyncio.create_task(followed(own, session, heard))
            async with asyncio.timeout(WAIT_TIMEOUT):
                while not heard.asked:
                    assert not watching.done(), watching.exception()
                    await asyncio.sleep(0.01)
            watching.cancel()
            await asyncio.wait([watching])
    return heard


async def followed(client: SessionClient, session: SessionId, heard: Heard) -> None:
    follower = SessionFollower(client, session, 0)
    await WatchLoop(follower, heard, after=0, until_idle=True).follow()


async def test_a_session_that_waits_for_its_hosts_worker_is_reported_by_every_command(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(HELLO) as harness:
        harness.use_settings(harness.settings.model_copy(update={"host": "far"}))
        session = await harness.start_session("one")
        person = shell(harness)
        listed, shown, status = [
            (await person.run(*words)).out for words in (("sessions",), ("sessions", "show", session), ("status",))
        ]
        async with person.process("watch", session, "--until-idle") as watching:
            assert watching.stderr is not None
            noted = (await watching.stderr.readline()).decode()
            async with harness.running_worker(host="far"):
                said, _ = await watching.communicate()

    assert "waits for far" in listed and "host far" in status and "1 session with work" in status
    for text in (shown, noted):
        assert "It waits for a worker on host far" in text and "HOLDFAST_HOST=far" in text
    assert "Hello to you." in said.decode() and watching.returncode == 0
