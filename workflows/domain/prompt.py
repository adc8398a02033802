"""Prompts, one shape for all doors, subagents and rows (opencode.md 4.6)."""

from enum import StrEnum
from typing import Self

from workflows.domain.budgets import BudgetLimits
from workflows.domain.messages import PromptPart, TextPart, join_texts
from workflows.domain.output_format import OutputFormat
from workflows.domain.value import Value


class PromptMode(StrEnum):
    """During a turn, a prompt joins it at the next step, or waits for its own."""

    STEER = "steer"
    QUEUE = "queue"


class PromptContent(Value):
    """A prompt as stored; events name it by its seal. `system`: instructions for its turn alone. `format`: of the
    turn's result; `limits`: of what the turn may use. A prompt with one of these always opens a turn."""

    parts: tuple[PromptPart, ...]
    system: str | None = None
    format: OutputFormat | None = None
    limits: BudgetLimits | None = None

    @property
    def opens_turn(self) -> bool:
        return any(each is not None for each in (self.system, self.format, self.limits))

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
        system: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        variant: str | None = None,
        mode: PromptMode = PromptMode.STEER,
        format: OutputFormat | None = None,
        limits: BudgetLimits | None = None,
    ) -> Self:
        parts = (TextPart(text=text),)
        named = {"agent": agent, "model": model, "variant": variant, "mode": mode}
        return cls(parts=parts, system=system, format=format, limits=limits, **named)

    @property
    def content(self) -> PromptContent:
        return PromptContent(parts=self.parts, system=self.system, format=self.format, limits=self.limits)
