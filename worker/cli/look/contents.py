"""Contents of events, as far as people are shown them, and how a call is called on one line."""

import re
from typing import Final

from pydantic import JsonValue, TypeAdapter

from worker.cli.look.arguments import spoken
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
    def name(self) -> str:
        """The tool that the model has called, whether there is one or not."""
        return str(self.arguments.get("tool")) if self.tool == _INVALID else self.tool

    @property
    def failure(self) -> str | None:
        """What is wrong with a call that has run: a command's exit code, a call that could not be made."""
        if self.tool == _INVALID:
            return "not called"
        if self.tool != "bash" or self.outcome is None or "exit" not in self.outcome.metadata:
            return None
        code = self.outcome.metadata["exit"]
        return "ended early" if code is None else f"exit {code}" if code else None

    @property
    def output(self) -> str:
        """What has come of it, as people see it: without the lines that tell a model how its command ended."""
        if self.outcome is None or self.tool == _INVALID:
            return ""
        if self.tool != "bash":
            return self.outcome.output
        return _METADATA.sub(_notes, self.outcome.output)

    @property
    def label(self) -> str:
        """What the call is about, in a few words."""
        if self.tool == _INVALID:
            return str(self.arguments.get("error"))
        if self.outcome is not None and self.outcome.title:
            return self.outcome.title
        name = _TELLING.get(self.tool)
        if name is not None and isinstance(told := self.arguments.get(name), str):
            return told
        return spoken(self.tool, self.arguments)


class AskContent(Value):
    """An ask with what was said to it."""

    request: PermissionRequest
    feedback: str | None = None
    author: str | None = None


class PromptContent(Value):
    """A prompt."""

    text: str


_INVALID: Final = "invalid"  # the tool that stands for a call which could not be made (opencode.md 7.1)
_METADATA: Final = re.compile(
    r"\n*<shell_metadata>\n(?P<notes>(?:(?!<shell_metadata>)[\s\S])*)\n</shell_metadata>\s*\Z"
)
_EXIT_CODE: Final = re.compile(r"exit code -?\d+(?: \(\S+\))?\n?")  # stands beside the command
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


def _notes(found: re.Match[str]) -> str:
    notes = _EXIT_CODE.sub("", found["notes"]).strip()
    return f"\n[{notes}]" if notes else ""


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
