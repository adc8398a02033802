"""The instructions beside a file that is read: part of the read's result (opencode.md 6.4)."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Final

from activities.project.instructions import Candidate, read_instruction
from activities.tools.tool import Output, ToolContext
from activities.turn_context import TurnContext
from prompts import render_prompt
from workflows.domain.config.turn_config import Instruction
from workflows.domain.reminder_tags import escape_reminders

MAX_ATTACHED_BYTES: Final = 32 * 1024  # of all files together; the model can read the rest itself


async def attach_instructions(output: Output, path: Path, context: ToolContext) -> Output:
    """The result of reading `path`, with the files that its session's context lacks."""
    found = await asyncio.to_thread(find_nested, path, context.turn)
    claimed = await context.attach([str(each) for each in found]) if found else ()
    chosen = [each for each in found if str(each) in claimed]
    return await asyncio.to_thread(_with_texts, output, chosen, context.workspace.root) if chosen else output


def find_nested(path: Path, turn: TurnContext) -> list[Path]:
    """One of each folder from that of the file `path` up to the session's directory, without this one; the nearest
    first. None that rules hide from the agent, and none that it has in its instructions."""
    directory = turn.workspace.directory
    if not path.is_relative_to(directory) or not path.is_file():
        return []
    folders = takewhile(lambda folder: folder != directory, path.parents)
    candidates = [found for folder in folders if (found := _first(folder, turn.instruction_names)) is not None]
    known = {path, *(Path(file).resolve() for file in turn.instruction_files)} if candidates else set()
    return [each for each in candidates if (real := each.resolve()) not in known and _may_show(real, turn)]


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _may_show(real: Path, turn: TurnContext) -> bool:
    return turn.may_read(real) and not turn.asks_before_read(real)


def _with_texts(output: Output, files: Sequence[Path], root: Path) -> Output:
    texts = dict(_texts(files, root))
    if not texts:
        return output
    instructions = escape_reminders("\n\n".join(texts.values()))
    reminder = render_prompt("reminders/attached_instructions", instructions=instructions)
    text, place = f"{output.output}\n\n{reminder}", len(output.output)
    metadata = output.metadata | {"loaded": list(texts)}
    return output.model_copy(update={"output": text, "reminder_at": place, "metadata": metadata})


def _texts(files: Sequence[Path], root: Path) -> Iterator[tuple[str, str]]:
    """By path; none of an empty file."""
    left = MAX_ATTACHED_BYTES
    for file in files:
        found = read_instruction(Candidate(file, False, str(file)), root, left)
        if not isinstance(found, Instruction):
            yield str(file), render_prompt("system/instructions_refused", path=str(file), reason=found.why)
            continue
        prompt = "system/instructions" if found.complete else "system/instructions_shortened"
        limit = {} if found.complete else {"bytes": f"{left:,}"}
        left -= len(found.text.encode())
        if found.text or not found.complete:
            yield str(file), render_prompt(prompt, path=found.path, text=found.text, **limit)
