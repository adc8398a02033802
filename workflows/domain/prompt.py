"""Prompts, one shape for all doors, subagents and rows (opencode.md 4.6)."""

from enum import StrEnum
from typing import Self

from workflows.domain.messages import PromptPart, TextPart, join_texts
from workflows.domain.value import Value


class PromptMode(StrEnum):
    """During a turn, a prompt joins it at the next step, or waits for its own."""

    STEER = "steer"
    QUEUE = "queue"


class PromptContent(Value):
    """A prompt as stored; events name it by its seal. `system`: instructions for its turn."""

    parts: tuple[PromptPart, ...]
    system: str | None = None

    @property
    def text(self) -> str:
        return join_texts(self.parts)


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
        agent: str | None = None,
        model: str | None = None,
        variant: str | None = None,
        mode: PromptMode = PromptMode.STEER,
    ) -> Self:
        return cls(parts=(TextPart(text=text),), agent=agent, model=model, variant=variant, mode=mode)

    @property
    def content(self) -> PromptContent:
        return PromptContent(parts=self.parts, system=self.system)
