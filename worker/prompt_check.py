"""Checks prompts before a door accepts them."""

from collections.abc import Mapping
from typing import Final

from activities.new_ids import is_ahead
from worker.length_check import check_length
from workflows.domain.errors import UsageError
from workflows.domain.ids import MessageId, Prefix, is_id
from workflows.domain.messages import FilePart, SubtaskPart, TextPart
from workflows.domain.prompt import Prompt

MAX_SUBTASKS: Final = 20
MAX_SHELL: Final = 20  # shell references
MAX_TOOLS: Final = 100
_MAX_TOOL_CHARS: Final = 200  # of a name or glob


def validate_prompt(prompt: Prompt | str, identity: MessageId | None = None) -> Prompt:
    """A valid prompt; `identity`: the id that its sender gives it. Blocks. Raises UsageError."""
    if identity is not None:
        check_prompt_id(identity)
    if isinstance(prompt, str):
        prompt = Prompt.of_text(prompt)
    if any(isinstance(part, FilePart) for part in prompt.parts):
        from worker.file_check import prepare_files  # start-up time of commands

        prompt = prompt.model_copy(update={"parts": prepare_files(prompt.parts)})
    if prompt.system is not None:
        validate_system(prompt.system)
    validate_text(prompt.text)
    if len(prompt.subtasks) > MAX_SUBTASKS:
        raise UsageError(
            f"The prompt has {len(prompt.subtasks)} subtasks; at most {MAX_SUBTASKS} are allowed: send several prompts."
        )
    for subtask in prompt.subtasks.values():
        if not subtask.prompt.strip():
            raise UsageError(f"The subtask for {subtask.agent!r} is empty: say what the subagent should do.")
    check_shell(prompt)
    validate_tools(prompt.tools or {})
    if prompt.format is not None:
        from activities.tools.json_schema import check_schema  # as above

        check_schema(prompt.format.json_schema)
    return prompt


def check_prompt_id(prompt: MessageId) -> None:
    """Raises UsageError."""
    if is_id(Prefix.MESSAGE, prompt) and is_ahead(prompt):
        raise UsageError(
            f"The prompt's id {prompt!r} sorts behind those that are made now, and messages are sorted by their ids: "
            "leave it out, or make a new one by a clock that is right."
        )


def check_shell(prompt: Prompt) -> None:
    """Raises UsageError for references that stand nowhere, or are too many."""
    if len(prompt.shell) > MAX_SHELL:
        raise UsageError(f"The prompt has {len(prompt.shell)} shell references; at most {MAX_SHELL} are allowed.")
    ends: dict[int, int] = {}
    for each in prompt.shell.values():
        part = prompt.parts[each.part] if 0 <= each.part < len(prompt.parts) else None
        text = part.text if isinstance(part, TextPart) else part.prompt if isinstance(part, SubtaskPart) else ""
        if not ends.get(each.part, 0) <= each.start < each.end <= len(text):
            raise UsageError(f"The shell reference {each.command!r} is at no place of the prompt's text.")
        ends[each.part] = each.end


def validate_text(text: str) -> str:
    """A prompt's valid text. Raises UsageError."""
    if not text.strip():
        raise UsageError("The prompt is empty: say what to do.")
    check_length("The prompt", text)
    return text


def validate_system(text: str) -> str:
    """Valid instructions of a prompt. Raises UsageError."""
    if not text.strip():
        raise UsageError(
            "The prompt's own instructions are empty: say what is to hold for its turn, or leave them out."
        )
    check_length("The prompt's own instructions", text)
    return text


def validate_tools(tools: Mapping[str, bool]) -> None:
    """Raises UsageError for what cannot name tools."""
    if len(tools) > MAX_TOOLS:
        raise UsageError(f"The prompt names {len(tools)} tools; at most {MAX_TOOLS} are allowed: use globs.")
    for name in tools:
        if not name.isprintable() or not 0 < len(name) <= _MAX_TOOL_CHARS:
            raise UsageError(f"{name[:50]!r} names no tool: a name has 1 to {_MAX_TOOL_CHARS} printable characters.")
