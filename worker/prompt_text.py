"""Prompts at the door, and a session's title."""

import re
from typing import Final

from activities.store.sessions import replace_unprintable
from workflows.domain.errors import UsageError
from workflows.domain.messages import AgentPart, FilePart, SubtaskPart
from workflows.domain.prompt import Prompt

MAX_PROMPT_CHARS: Final = 1_000_000
_TITLE_CHARS: Final = 100  # opencode.md 6.6
_CUT_WORD: Final = re.compile(r"[!-~]{8,}$")  # a shorter rest of a secret reveals nothing


_UNSUPPORTED_PARTS: Final = {
    FilePart: "Files in prompts are not supported yet: name the file's path in the text, and the agent reads it.",
    AgentPart: "Mentions of agents are not supported yet: say in the text which subagent is to be given the work.",
    SubtaskPart: "Subtasks in prompts are not supported yet: say in the text which subagent is to do what.",
}
_NO_SYSTEM: Final = (
    "Instructions of a single prompt (`system`) are not supported yet: write them into its text, or for all prompts "
    "into AGENTS.md."
)


def validate_prompt(prompt: Prompt | str) -> Prompt:
    """A valid prompt. Raises UsageError, also for what is not supported yet."""
    if isinstance(prompt, str):
        prompt = Prompt.of_text(prompt)
    for part in prompt.parts:
        if (refusal := _UNSUPPORTED_PARTS.get(type(part))) is not None:
            raise UsageError(refusal)
    if prompt.system is not None:
        raise UsageError(_NO_SYSTEM)
    validate_text(prompt.text)
    return prompt


def validate_text(text: str) -> str:
    """A prompt's valid text. Raises UsageError."""
    if not text.strip():
        raise UsageError("The prompt is empty: say what is to be done.")
    check_length("The prompt", text)
    return text


def check_length(what: str, text: str) -> None:
    """Raises UsageError."""
    if len(text) > MAX_PROMPT_CHARS:
        raise UsageError(
            f"{what} has {len(text):,} characters, {MAX_PROMPT_CHARS:,} are the most: "
            "write it into a file of the project and name that file."
        )


def session_title(text: str) -> str:
    """The first prompt's first line. Long words are never cut: half a key would escape redaction."""
    first = replace_unprintable(text.strip().splitlines()[0])
    if len(first) <= _TITLE_CHARS:
        return first
    kept, cut = first[: _TITLE_CHARS - 3], not first[_TITLE_CHARS - 3].isspace()
    return (_CUT_WORD.sub("", kept) if cut else kept) + "..."
