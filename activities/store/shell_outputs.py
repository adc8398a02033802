"""The outputs of a prompt's commands in its text, as models read it (opencode.md 11).

A function of settled calls: what a model was sent once, it is sent for ever.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from activities.store.queries import Queries
from activities.store.statements import RowReader
from prompts import render_prompt
from workflows.domain.commands.template import ShellReference, render_references
from workflows.domain.ids import MessageId
from workflows.domain.messages import (
    AssistantMessage,
    CallState,
    Entry,
    Outcome,
    PromptPart,
    ShellPart,
    StepReminders,
    SubtaskPart,
    TextPart,
    ToolPart,
    UserMessage,
)
from workflows.domain.prompt import PromptContent

_QUERIES: Final = Queries("shell_outputs")


def fill(parts: Sequence[PromptPart], outputs: Mapping[int, str]) -> tuple[PromptPart, ...]:
    """`outputs`: by the places of the references, which are no parts of the result."""
    references = [(place, part) for place, part in enumerate(parts) if isinstance(part, ShellPart)]
    filled: list[PromptPart] = []
    for number, part in enumerate(parts):
        own = [(place, each) for place, each in references if each.part == number]
        spans = [ShellReference(command=each.command, start=each.start, end=each.end) for _, each in own]
        texts = [outputs.get(place, _not_run(each.command, "it was stopped before")) for place, each in own]
        match part:
            case TextPart(text=text) if own:
                filled.append(TextPart(text=render_references(text, spans, texts)))
            case SubtaskPart(prompt=text) if own:
                filled.append(part.model_copy(update={"prompt": render_references(text, spans, texts)}))
            case ShellPart():
                continue
            case _:
                filled.append(part)
    return tuple(filled)


def with_outputs(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Each prompt with the outputs of its commands, and without the answers that hold these calls. The reminders of the
    first request behind them belong to the prompt again."""
    outputs: dict[MessageId, dict[int, str]] = {}
    asking: UserMessage | None = None
    shown: list[Entry] = []
    for entry in entries:
        if isinstance(entry, UserMessage):  # without commands if it is deleted: its outputs are left out, too
            asking = entry if any(isinstance(part, ShellPart) for part in entry.parts) else None
        if isinstance(entry, AssistantMessage) and entry.body.for_prompt:
            if asking is not None:
                outputs.setdefault(asking.id, {}).update(_outputs_of(entry))
        elif isinstance(entry, StepReminders) and shown and shown[-1] is asking and entry.turn == asking.turn:
            shown.insert(-1, entry.model_copy(update={"step": asking.step}))
        else:
            shown.append(entry)
    return tuple(
        entry.model_copy(update={"parts": fill(entry.parts, outputs.get(entry.id, {}))})
        if isinstance(entry, UserMessage)
        else entry
        for entry in shown
    )


async def read_filled(reader: RowReader, prompt: MessageId, content: PromptContent) -> PromptContent:
    """A prompt whose commands have run: nothing in its text refers to anything, as outputs stand in it."""
    if not content.shell:
        return content
    rows = await reader.rows(_QUERIES.of_prompt, prompt=prompt)
    outputs = {
        row["ordered_part"]: _output(
            content.shell[row["ordered_part"]].command,
            CallState(row["state"]),
            Outcome.model_validate(row["outcome"]) if row["outcome"] is not None else None,
        )
        for row in rows
        if row["ordered_part"] in content.shell
    }
    parts = fill(content.parts, outputs)
    whole = ((0, max(len(part.prompt) for part in parts if isinstance(part, SubtaskPart))),) if content.subtasks else ()
    command = content.command and content.command.model_copy(update={"typed_at": whole})
    return content.model_copy(update={"parts": parts, "command": command})


def _outputs_of(answer: AssistantMessage) -> dict[int, str]:
    calls = (part for part in answer.parts if isinstance(part, ToolPart))
    return {
        int(call.provider_id.rpartition("_")[2]): _output(
            str(call.arguments.get("command", "")), call.state, call.outcome
        )
        for call in calls
    }


def _output(command: str, state: CallState, outcome: Outcome | None) -> str:
    text = "" if outcome is None else outcome.model_text
    if state is not CallState.DONE:
        return _not_run(command, text)
    silent = outcome is not None and (outcome.metadata.get("output"), outcome.metadata.get("exit")) == ("", 0)
    return "" if silent else text


def _not_run(command: str, reason: str) -> str:
    return render_prompt("commands/not_run", command=command, reason=reason)
