"""Checks prompts before a door accepts them."""

from typing import Final

from activities.tools.json_schema import check_schema
from workflows.domain.errors import UsageError
from workflows.domain.messages import AgentPart, FilePart, SubtaskPart
from workflows.domain.prompt import Prompt

MAX_PROMPT_CHARS: Final = 1_000_000
_UNSUPPORTED_PARTS: Final = {
    FilePart: "Files in prompts are not supported yet: name the file's path in the text, and the agent reads it.",
    AgentPart: "Mentions of agents are not supported yet: say in the text which subagent is to be given the work.",
    SubtaskPart: "Subtasks in prompts are not supported yet: say in the text which subagent is to do what.",
}


def validate_prompt(prompt: Prompt | str) -> Prompt:
    """A valid prompt. Raises UsageError, also for what is not supported yet."""
    if isinstance(prompt, str):
        prompt = Prompt.of_text(prompt)
    for part in prompt.parts:
        if (refusal := _UNSUPPORTED_PARTS.get(type(part))) is not None:
            raise UsageError(refusal)
    if prompt.system is not None:
        validate_system(prompt.system)
    validate_text(prompt.text)
    if prompt.format is not None:
        check_schema(prompt.format.json_schema)
    return prompt


def validate_text(text: str) -> str:
    """A prompt's valid text. Raises UsageError."""
    if not text.strip():
        raise UsageError("The prompt is empty: say what is to be done.")
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


def check_length(what: str, text: str) -> None:
    """Raises UsageError."""
    if len(text) > MAX_PROMPT_CHARS:
        raise UsageError(
            f"{what} has {len(text):,} characters, {MAX_PROMPT_CHARS:,} are the most: "
            "write it into a file of the project and name that file."
        )
