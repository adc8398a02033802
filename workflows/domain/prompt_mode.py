"""When a prompt is taken that comes while a turn runs."""

from enum import StrEnum


class PromptMode(StrEnum):
    """Whether a prompt during a turn joins it at the next step, or waits for its own turn."""

    STEER = "steer"
    QUEUE = "queue"
