"""What a command costs before it does anything: seconds and memory, beside a Python that imports its two libraries.

`asks` and the commands that list read; `answer` and `send` signal through a worker; `send` also reads the directory's
configuration.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from statistics import median
from typing import Final

from bench import stopwatch, systems
from bench.figure_table import Budget, Figure
from bench.testbed import Testbed
from workflows.domain.events.asks import AskRaised
from workflows.domain.ids import AskId, SessionId
from workflows.domain.views.events import EventWithContents

READS: Final = Budget(must=0.4, aim=0.25)
SIGNALS: Final = Budget(must=0.7, aim=0.5)
READS_MEMORY: Final = Budget(must=50, aim=40)
SIGNALS_MEMORY: Final = Budget(must=75, aim=65)
_ROUNDS: Final = 11  # the first may compile, and does not count
_FLOOR: Final = [sys.executable, "-P", "-c", "import psycopg; from pydantic import BaseModel"]
_BARE: Final = [sys.executable, "-P", "-c", "pass"]

_LISTS: Final = ("sessions", "stats", "grants", "schedules", "projects")

Rounds = list[dict[str, tuple[float, float]]]


async def measure_command_start(testbed: Testbed) -> list[Figure]:
    """Commands that read and that signal, in turns with the floor."""
    holdfast = str(Path(sys.executable).with_name("holdfast"))
    session, asks = await _asked(testbed)
    same = {
        "bare": _BARE,
        "floor": _FLOOR,
        "reads": [holdfast, "asks", "--json"],
        "sends": [holdfast, "send", session, "--queue", "Wait."],
        **{name: [holdfast, name, "--json"] for name in _LISTS},
    }
    rounds = await alternate(
        testbed, [{**same, "answers": [holdfast, "answer", ask, "once"]} for ask in asks[:_ROUNDS]]
    )
    largest = max(_LISTS, key=lambda name: median(each[name][1] for each in rounds))
    return [
        Figure("Python that does nothing (s)", median(each["bare"][0] for each in rounds), digits=2),
        _seconds("a command that reads (s), beside its imports", rounds, "reads", READS),
        _seconds("a command that signals: an answer (s)", rounds, "answers", SIGNALS),
        _seconds("a command that signals: a prompt (s)", rounds, "sends", SIGNALS),
        _memory("memory of a command that reads (MB)", rounds, "reads", READS_MEMORY),
        _memory("memory of the largest command that lists (MB)", rounds, largest, READS_MEMORY),
        _memory("memory of a command that signals: an answer (MB)", rounds, "answers", SIGNALS_MEMORY),
        _memory("memory of a command that signals: a prompt (MB)", rounds, "sends", SIGNALS_MEMORY),
    ]


async def _asked(testbed: Testbed) -> tuple[SessionId, list[AskId]]:
    """A session with one more open ask than there are rounds, so that its turn stays open."""
    side = await systems.start_holdfast(
        testbed, systems.project(testbed, "commands", permission={"read": "ask"}), "commands"
    )
    session = SessionId((await side.start(systems.script(testbed, 1, calls=_ROUNDS + 1))).partition("/")[2])
    asks: list[AskId] = []
    async with aclosing(side.client.records.watch(session)) as watched:
        async for seen in watched:
            if isinstance(seen, EventWithContents) and isinstance(seen.record.event, AskRaised):
                asks.append(seen.record.event.ask)
                if len(asks) > _ROUNDS:
                    return session, asks
    raise AssertionError("a watch does not end")


async def alternate(
    testbed: Testbed, rounds: Sequence[Mapping[str, list[str]]], elsewhere: Mapping[str, str] = {}
) -> Rounds:
    """Run each round's commands with compiled modules kept, as in a user's shell. The first round does not count.

    `elsewhere`: their variables that lead to other servers.
    """
    environment = {**testbed.settings.environment, "HOLDFAST_WORKER": "false", **elsewhere}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", stopwatch.__file__),
        stdin=PIPE,
        stdout=PIPE,
        env=environment,
        cwd=testbed.folder,
    )
    output, _ = await process.communicate(json.dumps(rounds).encode())
    if process.returncode != 0:
        raise RuntimeError("A command that was to be measured has failed.")
    measured: Rounds = json.loads(output)
    return measured[1:]


def _seconds(name: str, rounds: Rounds, which: str, budget: Budget) -> Figure:
    mine, floor = ([each[key][0] for each in rounds] for key in (which, "floor"))
    ratio = median(one / other for one, other in zip(mine, floor, strict=True))
    return Figure(name, median(mine), median(floor), budget, ratio, digits=2)


def _memory(name: str, rounds: Rounds, which: str, budget: Budget) -> Figure:
    mine, floor = (median(each[key][1] for each in rounds) for key in (which, "floor"))
    return Figure(name, mine, floor, budget, digits=0)
