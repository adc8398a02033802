"""The effect ledger: written by the commands, outside the system's workspace, database and process tree."""

import re
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from tests.polling import wait_until
from worker.scripted.script import ScriptedCall
from workflows.domain.messages import ToolPart
from workflows.domain.value import Value

_COMMAND: Final = re.compile(r"\beffect (\S+)")
_PROGRAM: Final = """#!{python} -IS
import os, sys, time
token, hold = sys.argv[1], "hold" in sys.argv
def note(word):
    ledger = os.open({ledger!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(ledger, f"{{word}} {{token}} {{os.getpid()}} {{time.time()}}\\n".encode())
    os.fsync(ledger)
    print(word, token, flush=True)
note("start")
while hold and not os.path.exists(os.path.join({gates!r}, token)):
    time.sleep(0.01)
note("end")
"""


class EffectMoment(StrEnum):
    START = "start"
    END = "end"


class EffectLine(Value):
    """What one effect wrote down."""

    moment: EffectMoment
    token: str
    pid: int
    at: datetime


class EffectLedger:
    """The program `effect TOKEN [hold]` and what it wrote; `hold` waits to be released."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "effects"
        self.programs = directory / "bin"
        self.gates = directory / "gates"
        for folder in (self.programs, self.gates):
            folder.mkdir()
        program = self.programs / "effect"
        program.write_text(_PROGRAM.format(python=sys.executable, ledger=str(self.path), gates=str(self.gates)))
        program.chmod(0o755)

    def lines(self) -> list[EffectLine]:
        written = self.path.read_text().splitlines() if self.path.exists() else []
        return [_line(text) for text in written]

    def count(self, token: str, moment: EffectMoment = EffectMoment.START) -> int:
        return sum((line.token, line.moment) == (token, moment) for line in self.lines())

    def release(self, token: str) -> None:
        (self.gates / token).touch()

    async def written(self, count: int) -> None:
        """Wait for `count` lines of any effects."""
        await wait_until(lambda: len(self.lines()) >= count)

    async def reached(self, token: str, moment: EffectMoment = EffectMoment.START, times: int = 1) -> None:
        """Wait until an effect has begun, or is complete, `times` times."""
        await wait_until(lambda: self.count(token, moment) >= times)


def effect(token: str, *, hold: bool = False) -> ScriptedCall:
    """A shell call with one countable effect."""
    return ScriptedCall(name="bash", arguments={"command": f"effect {token} hold" if hold else f"effect {token}"})


def token_of(call: ToolPart) -> str | None:
    """A call's effect, if any."""
    found = _COMMAND.search(str(call.arguments.get("command", "")))
    return found[1] if found else None


def _line(text: str) -> EffectLine:
    moment, token, pid, at = text.split()
    return EffectLine(moment=EffectMoment(moment), token=token, pid=int(pid), at=datetime.fromtimestamp(float(at), UTC))
