"""Titles of sessions: the default one, a person's, and what counts of a model's answer (opencode.md 6.6)."""

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from workflows.domain.errors import UsageError

MAX_TITLE_CHARS: Final = 100
MAX_GIVEN_CHARS: Final = 200
_DEFAULT: Final = re.compile(r"(?:New|Child) session - \d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z")
# Also of an answer that was cut within them, or whose opening tag is the end of the request, as in many templates.
_THOUGHTS: Final = re.compile(r"<think>.*?(?:</think>|\Z)|\A(?:(?!<think>).)*</think>", re.DOTALL)
_OBJECT: Final = re.compile(r"\{\s*\"title\"\s*:\s*(\"(?:[^\"\\]|\\.)*\")\s*\}", re.DOTALL)
_FENCE: Final = re.compile(r"(?:```|~~~)[\w-]*")
_HEADING: Final = re.compile(r"#{1,6}\s+|(?:\*\*)?title(?:\*\*)?\s*:\s*(?:\*\*)?\s*", re.IGNORECASE)
_MARKED: Final = re.compile(r"(\*\*|[\"'`*_])((?:(?!\1).)+)\1|“([^”]+)”")
_FORK: Final = re.compile(r"(?P<title>.+) \(fork #(?P<number>\d+)\)")
_CUT_WORD: Final = re.compile(r"[!-~]{8,}$")  # a shorter rest of a secret reveals nothing


def default_title(at: datetime) -> str:
    """The title of a session without one."""
    return f"New session - {at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


def is_default_title(title: str) -> bool:
    return _DEFAULT.fullmatch(title) is not None


def wants_title(*, subagent: bool, titled: bool, prompts: int) -> bool:
    """Whether a model is to name a session whose turn opens: a person's, not named yet, at its first prompt."""
    return not subagent and not titled and prompts == 1


def first_line(prompt: str) -> str:
    """What people see of a session without a title. Long words are never cut: half a key would escape redaction."""
    first = replace_unprintable(prompt.strip().splitlines()[0])
    if len(first) <= MAX_TITLE_CHARS:
        return first
    kept, cut = first[: MAX_TITLE_CHARS - 3], not first[MAX_TITLE_CHARS - 3].isspace()
    return (_CUT_WORD.sub("", kept) if cut else kept) + "..."


def title_of_answer(answer: str) -> str | None:
    """The title in a model's answer, without what some put around it; None if it gave none."""
    text = without_thoughts(answer)
    with suppress(ValueError):
        text = json.loads(found[1]) if (found := _OBJECT.search(text)) else text
    lines = (_unmarked(replace_unprintable(line).strip()) for line in text.splitlines())
    title = next((line for line in lines if line and not _FENCE.fullmatch(line)), None)
    if title is None or len(title) <= MAX_TITLE_CHARS:
        return title
    return title[: MAX_TITLE_CHARS - 3] + "..."


def _unmarked(line: str) -> str:
    title = line[heading.end() :] if (heading := _HEADING.match(line)) else line
    while (marked := _MARKED.fullmatch(title)) is not None:
        title = (marked[2] or marked[3]).strip()
    return title


def without_thoughts(answer: str) -> str:
    """The text without the thoughts that some models write into it."""
    return _THOUGHTS.sub("", answer)


def validate_title(text: str) -> str:
    """A title as a person gives it. Raises UsageError."""
    title = replace_unprintable(text).strip()
    if not title:
        raise UsageError("The title is empty: say how the session is to be called.")
    if len(title) > MAX_GIVEN_CHARS:
        raise UsageError(f"The title has {len(title):,} characters, {MAX_GIVEN_CHARS} are the most: shorten it.")
    return title


def given_title(text: str | None) -> str | None:
    """A new session's title, if a person gave one. OpenCode's clients send the default title, which is none."""
    return None if text is None or is_default_title(text) else validate_title(text)


def fork_title(title: str) -> str:
    """The title of a copy, with a number."""
    forked = _FORK.fullmatch(title)
    name, number = (forked["title"], int(forked["number"]) + 1) if forked else (title, 1)
    return f"{name} (fork #{number})"


def replace_unprintable(text: str) -> str:
    """Blanks for unprintable characters: PostgreSQL refuses some of them."""
    return "".join(character if character.isprintable() else " " for character in text)
