"""Model steps: who may commit an answer, and the answer, stored once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from activities.store import calls, notes, prompts, transcript, turns
from activities.store.calls import CallRow, NewCall
from activities.store.database import Database, dumps
from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from activities.store.statements import Reads
from activities.store.turns import TurnStanding
from workflows.domain.errors import StaleFence
from workflows.domain.events import MessageCompleted, ModelRetry, PartSeal
from workflows.domain.ids import MessageId, NoteId, PartId, SessionId, TurnId
from workflows.domain.messages import AnswerBody, StoredPart, TextPart, Transcript
from workflows.domain.value import Value
from workflows.domain.wire import Fence

_QUERIES: Final = Queries("generations")
Read: TypeAlias = Callable[[Reads, SessionId], Awaitable[Transcript]]


class Stored(Value):
    """An answer that is committed already: it is used, and the model is not asked again."""

    message: MessageId
    body: AnswerBody


class StepStanding(Value):
    """How a step stands: its turn, who has registered for it last (nobody: no fence), what failed, its answer.

    `pause` is how many seconds are left, by the database's clock, until the provider may be asked again.
    """

    turn: TurnId
    step: int
    standing: TurnStanding
    fence: tuple[int, ...] = ()
    failures: int = 0
    waited_ms: int = 0
    pause: float | None = None
    stored: Stored | None = None

    def refuse_older(self, fence: Fence) -> None:
        """Raise StaleFence for an attempt that is not the newest any more."""
        if self.fence > tuple(fence):
            raise StaleFence(f"A later attempt {self.fence} has registered for step {self.step} of turn {self.turn!r}.")


class Begun(Value):
    """This attempt is the newest and may ask the model; what failed before it, and the conversation so far."""

    standing: TurnStanding
    failures: int
    waited_ms: int
    transcript: Transcript


class Over(Value):
    """The turn has ended or is being stopped: nothing may be asked."""


class Parked(Value):
    """The session is parked: nothing is asked before a person lets it go on."""


class Paused(Value):
    """The pause after a provider's failure is not over, for so many seconds: nobody asks before its end."""

    seconds: float
    failures: int


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

    @property
    def has_text(self) -> bool:
        return any(_is_text(part.body) for part in self.parts)


def _is_text(part: StoredPart) -> bool:
    """Whether a part says something to a reader: blank text does not."""
    return isinstance(part, TextPart) and bool(part.text.strip())


async def begin(
    opened: Journal, turn: TurnId, step: int, fence: Fence, read: Read = transcript.read
) -> Stored | Over | Parked | Paused | Begun:
    """Register an attempt at a step, and take the steered prompts: one transaction, before the model is asked.

    An attempt that comes early, for its predecessor died before the engine knew of the pause, changes nothing.
    `read` is how the transcript is read. Raises StaleFence when a higher attempt has registered.
    """
    found, steered, view = await asyncio.gather(
        standing(opened, turn, step),
        prompts.steered(opened),
        read(opened, opened.session),
    )
    if found.stored is not None:
        return found.stored
    if found.standing.over or opened.ended:
        return Over()
    found.refuse_older(fence)
    if opened.parked is not None:
        return Parked()
    if found.pause is not None and found.pause > 0:
        return Paused(seconds=found.pause, failures=found.failures)
    opened.write(_QUERIES.register, turn=turn, step=step, fence=list(fence))
    turns.registered(opened, turn, step)
    for prompt in steered:
        prompts.take(opened, prompt, turn, step)
    if steered:
        view = await read(opened, opened.session)
    return Begun(standing=found.standing, failures=found.failures, waited_ms=found.waited_ms, transcript=view)


async def standing(opened: Journal, turn: TurnId, step: int) -> StepStanding:
    """How a step stands now. Raises StaleFence for a turn that is none of this session's."""
    row = await opened.row(_QUERIES.standing, turn=turn, step=step, session=opened.session)
    if row is None:
        raise StaleFence(f"Session {opened.session!r} has no turn {turn!r}.")
    stored = Stored(message=row["message"], body=AnswerBody.model_validate(row["body"])) if row["message"] else None
    registered = {name: row[name] for name in ("fence", "failures", "waited_ms", "pause")}
    return StepStanding(
        turn=turn,
        step=step,
        standing=turns.standing_of(row),
        stored=stored,
        **(registered if row["fence"] else {}),
    )


async def has_text(opened: Journal, message: MessageId) -> bool:
    """Whether a stored answer has any text. PostgreSQL cannot look into a body that holds NUL or half a character."""
    rows = await opened.rows(_QUERIES.bodies, message=message)
    return any(_is_text(transcript.PART.validate_python(row["body"])) for row in rows)


async def commit(
    opened: Journal, turn: TurnId, step: int, fence: Fence, new: NewAnswer
) -> Stored | Over | tuple[CallRow, ...]:
    """Store the answer with its parts and prepared calls, once; the calls' rows. Stored: it is there already.

    Only the newest registered attempt may, and only while the turn is open. Raises StaleFence.
    """
    found = await standing(opened, turn, step)
    if found.stored is not None:
        return found.stored
    found.refuse_older(fence)
    if found.standing.state != "open" or opened.ended:
        return Over()
    return _keep(opened, turn, step, new)


def commit_held(opened: Journal, turn: TurnId, step: int, fence: Fence, new: NewAnswer) -> tuple[CallRow, ...]:
    """The same in a session that is held since this attempt registered: a later one would have left no event.

    The transaction fails with Moved if there is one.
    """
    opened.write(_QUERIES.hold, turn=turn, step=step, fence=list(fence))
    return _keep(opened, turn, step, new)


def _keep(opened: Journal, turn: TurnId, step: int, new: NewAnswer) -> tuple[CallRow, ...]:
    opened.write(
        _QUERIES.keep_message,
        id=new.id,
        session=opened.session,
        turn=turn,
        step=step,
        body=dumps(new.body.model_dump(mode="json")),
    )
    seals = [_keep_part(opened, new.id, part) for part in new.parts]
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
    return tuple(calls.prepare(opened, turn, step, new.id, call) for call in new.calls)


class Failure(Value):
    """A provider's failure: how many there were with it, its `kind` (a status, or "network") and words.

    `pause` is the seconds until the provider is asked again, at `next_at` by our own clock; `waited_ms` is what of our
    patience both have used up.
    """

    attempt: int
    kind: str
    said: str
    pause: float
    waited_ms: int
    next_at: str


async def failed(opened: Journal, turn: TurnId, step: int, fence: Fence, failure: Failure) -> None:
    """Count a provider's failure, and note until when it is left alone; one that is counted is left as it is.

    Raises StaleFence when a higher attempt has registered; a turn that is over is left as it is.
    """
    found = await standing(opened, turn, step)
    found.refuse_older(fence)
    if found.standing.over or found.failures >= failure.attempt:
        return
    told = failure.model_dump(include={"waited_ms", "kind", "pause"})
    opened.write(_QUERIES.failed, turn=turn, step=step, **told)
    note = NoteId(f"{turn}/{step}/{failure.attempt}")
    words = notes.keep(opened, note, failure.said)
    said = failure.model_dump(include={"attempt", "kind", "next_at"})
    opened.record(ModelRetry(turn=turn, step=step, note=note, seal=words, **said))


async def answered_by(database: Database, provider: str) -> bool:
    """Whether any session has an answer of this provider."""
    return bool(await database.rows(_QUERIES.answered_by, begun=f"{provider}/"))


def _keep_part(opened: Journal, message: MessageId, part: NewPart) -> PartSeal:
    body = seal(part.body.model_dump(mode="json"))
    opened.write(
        _QUERIES.keep_part, id=part.id, message=message, position=part.position, body=body.content, salt=body.salt
    )
    return PartSeal(part=part.id, kind=part.body.type, seal=body.seal)
