"""A session beside the faulted one: it reads a file, writes a todo list, and answers."""

from pathlib import Path
from typing import Final

from worker.scripted.script import Hold, Script, ScriptedAnswer, ScriptedCall

NAME: Final = "neighbour"
PROMPT: Final = f"[[script:{NAME}]] Look whether all is well here."
FILE: Final = "neighbour.txt"
CONTENT: Final = "all is well\n"


def script(gate: Path) -> Script:
    """Its second answer is held in the middle the first time."""
    todo = {"content": "look", "status": "completed", "priority": "low"}
    look = (
        ScriptedCall(name="read", arguments={"filePath": FILE}),
        ScriptedCall(name="todowrite", arguments={"todos": [todo]}),
    )
    said = ScriptedAnswer(text="All is well here, as far as can be seen.", faults={1: Hold(after=1, path=str(gate))})
    return Script(answers=(ScriptedAnswer(tools=look), said))
