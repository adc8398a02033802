"""Model steps: who may commit an answer, and the answer, stored once."""

from typing import Final

from activities.store import calls, prompts, turns
from activities.store.calls import NewCall
from activities.store.database import dumps
from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from activities.store.turns import TurnStanding
from workflows.domain.errors import StaleFence
from workflows.domain.events import MessageCompleted, ModelRetry, PartSeal
from workflows.domain.ids import MessageId, PartId, TurnId
from workflows.domain.messages import AnswerBody, StoredPart
from workflows.domain.value import Value
from workflows.domain.wire import Fence

_QUERIES: Final = Queries("generations")


class Stored(Value):
    """An answer that is committed already: it is used, and the model is not asked again."""

    message: MessageId
    body: AnswerBody


class Begun(Value):
    """This attempt is the newest and may ask the model."""

    standing: TurnStanding
    failures: int
    waited_ms: int


class Over(Value):
    """The turn has ended or is being stopped: nothing may be asked."""


class NewPart(Value):
    """A finished text or reasoning part of an answer."""

    id: PartId
    position: int
    body: StoredPart


class NewAnswer(Value):
    """A complete answer, ready to be committed."""

    id: MessageId
    body: AnswerBody
    parts: tuple[NewPart, ...] = ()
    calls: tuple[NewCall, ...] = ()


async def begin(opened: Journal, turn: TurnId, step: int, fence: Fence) -> Stored | Over | Begun:
    """Register an attempt at a step, and take the steered prompts: one transaction, before the model is asked.

    Raises StaleFence when a higher attempt has registered.
    """
    stored = await answer(opened, turn, step)
    if stored is not None:
        return stored
    standing = await turns.standing(opened, turn)
    if standing.over or opened.ended:
        return Over()
    await _newest(opened, turn, step, fence)
    counts = await opened.row(_QUERIES.register, turn=turn, step=step, fence=list(fence))
    assert counts is not None
    await turns.registered(opened, turn, step)
    await prompts.take_steered(opened, turn, step)
    return Begun(standing=standing, **counts)


async def answer(opened: Journal, turn: TurnId, step: int) -> Stored | None:
    """The committed answer of a step."""
    row = await opened.row(_QUERIES.answer, turn=turn, step=step)
    return Stored(message=row["id"], body=AnswerBody.model_validate(row["body"])) if row else None


async def commit(opened: Journal, turn: TurnId, step: int, fence: Fence, new: NewAnswer) -> Over | None:
    """Store the answer with its parts and prepared calls, once.

    Only the newest registered attempt may, and only while the turn is open. Raises StaleFence.
    """
    await _newest(opened, turn, step, fence)
    if (await turns.standing(opened, turn)).state != "open" or opened.ended:
        return Over()
    await opened.run(
        _QUERIES.keep_message,
        id=new.id,
        session=opened.session,
        turn=turn,
        step=step,
        body=dumps(new.body.model_dump(mode="json")),
    )
    seals = [await _keep_part(opened, new.id, part) for part in new.parts]
    body = new.body
    opened.record(
        MessageCompleted(
            message=new.id,
            turn=turn,
            step=step,
            finish=body.finish,
            tokens=body.tokens,
            cost=body.cost,
            parts=tuple(seals),
        )
    )
    for call in new.calls:
        await calls.prepare(opened, turn, step, new.id, call)
    return None


async def failed(opened: Journal, turn: TurnId, step: int, fence: Fence, retry: ModelRetry, waited_ms: int) -> None:
    """Count a provider's failure and the pause that it causes; the pause itself is the engine's.

    Raises StaleFence when a higher attempt has registered; a turn that is over is left as it is.
    """
    await _newest(opened, turn, step, fence)
    if (await turns.standing(opened, turn)).over:
        return
    await opened.run(_QUERIES.failed, turn=turn, step=step, waited_ms=waited_ms)
    opened.record(retry)


async def _newest(opened: Journal, turn: TurnId, step: int, fence: Fence) -> None:
    row = await opened.row(_QUERIES.registered, turn=turn, step=step)
    if row is not None and tuple(row["fence"]) > tuple(fence):
        raise StaleFence(f"A later attempt {row['fence']} has registered for step {step} of turn {turn!r}.")


async def _keep_part(opened: Journal, message: MessageId, part: NewPart) -> PartSeal:
    body = seal(part.body.model_dump(mode="json"))
    await opened.run(
        _QUERIES.keep_part, id=part.id, message=message, position=part.position, body=body.content, salt=body.salt
    )
    return PartSeal(part=part.id, kind=part.body.type, seal=body.seal)
