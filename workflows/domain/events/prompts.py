"""The life of a prompt."""

from typing import Literal

from workflows.domain.ids import MessageId, PartId, ScheduleId, TurnId
from workflows.domain.value import Value


class PromptAccepted(Value):
    """From a person, from a `call` of the parent session, by a `schedule`, whose actor is the person that it
    prompts as, or the result of a background `task`, which is a call of this session. `agent`, `model` and `variant`:
    those that it names for its turn. `due`: the schedule's moment; None: the actor has triggered it.
    `command`: the slash command that it was made of, and the digest of its `template`."""

    type: Literal["prompt.accepted"] = "prompt.accepted"
    prompt: MessageId
    mode: str
    seal: str
    call: PartId | None = None
    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    schedule: ScheduleId | None = None
    task: PartId | None = None
    due: str | None = None
    command: str | None = None
    template: str | None = None


class PromptTaken(Value):
    type: Literal["prompt.taken"] = "prompt.taken"
    prompt: MessageId
    turn: TurnId
    step: int


class PromptWithdrawn(Value):
    type: Literal["prompt.withdrawn"] = "prompt.withdrawn"
    prompt: MessageId
    reason: str


class PromptShortened(Value):
    """The prompt alone was too long for its model, which from now on reads only `shown` of its characters (None: all),
    and if `without_files` not the files that it contains."""

    type: Literal["prompt.shortened"] = "prompt.shortened"
    prompt: MessageId
    turn: TurnId
    shown: int | None
    without_files: bool = False
