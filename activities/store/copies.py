"""Copies of turns and messages: rows with new ids, and the events that explain them. Nothing in them runs again."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal

from psycopg.types.json import Json
from pydantic import JsonValue

from activities.store import model_answers, seen_files
from activities.store.compactions import CompactionRow
from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from activities.store.statements import RowReader, Statements
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.copied_messages import CopiedAnswer, CopiedCall, CopiedPrompt, CopiedTurn
from workflows.domain.events.copies import MessageCopied, SessionImported
from workflows.domain.events.generations import PartSeal
from workflows.domain.events.prompts import PromptShortened
from workflows.domain.generation import Purpose
from workflows.domain.ids import (
    GenerationId,
    MessageId,
    NoteId,
    PartId,
    Prefix,
    SessionId,
    TurnId,
    is_id,
    shifted_message_id,
)
from workflows.domain.messages import AnswerMetadata, CallState

_QUERIES: Final = Queries("copies")
_TURN_CONFIGS: Final = Queries("turn_configs")


class SummaryRow(CompactionRow):
    """A summary, and what it stands for."""

    id: MessageId
    body: AnswerMetadata
    created_at: datetime


async def turns(reader: RowReader, session: SessionId) -> dict[TurnId, dict[str, Any]]:
    return {row["id"]: row for row in await reader.rows(_QUERIES.turns, session=session)}


async def lock_turn_configs(batch: Statements, session: SessionId) -> None:
    """Lock all configurations before turns are copied: each copy would lock its own, in the order of the turns."""
    await batch.rows(_QUERIES.lock_turn_configs, session=session)


async def prompts(reader: RowReader, session: SessionId) -> dict[MessageId, dict[str, Any]]:
    """Mode and author of each taken prompt, and what it names for its turn."""
    return {row.pop("id"): row for row in await reader.rows(_QUERIES.prompts, session=session)}


async def calls(reader: RowReader, message: MessageId) -> dict[PartId, dict[str, Any]]:
    """How people see each call of a message, and which prompt's subtask it is."""
    return {row.pop("id"): row for row in await reader.rows(_QUERIES.calls, messages=[message])}


async def tasks_at_work(reader: RowReader, session: SessionId) -> dict[PartId, MessageId | None]:
    """The calls whose subagents are at work, or have worked in the background, and the messages with their results."""
    return {row["call"]: row["result"] for row in await reader.rows(_QUERIES.tasks_at_work, session=session)}


async def reminders(reader: RowReader, session: SessionId) -> dict[GenerationId, list[JsonValue]]:
    return {row["id"]: row["reminders"] for row in await reader.rows(_QUERIES.reminders, session=session)}


async def summaries(reader: RowReader, session: SessionId) -> list[SummaryRow]:
    """A session's summaries, the oldest first."""
    return [SummaryRow(**row) for row in await reader.rows(_QUERIES.summaries, session=session)]


async def is_exported(reader: RowReader, session: SessionId, message: MessageId) -> bool:
    """Whether exports have this message, and transcripts do not: a summary, or one of the two around it."""
    around = (
        [shifted_message_id(message, distance) for distance in (-1, 0, 1)] if is_id(Prefix.MESSAGE, message) else []
    )
    (row,) = await reader.rows(_QUERIES.is_exported, session=session, summaries=around)
    return bool(row["exported"])


async def parts(reader: RowReader, message: MessageId) -> list[dict[str, Any]]:
    """Positions and bodies of an answer's parts."""
    return await reader.rows(_QUERIES.parts, message=message)


async def count(reader: RowReader, session: SessionId) -> int:
    """How many messages the session has copied."""
    (row,) = await reader.rows(_QUERIES.count, session=session)
    return int(row["copied"])


def write_turn_config(journal: Journal, config: TurnConfig) -> None:
    journal.write(_TURN_CONFIGS.insert, id=config.id, body=Json(config.model_dump(mode="json")))


def write_turn(journal: Journal, turn: CopiedTurn) -> None:
    journal.write(_QUERIES.insert_turn, session=journal.session, **turn.model_dump())


def write_prompt(journal: Journal, prompt: CopiedPrompt, kept: PartSeal | None = None) -> None:
    """`kept`: the note of what a file has of it besides."""
    body = seal(prompt.content.model_dump(exclude_none=True))
    copied = PartSeal(part=PartId(prompt.id), kind="prompt", seal=body.seal)
    seq = _record(journal, prompt.id, "user", prompt, [copied, *([kept] if kept else [])])
    row = prompt.model_dump(exclude={"content", "origin"})
    journal.write(_QUERIES.insert_prompt, session=journal.session, seq=seq, body=body.content, salt=body.salt, **row)
    if prompt.shown is not None or prompt.without_files:
        shortened = prompt.model_dump(include={"turn", "shown", "without_files"})
        journal.record(PromptShortened(prompt=prompt.id, **shortened))


def write_answer(journal: Journal, answer: CopiedAnswer, kept: PartSeal | None = None) -> None:
    """Its turn is there already; of a summary, the answers that it stands for. `kept` as above."""
    copied: list[PartSeal] = [kept] if kept else []
    reminded = seal([each.model_dump(mode="json") for each in answer.reminders]) if answer.reminders else None
    if reminded is not None:
        copied.append(PartSeal(part=PartId(f"{answer.generation}/reminders"), kind="reminders", seal=reminded.seal))
    is_step = answer.newest is None
    journal.write(
        _QUERIES.insert_answer,
        id=answer.message,
        session=journal.session,
        generation=answer.generation,
        purpose=Purpose.STEP if is_step else Purpose.COMPACTION,
        turn=answer.turn if is_step else None,
        step=answer.step if is_step else None,
        reminders=reminded and reminded.content,
        reminders_salt=reminded and reminded.salt,
        reminders_seal=reminded and reminded.seal,
        at=answer.at,
        **model_answers.body_columns(answer.body),
    )
    copied += [model_answers.store_part(journal, answer.message, part) for part in answer.parts]
    for call in answer.calls:
        copied += _write_call(journal, answer, call)
    if answer.newest is not None:
        stands_for = answer.model_dump(include={"generation", "turn", "step", "newest", "media", "words"})
        journal.write(_QUERIES.insert_compaction, session=journal.session, **stands_for)
    _record(journal, answer.message, "assistant" if is_step else "summary", answer, copied)


def _record(
    journal: Journal,
    message: MessageId,
    role: Literal["user", "assistant", "summary"],
    copy: CopiedPrompt | CopiedAnswer,
    contents: list[PartSeal],
) -> int:
    named = copy.model_dump(include={"origin", "turn", "step", "newest", "media"})
    return journal.record(MessageCopied(message=message, role=role, contents=tuple(contents), **named))


def _write_call(journal: Journal, answer: CopiedAnswer, call: CopiedCall) -> list[PartSeal]:
    arguments, outcome = seal(call.arguments), seal(call.outcome.model_dump(mode="json"))
    row = call.model_dump(exclude={"arguments", "outcome", "display"})
    journal.write(
        _QUERIES.insert_call,
        session=journal.session,
        turn=answer.turn,
        step=answer.step,
        message=answer.message,
        arguments=arguments.content,
        salt=arguments.salt,
        display=Json(call.display),
        outcome=outcome.content,
        outcome_salt=outcome.salt,
        **row,
    )
    seen_files.store(journal, call.id, call.outcome.versions)
    if call.state is CallState.DONE:
        seen_files.copy_instructions(journal, call.id, call.outcome.metadata.get("loaded"))
    return [
        PartSeal(part=call.id, kind="call", seal=arguments.seal),
        PartSeal(part=PartId(f"{call.id}/outcome"), kind="outcome", seal=outcome.seal),
    ]


async def taken_ids(reader: RowReader, ids: Sequence[str]) -> set[str]:
    """The ids that are already in use."""
    generations = [f"{Prefix.GENERATION}{id[3:]}" for id in ids if id.startswith(Prefix.MESSAGE)]
    kept = [_note_of(id) for id in ids]
    rows = await reader.rows(_QUERIES.taken_ids, ids=list(ids), generations=generations, notes=kept)
    return {row["id"] for row in rows}


def record_import(journal: Journal, info: JsonValue, *, origin: str, digest: str) -> None:
    """Record where the messages that follow come from; `info`: what the file says of the session."""
    note = _note_of(journal.session)
    seal = journal.store_note(note, json.dumps(info))
    journal.record(SessionImported(origin=origin, digest=digest, note=note, seal=seal))


def keep_unknown(journal: Journal, id: MessageId, unknown: JsonValue) -> PartSeal:
    """Keep what of an imported message has no place here; the seal for the event of the message."""
    note = _note_of(id)
    return PartSeal(part=PartId(note), kind="imported", seal=journal.store_note(note, json.dumps(unknown)))


def record_unseen(journal: Journal, id: MessageId, origin: str, kept: PartSeal, *, user: bool) -> None:
    """Record an imported message of which only a note is kept."""
    role: Literal["user", "assistant"] = "user" if user else "assistant"
    journal.record(MessageCopied(message=id, origin=origin, role=role, contents=(kept,)))


def _note_of(id: str) -> NoteId:
    return NoteId(f"{id}/imported")
