"""The two compared systems: Holdfast's sessions and the floor. Both play the same scripts."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, count, pairwise
from pathlib import Path
from statistics import median
from typing import Final, Protocol

import psutil
from temporalio.client import Client

from bench import floor
from bench.floor import RequestTemplate, StepInput
from bench.testbed import Testbed
from worker.client import Holdfast
from worker.outbox import workflow_id
from worker.scripted.request_ledger import RequestRecord, StreamEnd
from worker.scripted.script import Script, ScriptedAnswer, ScriptedCall
from worker.session_client import SessionClient
from workflows.domain.actor import Actor
from workflows.domain.prompt import Prompt

ACTOR: Final = Actor(subject="bench", method="bench")
SMALL: Final = 300  # characters of a small tool output
LARGE: Final = 50_000
_FILES: Final = ("a.txt", "b.txt")  # in turns: a repeated call would raise an ask
_LINE: Final = "All work and no play makes a line of notes.\n"
_CHUNK: Final = 16  # characters per piece of an answer; of a long one a thousandth
_TIMEOUT: Final = 600.0
_NUMBERS: Final = count(1)

CallFactory = Callable[[int], ScriptedCall]  # the call of the n-th step


@dataclass(frozen=True)
class PlayedSession:
    """One conversation: its workflow, and its requests from the model's ledger, in order."""

    workflow: str
    entries: Sequence[RequestRecord]

    def gaps(self, skip: int = 0) -> list[float]:
        """Milliseconds from an answer's last byte to the next request, without the first `skip` steps."""
        pairs = list(pairwise(self.entries))[skip:]
        return [(after.began - before.ended).total_seconds() * 1000 for before, after in pairs]


class System(Protocol):
    """Plays scripts in its own worker."""

    @property
    def worker(self) -> psutil.Process: ...

    async def start(self, script: str) -> str:
        """Start a script; the workflow's id."""
        ...


@dataclass
class HoldfastSystem:
    worker: psutil.Process
    client: SessionClient
    project: Path

    async def start(self, script: str) -> str:
        """With a title: without one, the model would be asked for it."""
        prompt = Prompt.of_text(floor.prompt(script), model="scripted/model")
        accepted = await self.client.start(str(self.project), prompt, title=script)
        return workflow_id(accepted.session)


@dataclass
class BareTemporal:
    worker: psutil.Process
    client: Client
    queue: str
    local: bool = False

    async def start(self, script: str) -> str:
        ask = StepInput(script=script, local=self.local)
        await self.client.start_workflow(floor.WORKFLOW, ask, id=script, task_queue=self.queue)
        return script


def project(testbed: Testbed, name: str, *, characters: int = SMALL, **config: object) -> Path:
    """A directory with notes of `characters` characters to read, and perhaps a configuration."""
    directory = testbed.folder / name
    directory.mkdir()
    for file in _FILES:
        (directory / file).write_text(_lines(characters))
    if config:
        (directory / "opencode.json").write_text(json.dumps(config))
    return directory


async def start_holdfast(
    testbed: Testbed, directory: Path, queue: str = "ours", *, postgres_url: str | None = None
) -> HoldfastSystem:
    """Holdfast with a worker on its own queue, which reaches the database by `postgres_url`."""
    worker = await testbed.worker(queue, postgres_url or testbed.endpoints.postgres_url)
    settings = testbed.settings.model_copy(update={"task_queue": queue})
    holdfast = Holdfast(settings, testbed.endpoints)
    await testbed.processes.enter_async_context(holdfast)
    return HoldfastSystem(worker, holdfast.as_(ACTOR), directory)


async def start_bare_temporal(testbed: Testbed, like: HoldfastSystem, *, opening: int = 0) -> BareTemporal:
    """The floor with its worker; it sends what a session of `like` has just sent."""
    queue = f"floor-{next(_NUMBERS)}"
    await play(testbed, like, steps=2, opening=opening)
    last = testbed.model.last_request
    assert last is not None
    template = RequestTemplate(url=testbed.model.url, directory=like.project, body=dict(last.body))
    path = testbed.folder / f"{queue}.json"
    path.write_text(template.model_dump_json())
    given = {"--temporal": testbed.endpoints.temporal_address, "--template": str(path), "--queue": queue}
    worker = await testbed.start("bench.floor", {"HOLDFAST_TASK_QUEUE": queue}, *chain.from_iterable(given.items()))
    return BareTemporal(worker, testbed.temporal, queue)


def read_call(step: int) -> ScriptedCall:
    """A step's quick call: it is a part of the workflow task."""
    return ScriptedCall(name="read", arguments={"filePath": _FILES[step % len(_FILES)]})


def todo_call(step: int) -> ScriptedCall:
    """An equally small call that is its own activity."""
    todo = {"content": f"Note {step}.", "status": "pending", "priority": "low"}
    return ScriptedCall(name="todowrite", arguments={"todos": [todo]})


def script(testbed: Testbed, steps: int, called: CallFactory = read_call, *, calls: int = 1, opening: int = 0) -> str:
    """Add a script of `steps` steps with `calls` calls each, and a final word; its name.

    The first answer has `opening` more characters: the rest hardly adds to a long one.
    """
    name = f"bench-{next(_NUMBERS)}"
    texts = [f"Reading on.{_lines(opening)}", *["Reading on."] * (steps - 1)]
    answers = [
        ScriptedAnswer(
            text=text, tools=tuple(called(step + call) for call in range(calls)), chunk=max(_CHUNK, len(text) // 1000)
        )
        for step, text in enumerate(texts)
    ]
    testbed.scripts[name] = Script(answers=(*answers, ScriptedAnswer(text="That was all.")))
    return name


async def play(
    testbed: Testbed,
    side: System,
    *,
    steps: int,
    sessions: int = 1,
    called: CallFactory = read_call,
    opening: int = 0,
    timeout: float = _TIMEOUT,
) -> list[PlayedSession]:
    """Play sessions together, to the last answer, without watchers: they would cost time, too."""
    names = [script(testbed, steps, called, opening=opening) for _ in range(sessions)]
    ledger = testbed.model.ledger
    last = len(ledger.entries) + sessions * (steps + 1)
    workflows = await asyncio.gather(*(side.start(name) for name in names))
    try:
        await asyncio.wait_for(ledger.entry(last), timeout)
    except TimeoutError:
        missing = last - len(ledger.entries)
        raise RuntimeError(f"{missing} answers of {workflows} were not asked for within {timeout:g} s.") from None
    return [_conversation(workflow, ledger.entries, name) for workflow, name in zip(workflows, names, strict=True)]


def rate(played: Sequence[PlayedSession]) -> float:
    """Steps per second of concurrent sessions, from the start of the last to the end of all."""
    begin = max(each.entries[0].began for each in played)
    end = max(each.entries[-1].began for each in played)
    done = [entry for each in played for entry in each.entries if begin < entry.began]
    return len(done) / (end - begin).total_seconds()


def gap(played: Sequence[PlayedSession]) -> float:
    """Median milliseconds between an answer and the next request; without the first steps, which warm caches up."""
    return median(gap for each in played for gap in each.gaps(skip=2))


def _lines(characters: int) -> str:
    return (_LINE * (characters // len(_LINE) + 1))[:characters]


def _conversation(workflow: str, entries: Sequence[RequestRecord], name: str) -> PlayedSession:
    mine = [entry for entry in entries if entry.script == name]
    odd = [entry for entry in mine if entry.end is not StreamEnd.COMPLETE or entry.attempt > 1]
    if odd:
        raise RuntimeError(f"{workflow}: the model was not asked as the script expects: {odd[0]}")
    return PlayedSession(workflow, mine)
