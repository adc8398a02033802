"""Prompts: accepted by a door, taken once by a turn, or withdrawn."""

from enum import StrEnum
from typing import Any, Final

from activities.store import tasks
from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from workflows.domain.errors import Conflict
from workflows.domain.events.prompts import PromptAccepted, PromptTaken, PromptWithdrawn
from workflows.domain.ids import MessageId, PartId, TurnId
from workflows.domain.value import Value

_QUERIES: Final = Queries("prompts")


class PromptMode(StrEnum):
    """Whether a prompt during a turn joins it at the next step, or waits for its own turn."""

    STEER = "steer"
    QUEUE = "queue"


class NewPrompt(Value):
    """A prompt as a door accepts it. The client mints the id: a repeated request is the same prompt."""

    id: MessageId
    text: str
    mode: PromptMode = PromptMode.STEER
    model: str | None = None


class PromptBody(Value):
    text: str


async def accept(journal: Journal, new: NewPrompt, call: PartId | None = None) -> bool:
    """Accept a prompt; `call`: the other session's call that it works for. False: accepted before.

    Raises Conflict when the session has ended, or the id is another session's prompt's.
    """
    known = await journal.row(_QUERIES.find, id=new.id)
    if known is not None:
        if known["session"] != journal.session:
            raise Conflict(f"The prompt id {new.id!r} belongs to another session; use a new id.")
        return False
    if journal.ended:
        raise Conflict(f"Session {journal.session!r} has ended; start a new one with `holdfast run`.")
    body = seal(PromptBody(text=new.text).model_dump())
    seq = journal.record(PromptAccepted(prompt=new.id, mode=new.mode, seal=body.seal, call=call))
    journal.write(
        _QUERIES.accept,
        id=new.id,
        session=journal.session,
        accepted_seq=seq,
        mode=new.mode,
        body=body.content,
        salt=body.salt,
        model=new.model,
        author=journal.actor.subject,
    )
    return True


async def next_waiting(journal: Journal) -> dict[str, Any] | None:
    """Id and model of the oldest untaken prompt or `retry`; `call_over`: the prompt's call has its outcome."""
    return await journal.row(_QUERIES.next_waiting, session=journal.session)


async def untaken(journal: Journal) -> list[MessageId]:
    return [row["id"] for row in await journal.rows(_QUERIES.untaken, session=journal.session)]


def take(journal: Journal, prompt: MessageId, turn: TurnId, step: int) -> None:
    """Take a prompt into a turn, for the model at this step."""
    seq = journal.record(PromptTaken(prompt=prompt, turn=turn, step=step))
    journal.write(_QUERIES.take, id=prompt, turn=turn, step=step, taken_seq=seq)


async def steered(journal: Journal) -> list[MessageId]:
    """The untaken prompts that join the running turn, in order of acceptance."""
    return [row["id"] for row in await journal.rows(_QUERIES.steered, session=journal.session)]


async def withdraw_untaken(journal: Journal, reason: str) -> list[MessageId]:
    """Withdraw and return all untaken prompts."""
    withdrawn = await untaken(journal)
    for prompt in withdrawn:
        withdraw_one(journal, prompt, reason)
    return withdrawn


def withdraw_one(journal: Journal, prompt: MessageId, reason: str) -> None:
    """Withdraw an untaken prompt."""
    journal.write(_QUERIES.withdraw, id=prompt)
    tasks.settle_of_prompt(journal, prompt)
    journal.record(PromptWithdrawn(prompt=prompt, reason=reason))
