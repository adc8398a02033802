"""Prompts, one shape for all doors, subagents and rows (opencode.md 4.6)."""

from collections.abc import Sequence
from enum import StrEnum
from itertools import islice
from typing import Final, Self, TypeGuard

from pydantic import Field

from workflows.domain.budgets import BudgetLimits
from workflows.domain.errors import UsageError
from workflows.domain.file_references import FileReference, find_references
from workflows.domain.messages import (
    AgentPart,
    FilePart,
    PromptPart,
    ShellPart,
    SubtaskPart,
    TaskEnd,
    TextPart,
    join_texts,
)
from workflows.domain.output_format import OutputFormat
from workflows.domain.value import Value

_DESCRIBED: Final = 5  # words of a subtask's prompt
_MOST_REFERENCES: Final = 1000  # in a text: it may be a file full of decorators


class PromptMode(StrEnum):
    """During a turn, a prompt joins it at the next step, or waits for its own."""

    STEER = "steer"
    QUEUE = "queue"


class UsedCommand(Value):
    """The slash command that a prompt was made of; `template`: its digest, `trusted` if it is the person's own or built
    in. `typed_at`: where the text of its first part is what a person has typed, or a shell's: neither refers to
    anything."""

    name: str
    arguments: str = ""
    template: str
    trusted: bool = False
    typed_at: tuple[tuple[int, int], ...] = ()

    @property
    def typed(self) -> str:
        return f"/{self.name} {self.arguments}".strip()


class PromptContent(Value):
    """A prompt as stored; events name it by its seal. `system`: instructions for its turn alone. `tools`, names or
    globs: those with false are denied to its turn, true changes nothing. `format`: of the turn's result; `limits`: of
    what the turn may use. A prompt with one of these, with subtasks, or of a `command`, always opens a turn.
    `piped_at`: where the text of its first part came through a pipe, and refers to nothing. `task_end`: the background
    task whose result it is. `synthetic`: no person wrote it."""

    parts: tuple[PromptPart, ...]
    system: str | None = None
    tools: dict[str, bool] | None = None
    format: OutputFormat | None = None
    limits: BudgetLimits | None = None
    command: UsedCommand | None = None
    piped_at: tuple[tuple[int, int], ...] | None = None
    task_end: TaskEnd | None = None
    synthetic: bool = Field(default=False, exclude_if=lambda synthetic: not synthetic)

    @property
    def opens_turn(self) -> bool:
        own = (self.system, self.tools, self.format, self.limits, self.command)
        return bool(self.subtasks) or any(each is not None for each in own)

    @property
    def by_person(self) -> Self:
        """What the person has asked for: the words of a project's command are left out. Places stay."""
        if self.command is None or self.command.trusted:
            return self
        return self.model_copy(update={"parts": (TextPart(text=""), *self.parts[1:])})

    @property
    def subtasks(self) -> dict[int, SubtaskPart]:
        """Its subtasks by their places among the parts."""
        return {place: part for place, part in enumerate(self.parts) if isinstance(part, SubtaskPart)}

    @property
    def subagents(self) -> tuple[str, ...]:
        """The subagents that its parts name."""
        named = (part for part in self.parts if isinstance(part, SubtaskPart | AgentPart))
        return tuple(part.agent if isinstance(part, SubtaskPart) else part.name for part in named)

    @property
    def shell(self) -> dict[int, ShellPart]:
        """Its commands by their places among the parts."""
        return {place: part for place, part in enumerate(self.parts) if isinstance(part, ShellPart)}

    @property
    def references(self) -> dict[int, FilePart | AgentPart | FileReference]:
        """Files and agents that it names without containing them, by their places among the parts, and what its texts
        may refer to, numbered after all parts. A subagent's words refer to nothing."""
        if self.task_end is not None:
            return {}
        found = (
            (place, each)
            for place, part in enumerate(self.parts)
            if isinstance(part, TextPart)
            for each in find_references(part.text)
        )
        numbered = enumerate(found, len(self.parts))
        referred = ((number, each) for number, (part, each) in numbered if part or not self._is_material(each.start))
        named = {place: part for place, part in enumerate(self.parts) if _names(part)}
        return {**named, **dict(islice(referred, _MOST_REFERENCES))}

    def _is_material(self, position: int) -> bool:
        typed = () if self.command is None else self.command.typed_at
        return any(start <= position < end for start, end in (*typed, *(self.piped_at or ())))

    @property
    def title(self) -> str:
        """Its text, or the command in short, for people."""
        return self.text if self.command is None else self.command.typed

    @property
    def text(self) -> str:
        """All that the person has written, for subagents too."""
        written = (part.prompt if isinstance(part, SubtaskPart) else part for part in self.parts)
        return join_texts(TextPart(text=part) if isinstance(part, str) else part for part in written)


def _names(part: PromptPart) -> TypeGuard[FilePart | AgentPart]:
    return part.is_named if isinstance(part, FilePart) else isinstance(part, AgentPart)


class Prompt(PromptContent):
    """A prompt as sent. `agent`, `model` and `variant` (default: the session's) apply only to a turn that it opens."""

    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    mode: PromptMode = PromptMode.STEER

    @classmethod
    def of_text(
        cls,
        text: str,
        *,
        files: Sequence[FilePart] = (),
        subtask: str | None = None,
        system: str | None = None,
        tools: dict[str, bool] | None = None,
        agent: str | None = None,
        model: str | None = None,
        variant: str | None = None,
        mode: PromptMode = PromptMode.STEER,
        format: OutputFormat | None = None,
        limits: BudgetLimits | None = None,
    ) -> Self:
        """`subtask`: the subagent whose work it is."""
        named = {"agent": agent, "model": model, "variant": variant, "mode": mode}
        given = cls(parts=tuple(files), system=system, tools=tools, format=format, limits=limits, **named)
        return given.with_text(text, subtask=subtask)

    def with_text(self, text: str, *, subtask: str | None = None) -> Self:
        """The prompt with a text before its other parts, or as a subagent's work, alone: raises UsageError if there are
        other parts."""
        parts: tuple[PromptPart, ...] = (TextPart(text=text), *self.parts)
        if subtask is not None:
            if self.parts:
                raise UsageError(
                    "A subagent's work comes without attached files: name them in its text, as in `@notes.md`."
                )
            parts = (SubtaskPart(agent=subtask, description=" ".join(text.split()[:_DESCRIBED]), prompt=text),)
        return self.model_copy(update={"parts": parts})

    @property
    def content(self) -> PromptContent:
        return PromptContent(**{name: getattr(self, name) for name in PromptContent.model_fields})
