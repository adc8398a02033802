"""The two that are compared: sessions of ours, and the floor; both play the same scripts."""

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
from bench.floor import Ask, Template
from bench.stage import Stage
from worker.bells import workflow_id
from worker.client import SessionClient
from worker.scripted.ledger import End, Entry
from worker.scripted.script import Script, ScriptedAnswer, ScriptedCall
from workflows.domain.events import Actor

ACTOR: Final = Actor(subject="bench", method="bench")
SMALL: Final = 300  # characters of a file that makes a small tool output
LARGE: Final = 50_000
_FILES: Final = ("a.txt", "b.txt")  # in turns: the same call again and again would be asked about
_LINE: Final = "All work and no play makes a line of notes.\n"
_CHUNK: Final = 16  # characters of an answer that are sent at once, and of a long one a thousandth
_PATIENCE: Final = 600.0
_NUMBERS: Final = count(1)

Called = Callable[[int], ScriptedCall]  # the call of the n-th step


@dataclass(frozen=True)
class Conversation:
    """One conversation: its workflow, and what the model's ledger says of its requests, in order."""

    workflow: str
    entries: Sequence[Entry]

    def gaps(self, skip: int = 0) -> list[float]:
        """Milliseconds from the last byte of an answer to the next request, the first `skip` steps left out."""
        pairs = list(pairwise(self.entries))[skip:]
        return [(after.began - before.ended).total_seconds() * 1000 for before, after in pairs]


class Side(Protocol):
    """Somebody who can play a script, in a worker of its own."""

    @property
    def worker(self) -> psutil.Process: ...

    async def start(self, script: str) -> str:
        """Begin; returns the workflow's id."""
        ...


@dataclass
class Ours:
    """Sessions in a directory."""

    worker: psutil.Process
    client: SessionClient
    project: Path

    async def start(self, script: str) -> str:
        accepted = await self.client.start(str(self.project), floor.prompt(script), model="scripted/model")
        return workflow_id(accepted.session)


@dataclass
class Bare:
    """Workflows of the floor."""

    worker: psutil.Process
    client: Client
    queue: str

    async def start(self, script: str) -> str:
        await self.client.start_workflow(floor.WORKFLOW, Ask(script=script), id=script, task_queue=self.queue)
        return script


def project(stage: Stage, name: str, *, characters: int = SMALL, **config: object) -> Path:
    """A directory with the notes that are read, so many characters long, and perhaps a configuration."""
    directory = stage.folder / name
    directory.mkdir()
    for file in _FILES:
        (directory / file).write_text(_lines(characters))
    if config:
        (directory / "opencode.json").write_text(json.dumps(config))
    return directory


async def ours(stage: Stage, directory: Path, queue: str = "ours", *, postgres_url: str | None = None) -> Ours:
    """Our side, with a worker on a queue of its own; `postgres_url` is how the worker reaches the database."""
    worker = await stage.worker(queue, postgres_url or stage.endpoints.postgres_url)
    settings = stage.settings.model_copy(update={"task_queue": queue})
    client = SessionClient(settings, stage.endpoints, ACTOR)
    await stage.processes.enter_async_context(client)
    return Ours(worker, client, directory)


async def bare(stage: Stage, like: Ours, *, opening: int = 0) -> Bare:
    """The floor with its worker; it sends what a session of ours has just sent, whose first answer had so many
    characters more."""
    queue = f"floor-{next(_NUMBERS)}"
    await play(stage, like, steps=2, opening=opening)
    last = stage.model.last
    assert last is not None
    template = Template(url=stage.model.url, directory=like.project, body=dict(last.body))
    path = stage.folder / f"{queue}.json"
    path.write_text(template.model_dump_json())
    given = {"--temporal": stage.endpoints.temporal_address, "--template": str(path), "--queue": queue}
    worker = await stage.start("bench.floor", {"HOLDFAST_TASK_QUEUE": queue}, *chain.from_iterable(given.items()))
    return Bare(worker, stage.temporal, queue)


def reading(step: int) -> ScriptedCall:
    """The call of a step: quick, so that it is a part of the workflow's task."""
    return ScriptedCall(name="read", arguments={"filePath": _FILES[step % len(_FILES)]})


def noting(step: int) -> ScriptedCall:
    """A call that is an activity of its own, and as small."""
    todo = {"content": f"Note {step}.", "status": "pending", "priority": "low"}
    return ScriptedCall(name="todowrite", arguments={"todos": [todo]})


def script(stage: Stage, steps: int, called: Called = reading, *, calls: int = 1, opening: int = 0) -> str:
    """A new script of so many steps with so many calls, and a word at the end; its name.

    The first answer has `opening` characters more: what comes after it hardly adds to a long one.
    """
    name = f"bench-{next(_NUMBERS)}"
    texts = [f"Reading on.{_lines(opening)}", *["Reading on."] * (steps - 1)]
    answers = [
        ScriptedAnswer(
            text=text, tools=tuple(called(step + call) for call in range(calls)), chunk=max(_CHUNK, len(text) // 1000)
        )
        for step, text in enumerate(texts)
    ]
    stage.scripts[name] = Script(answers=(*answers, ScriptedAnswer(text="That was all.")))
    return name


async def play(
    stage: Stage,
    side: Side,
    *,
    steps: int,
    sessions: int = 1,
    called: Called = reading,
    opening: int = 0,
    patience: float = _PATIENCE,
) -> list[Conversation]:
    """Play so many sessions at once, to the last answer. Nobody watches them: that would cost time, too."""
    names = [script(stage, steps, called, opening=opening) for _ in range(sessions)]
    ledger = stage.model.ledger
    last = len(ledger.entries) + sessions * (steps + 1)
    workflows = await asyncio.gather(*(side.start(name) for name in names))
    try:
        await asyncio.wait_for(ledger.entry(last), patience)
    except TimeoutError:
        missing = last - len(ledger.entries)
        raise RuntimeError(f"{missing} answers of {workflows} were not asked for within {patience:g} s.") from None
    return [_conversation(workflow, ledger.entries, name) for workflow, name in zip(workflows, names, strict=True)]


def rate(played: Sequence[Conversation]) -> float:
    """Steps per second of sessions that run at once: from when the last one has begun until all are through."""
    begin = max(each.entries[0].began for each in played)
    end = max(each.entries[-1].began for each in played)
    done = [entry for each in played for entry in each.entries if begin < entry.began]
    return len(done) / (end - begin).total_seconds()


def gap(played: Sequence[Conversation], skip: int = 2) -> float:
    """Median milliseconds between an answer and the next request; the first steps of a session warm caches up."""
    return median(gap for each in played for gap in each.gaps(skip))


def _lines(characters: int) -> str:
    return (_LINE * (characters // len(_LINE) + 1))[:characters]


def _conversation(workflow: str, entries: Sequence[Entry], name: str) -> Conversation:
    mine = [entry for entry in entries if entry.script == name]
    odd = [entry for entry in mine if entry.end is not End.COMPLETE or entry.asked > 1]
    if odd:
        raise RuntimeError(f"{workflow}: the model was not asked as the script expects: {odd[0]}")
    return Conversation(workflow, mine)
