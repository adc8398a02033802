"""`holdfast watch` as a process, and what it does when a statement is lost."""

import asyncio
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from activities import failpoints
from tests.house import House
from tests.worker.cli.conftest import CTRL_C, Ended, OpenHouse, shell
from worker.cli.commands.watch import Watch
from worker.cli.follow import Follower
from worker.cli.relay import Relay
from worker.client import Delta, InboxEntry, Seen, SessionClient
from worker.scripted.script import ScriptedAnswer, ScriptedCall, Stall
from worker.settings import Settings
from workflows.domain.ids import AskId, SessionId

HELLO = ScriptedAnswer(text="Hello to you.")
TOUCH = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "touch ran"}),))
HANGS = ScriptedAnswer(text="never said in full", faults={1: Stall(after=1)})


async def test_what_has_happened_is_told_and_it_ends_when_nothing_is_left_to_do(open_house: OpenHouse) -> None:
    async with open_house(HELLO, HELLO) as house, house.working():
        session = await house.say("one")
        await house.ended(session)
        await house.client.stop(session)  # which stops nothing, and follows the end of the turn in the log
        ended = await shell(house).run("watch", session, "--until-idle")

    assert ended.code == 0 and "> one" in ended.out and "Hello to you." in ended.out


async def test_a_client_of_json_goes_on_behind_any_line_and_misses_nothing(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, HELLO) as house, house.working():
        session = await house.say("one")
        await house.ended(session)
        whole = told(await shell(house).run("watch", session, "--until-idle", "--json"))
        half = whole[2]["seq"]  # in the middle of a step, whose call has not ended yet
        rest = told(await shell(house).run("watch", session, "--until-idle", "--json", "--after", str(half)))

    assert [line["type"] for line in whole[1:5]] == ["step_start", "tool_use", "step_finish", "step_start"]
    assert rest == [line for line in whole if line["seq"] > half]
    assert {line["sessionID"] for line in whole} == {session}


def told(ended: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.out.splitlines()]


async def test_ctrl_c_only_leaves(open_house: OpenHouse) -> None:
    async with open_house(HANGS) as house, house.working():
        session = await house.say("hang")
        await house.model.stalled.wait()
        async with shell(house).terminal("watch", session) as terminal:
            await terminal.until("> hang")
            terminal.type(CTRL_C)
            code = await terminal.ended()
        now = await house.client.session(session)
        await house.client.stop(session)
        await house.ended(session)

    assert code == 130 and now.turn_state == "open"


async def test_a_watcher_answers_at_the_terminal_and_follows_until_the_session_is_ended(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, HELLO) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("go")
        async with shell(house).terminal("watch", session) as terminal:
            await terminal.until("reject > $")
            terminal.type("once\r")
            await terminal.until("once, from ")
            await terminal.until("Hello to you.")
            await terminal.until("\a")  # the task has ended, though the watching has not
            terminal.type("and now\r")
            await terminal.until("Not sent, for `watch` takes answers only")
            await shell(house).run("end", session)
            await terminal.until("The session has ended")
            code = await terminal.ended()

    assert code == 0


async def test_a_watcher_that_is_killed_misses_nothing_the_next_time(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, HELLO) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("go")
        await house.asked(session)
        async with shell(house).process("watch", session, "--json") as watcher:
            assert watcher.stdout is not None
            await watcher.stdout.readuntil(b'"type":"ask"')
            watcher.kill()
        (entry,) = await house.client.asks()
        await house.answer(entry.id)
        await house.ended(session)
        told = await shell(house).run("watch", session, "--until-idle", "--json")

    types = [json.loads(line)["type"] for line in told.out.splitlines()]
    assert types[1:] == ["step_start", "tool_use", "step_finish", "step_start", "text", "step_finish", "turn_end"]


@dataclass
class Heard:
    """A teller that remembers the numbers of what it is told, and which asks are waiting."""

    told: list[int] = field(default_factory=list)
    asked: list[AskId] = field(default_factory=list)

    def tell(self, seen: Seen) -> None:
        self.told.append(seen.record.seq)

    def show(self, delta: Delta) -> None:
        raise AssertionError(f"nothing is unfinished: {delta}")

    def ask(self, entry: InboxEntry) -> None:
        self.asked.append(entry.id)


async def test_no_statement_that_is_lost_ends_the_watching(
    open_house: OpenHouse, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: failpoints.configure({}))
    watchers = [f"watcher-{n}" for n in range(1, 13)]  # more than one that loses nothing has statements
    faults = ";".join(f"external.sql:{name}=drop@{n}" for n, name in enumerate(watchers, start=1))
    async with open_house(TOUCH, HELLO) as house:
        async with house.working():
            house.configure(permission={"bash": "ask"})
            session = await house.say("go")
            asked = await house.asked(session)
        settings = Settings.read(shell(house).environment)
        failpoints.configure({failpoints.VARIABLE: faults, failpoints.TEST_VARIABLE: str(tmp_path)})
        heard = await asyncio.gather(*(watched(house, settings, session, name) for name in watchers))

    lost = Counter(line.split()[1] for line in (tmp_path / failpoints.ARRIVALS).read_text().splitlines())
    assert sum(lost[name] >= n for n, name in enumerate(watchers, start=1)) >= 5
    assert all(each == Heard(heard[-1].told, asked) for each in heard)


async def watched(house: House, settings: Settings, session: SessionId, name: str) -> Heard:
    """What a watcher of a waiting session is told, until it has heard of the ask."""
    heard = Heard()
    with failpoints.at_work(name):
        async with SessionClient(settings, house.endpoints, house.client.actor) as own:
            watching = asyncio.create_task(followed(own, session, heard))
            async with asyncio.timeout(60):
                while not heard.asked:
                    assert not watching.done(), watching.exception()
                    await asyncio.sleep(0.01)
            watching.cancel()
            await asyncio.wait([watching])
    return heard


async def followed(client: SessionClient, session: SessionId, heard: Heard) -> None:
    async with Relay(sys.stdout.fileno()) as relay:
        follower = Follower(client, session, 0, relay)
        await Watch(client, session, heard, follower, after=0, until_idle=True).follow()


async def test_whoever_looks_is_told_that_a_session_waits_for_a_worker_where_its_files_are(
    open_house: OpenHouse,
) -> None:
    async with open_house(HELLO) as house:
        house.client.settings = house.settings.model_copy(update={"host": "far"})
        session = await house.say("one")
        person = shell(house)
        listed, shown, status = [
            (await person.run(*words)).out for words in (("sessions",), ("sessions", "show", session), ("status",))
        ]
        async with person.process("watch", session, "--until-idle") as watching:
            assert watching.stderr is not None
            told = (await watching.stderr.readline()).decode()
            async with house.working(host="far"):
                said, _ = await watching.communicate()

    assert "waits for far" in listed and "host far" in status and "1 session with work" in status
    for text in (shown, told):
        assert "It waits for a worker on host far" in text and "HOLDFAST_HOST=far" in text
    assert "Hello to you." in said.decode() and watching.returncode == 0
