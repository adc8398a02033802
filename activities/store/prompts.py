"""Prompts: accepted by a door, taken once by a turn, or withdrawn."""

from enum import StrEnum
from typing import Any, Final

from activities.store import tasks
from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from workflows.domain.errors import Conflict
from workflows.domain.events import PromptAccepted, PromptTaken, PromptWithdrawn
from workflows.domain.ids import MessageId, PartId, TurnId
from workflows.domain.value import Value

_QUERIES: Final = Queries("prompts")


class Mode(StrEnum):
    """What happens to a prompt that arrives during a turn: it joins it at the next step, or waits for its own."""

    STEER = "steer"
    QUEUE = "queue"


class NewPrompt(Value):
    """A prompt as a door accepts it; the client mints the id, so that a repeated request is the same prompt."""

    id: MessageId
    text: str
    mode: Mode = Mode.STEER
    model: str | None = None


class UserText(Value):
    """The body of a prompt."""

    text: str


async def accept(opened: Journal, new: NewPrompt, call: PartId | None = None) -> bool:
    """Accept a prompt, perhaps of a call in another session: its row and its event. False: it was accepted before.

    Raises Conflict when the session has ended, or the id belongs to another session's prompt.
    """
    known = await opened.row(_QUERIES.find, id=new.id)
    if known is not None:
        if known["session"] != opened.session:
            raise Conflict(f"The prompt id {new.id!r} belongs to another session; use a new id.")
        return False
    if opened.ended:
        raise Conflict(f"Session {opened.session!r} has ended; start a new one with `holdfast run`.")
    body = seal(UserText(text=new.text).model_dump())
    seq = opened.record(PromptAccepted(prompt=new.id, mode=new.mode, seal=body.seal, call=call))
    opened.write(
        _QUERIES.accept,
        id=new.id,
        session=opened.session,
        accepted=seq,
        mode=new.mode,
        body=body.content,
        salt=body.salt,
        model=new.model,
        author=opened.actor.subject,
    )
    return True


async def oldest(opened: Journal) -> dict[str, Any] | None:
    """The id and model of what waits longest for a turn: an untaken prompt, or a `retry`.

    `forsaken`: the call that it works for has its outcome already.
    """
    return await opened.row(_QUERIES.oldest, session=opened.session)


async def untaken(opened: Journal) -> list[MessageId]:
    return [row["id"] for row in await opened.rows(_QUERIES.untaken, session=opened.session)]


def take(opened: Journal, prompt: MessageId, turn: TurnId, step: int) -> None:
    """A turn takes a prompt, to be seen by the model at this step."""
    seq = opened.record(PromptTaken(prompt=prompt, turn=turn, step=step))
    opened.write(_QUERIES.take, id=prompt, turn=turn, step=step, taken=seq)


async def steered(opened: Journal) -> list[MessageId]:
    """The untaken prompts that were sent to steer the running turn, in the order of acceptance."""
    return [row["id"] for row in await opened.rows(_QUERIES.steered, session=opened.session)]


async def withdraw(opened: Journal, reason: str) -> list[MessageId]:
    """Withdraw all prompts that no turn has taken; returns them."""
    withdrawn = await untaken(opened)
    for prompt in withdrawn:
        drop(opened, prompt, reason)
    return withdrawn


def drop(opened: Journal, prompt: MessageId, reason: str) -> None:
    """Withdraw one prompt that no turn has taken."""
    opened.write(_QUERIES.withdraw, id=prompt)
    tasks.withdrawn(opened, prompt)
    opened.record(PromptWithdrawn(prompt=prompt, reason=reason))
