"""Contents of events, as far as people are shown them, and how a call is called on one line."""

import json
from typing import Final

from pydantic import JsonValue, TypeAdapter

from worker.client import Seen
from workflows.domain.messages import Outcome, StoredPart
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.value import Value


class CallContent(Value):
    """A call with its outcome, if it has one by now."""

    tool: str
    arguments: dict[str, JsonValue]
    outcome: Outcome | None = None

    @property
    def label(self) -> str:
        """What the call is about, in a few words."""
        if self.outcome is not None and self.outcome.title:
            return self.outcome.title
        name = _TELLING.get(self.tool)
        if name is not None and isinstance(told := self.arguments.get(name), str):
            return told
        return json.dumps(self.arguments, ensure_ascii=False)


class AskContent(Value):
    """An ask with what was said to it."""

    request: PermissionRequest
    feedback: str | None = None
    author: str | None = None


class PromptContent(Value):
    """A prompt."""

    text: str


_TELLING: Final = {
    "bash": "command",
    "edit": "filePath",
    "write": "filePath",
    "read": "filePath",
    "glob": "pattern",
    "grep": "pattern",
    "task": "description",
}
_PART: Final[TypeAdapter[StoredPart]] = TypeAdapter(StoredPart)


def call_of(seen: Seen, name: str) -> CallContent | None:
    """The call, unless its content was erased."""
    found = seen.contents.get(name)
    return CallContent.model_validate(found) if found is not None else None


def ask_of(seen: Seen, name: str) -> AskContent | None:
    """The ask, unless its content was erased."""
    found = seen.contents.get(name)
    return AskContent.model_validate(found) if found is not None else None


def prompt_of(seen: Seen, name: str) -> str:
    """The prompt's text."""
    found = seen.contents.get(name)
    return PromptContent.model_validate(found).text if found is not None else "(erased)"


def note_of(seen: Seen, name: str) -> str:
    """What was said in a note."""
    return str(seen.contents.get(name, "(erased)"))


def part_of(seen: Seen, name: str) -> StoredPart | None:
    """The finished part, unless its content was erased."""
    found = seen.contents.get(name)
    return _PART.validate_python(found) if found is not None else None
