"""The effect of commands that take long to check on other sessions and on stops."""

import asyncio
import time
from contextlib import aclosing
from statistics import median
from typing import Final

from bench import floor, systems
from bench.figure_table import Budget, Figure
from bench.systems import HoldfastSystem
from bench.testbed import Testbed
from worker.scripted.script import Script, ScriptedAnswer, ScriptedCall
from workflows.domain.ids import SessionId
from workflows.domain.prompt import Prompt
from workflows.domain.views.events import EventWithContents

SESSIONS: Final = 7
TURN: Final = Budget(must=1.2, aim=1.1, ratio=True)  # of an undisturbed turn
BUSY: Final = Budget(must=2, aim=1.2, ratio=True)  # the same, while one core only checks
STOP: Final = Budget(must=2, aim=0.5)  # seconds
_QUEUE: Final = "checking"
_TURNS: Final = 15
_WARM: Final = 3  # turns before anything is measured
_TIMEOUT: Final = 120.0  # seconds
_CONDITIONAL: Final = " ".join(f"[ -d s{number} ] && cd s{number};" for number in range(28)) + " make"
_HARD: Final = "))((;;&&||" * 3_000  # the parser alone takes a second over it


async def measure_slow_checks(testbed: Testbed) -> list[Figure]:
    """Ordinary turns, alone and while seven sessions have commands checked; then a stop of each of those."""
    ours = await systems.start_holdfast(testbed, systems.project(testbed, _QUEUE, permission={"*": "allow"}), _QUEUE)
    testbed.scripts["plain"] = Script(answers=(ScriptedAnswer(text="Hello."),))
    async with asyncio.timeout(_TIMEOUT):
        await _turns(ours, _WARM)
        alone = await _turns(ours, _TURNS)
        explode = await _measure_with_checks(testbed, ours, "explode", _CONDITIONAL)
        hard = await _measure_with_checks(testbed, ours, "hard", _HARD)
    figures = (
        ("600 characters of conditional `cd`", explode, TURN),
        ("texts that the parser takes long over", hard, BUSY),
    )
    return [
        figure
        for what, (turn, stop), budget in figures
        for figure in (
            Figure(f"a turn beside {SESSIONS} sessions with {what} (ms)", turn, alone, budget),
            Figure("  the longest of their stops (s)", stop, None, STOP, digits=2),
        )
    ]


async def _measure_with_checks(testbed: Testbed, ours: HoldfastSystem, name: str, command: str) -> tuple[float, float]:
    """The median turn of others in milliseconds, and the longest stop in seconds."""
    call = ScriptedCall(name="bash", arguments={"command": command})
    testbed.scripts[name] = Script(answers=(ScriptedAnswer(tools=(call,)), ScriptedAnswer(text="Done.")))
    ledger = testbed.model.ledger
    before = len(ledger.entries)
    sessions = await asyncio.gather(*(_start(ours, name) for _ in range(SESSIONS)))
    await ledger.entry(before + SESSIONS)
    turn = await _turns(ours, _TURNS)
    stops = await asyncio.gather(*(_stopped(ours, session) for session in sessions))
    return turn, max(stops)


async def _turns(ours: HoldfastSystem, count: int) -> float:
    """Median milliseconds from a prompt to the end of its turn, one after the other."""
    spent = []
    for _ in range(count):
        began = time.perf_counter()
        await _ended(ours, await _start(ours, "plain"))
        spent.append(time.perf_counter() - began)
    return median(spent) * 1000


async def _start(ours: HoldfastSystem, script: str) -> SessionId:
    prompt = Prompt.of_text(floor.prompt(script), model="scripted/model")
    accepted = await ours.client.start(str(ours.project), prompt, title=script)
    return accepted.session


async def _stopped(ours: HoldfastSystem, session: SessionId) -> float:
    began = time.perf_counter()
    await ours.client.stop(session)
    await _ended(ours, session)
    return time.perf_counter() - began


async def _ended(ours: HoldfastSystem, session: SessionId) -> None:
    async with aclosing(ours.client.records.watch(session)) as watched:
        async for seen in watched:
            if isinstance(seen, EventWithContents) and seen.record.event.type == "turn.ended":
                return
