"""Prompts: accepted by a door, taken once by a turn, or withdrawn."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from activities.new_ids import new_id
from activities.store import tasks, work
from activities.store.journal import WORKER, Journal, seal
from activities.store.queries import Queries
from activities.store.shell_outputs import read_filled
from activities.store.statements import RowReader
from activities.store.work import TurnRequest, WorkItem, WorkKind
from workflows.domain.context.truncate import share_out, shorten
from workflows.domain.errors import Conflict
from workflows.domain.events.prompts import PromptAccepted, PromptTaken, PromptWithdrawn
from workflows.domain.ids import MessageId, PartId, Prefix, ScheduleId, SessionId, TurnId, is_id
from workflows.domain.mentions import mentioned_names
from workflows.domain.messages import PersonWords, SubtaskPart
from workflows.domain.prompt import Prompt, PromptContent, PromptMode
from workflows.domain.titles import first_line

_QUERIES: Final = Queries("prompts")
_MOST_WORDS: Final = 20  # prompts
_KEPT: Final = (
    f"kept for the next prompt: {tasks.MAX_WOKEN_TURNS} turns in a row have been begun by results of background tasks"
)


async def accept(
    journal: Journal,
    identity: MessageId,
    prompt: Prompt,
    call: PartId | None = None,
    *,
    schedule: ScheduleId | None = None,
    due: datetime | None = None,
) -> bool:
    """Accept a prompt, once per id, which the client mints; False: accepted before. `call`: the other session's call
    that it works for; `schedule`: that prompts, at its moment `due` or when it is triggered.

    Raises Conflict for an ended session, or the id of another session's prompt.
    """
    item = _item(identity)
    if await work.was_accepted(journal, item):
        return False
    if journal.ended:
        raise Conflict(f"Session {journal.session!r} has ended; start a new one with `holdfast run`.")
    body = seal(prompt.content.model_dump(mode="json", exclude_none=True))
    named = prompt.model_dump(include={"mode", "agent", "model", "variant"})
    if prompt.opens_turn:  # only a turn of its own can owe its result, or have its limits
        named["mode"] = PromptMode.QUEUE
    task = prompt.task_end.call if prompt.task_end is not None else None
    origin = dict(call=call, schedule=schedule, due=due.isoformat() if due is not None else None, task=task)
    if prompt.command is not None:
        origin |= {"command": prompt.command.name, "template": prompt.command.template}
    work.accept(journal, item, journal.record(PromptAccepted(prompt=identity, seal=body.seal, **origin, **named)))
    written = call is not None or journal.actor != WORKER  # else it is a result: an @ in it refers to nothing
    refers = written and bool(prompt.references)
    journal.write(_QUERIES.accept, id=identity, body=body.content, salt=body.salt, refers=refers, **named)
    if words := prompt.title.strip():
        journal.write(_QUERIES.name_session, session=journal.session, id=identity, title=first_line(words))
    return True


async def mint(reader: RowReader, session: SessionId) -> MessageId:
    """An id behind those of the session's newest messages: one may be of a clock that is ahead."""
    known = [row["id"] for row in await reader.rows(_QUERIES.newest, session=session)]
    newest = max((id for id in known if is_id(Prefix.MESSAGE, id)), default="")
    return MessageId(new_id(Prefix.MESSAGE, after=newest))


async def steered(journal: Journal) -> list[MessageId]:
    """The untaken prompts that join the running turn, in order of acceptance."""
    return [row["id"] for row in await journal.rows(_QUERIES.steered, session=journal.session)]


def take(journal: Journal, prompt: MessageId, turn: TurnId, step: int) -> None:
    """Take a prompt: the model reads it at this step."""
    seq = journal.record(PromptTaken(prompt=prompt, turn=turn, step=step))
    work.take(journal, _item(prompt), turn)
    journal.write(_QUERIES.take, id=prompt, step=step, taken_seq=seq)


async def referring(reader: RowReader, session: SessionId) -> dict[MessageId, PromptContent]:
    """Taken prompts whose references no step has looked for, in the order of taking."""
    rows = await reader.rows(_QUERIES.referring, session=session)
    return {row["id"]: PromptContent.model_validate(row["body"]) for row in rows}


def resolve(journal: Journal, prompt: MessageId, mentions: Sequence[str]) -> None:
    """Record that the prompt's references were looked for; `mentions`: the subagents among them."""
    journal.write(_QUERIES.resolve, id=prompt, mentions=list(mentions))


async def texts(reader: RowReader, session: SessionId) -> list[str]:
    """The texts of the prompts that the session's turns have taken, in order."""
    rows = await reader.rows(_QUERIES.taken, session=session)
    return [PromptContent.model_validate(row["body"]).text for row in rows]


async def words(reader: RowReader, session: SessionId, turn: TurnId, step: int, room: int) -> tuple[PersonWords, ...]:
    """What a person has typed up to a turn's step, the first and the newest, in `room` characters."""
    if not room:
        return ()
    rows = await reader.rows(_QUERIES.words, session=session, turn=turn, step=step, newest=_MOST_WORDS)
    prompts = [(row, PromptContent.model_validate(row["body"])) for row in rows]
    typed = [(row, prompt.title) for row, prompt in prompts if prompt.title and not prompt.synthetic]
    shares = share_out([len(text) for _, text in typed], room)
    return tuple(
        PersonWords(number=row["number"], step=row["step"], text=shorten(text, share))
        for (row, text), share in zip(typed, shares, strict=True)
    )


async def read(reader: RowReader, prompt: MessageId | None) -> PromptContent | None:
    """A prompt's content; None if it is deleted or there is none."""
    rows = await reader.rows(_QUERIES.body, id=prompt)
    return PromptContent.model_validate(rows[0]["body"]) if rows else None


async def system(reader: RowReader, prompt: MessageId | None) -> str | None:
    """The instructions of a prompt; None if it is deleted or has none."""
    content = await read(reader, prompt)
    return content.system if content else None


async def subtask(reader: RowReader, prompt: MessageId, place: int) -> SubtaskPart | None:
    """The subtask that a person has put at this place among the parts of a prompt; None if the prompt is deleted."""
    content = await filled(reader, prompt)
    return content.by_person.subtasks.get(place) if content else None


async def filled(reader: RowReader, prompt: MessageId) -> PromptContent | None:
    """The prompt with the outputs of its commands, unless it is deleted."""
    content = await read(reader, prompt)
    return await read_filled(reader, prompt, content) if content else None


async def names(reader: RowReader, prompt: MessageId) -> tuple[str, ...]:
    """The names in a prompt by which a person may mention agents."""
    content = await read(reader, prompt)
    return mentioned_names(content.by_person) if content else ()


async def author(journal: Journal, prompt: MessageId, turn: TurnId | None = None) -> str | None:
    """The person who has sent a prompt that a turn of the session, or this one, has taken; None if the log does not say
    so."""
    row = await journal.row(_QUERIES.acceptance, id=prompt, session=journal.session)
    if row is None or turn not in (None, row["turn"]):
        return None
    from activities.store.events import parse_record  # start-up time of commands: it reads all events

    record = parse_record(bytes(row["canonical"]))
    accepted = isinstance(record.event, PromptAccepted) and record.event.prompt == prompt
    return record.actor.subject if accepted and record.actor != WORKER else None


async def request_turn(journal: Journal, item: WorkItem) -> TurnRequest | None:
    """Withdraws a subagent's prompt whose call is over: the call's end may have missed it. A result that must not wake
    the session is held."""
    (row,) = await journal.rows(_QUERIES.turn_request, id=item.id)
    if row["call_over"]:
        withdraw_one(journal, item, "its call is over")
        return None
    # not in SQL: PostgreSQL cannot look into a body with NUL or a lone surrogate
    content = PromptContent.model_validate(row["body"])
    if content.task_end is not None and not await tasks.may_wake(journal):
        withdraw_one(journal, item, _KEPT)
        return None
    instructs = content.system is not None or content.subtasks or content.shell
    instructed_by = MessageId(item.id) if instructs else None
    named = {name: row[name] for name in ("agent", "model", "variant")}
    named |= {name: getattr(content, name) for name in ("tools", "format", "limits")}
    return TurnRequest(item=item, instructed_by=instructed_by, **named)


def begin_turn(journal: Journal, item: WorkItem, turn: TurnId) -> None:
    take(journal, MessageId(item.id), turn, step=1)


def withdraw_one(journal: Journal, item: WorkItem, reason: str) -> None:
    prompt = MessageId(item.id)
    work.withdraw(journal, item)
    resolve(journal, prompt, ())  # no step will
    tasks.settle_of_prompt(journal, prompt)
    journal.record(PromptWithdrawn(prompt=prompt, reason=reason))


def _item(prompt: MessageId) -> WorkItem:
    return WorkItem(id=prompt, kind=WorkKind.PROMPT)
