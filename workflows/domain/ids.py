"""OpenCode's time-ordered ids; its clients sort by them (opencode.md 12.1)."""

import random
import re
from enum import StrEnum
from typing import Final, NewType

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
GenerationId = NewType("GenerationId", str)
MessageId = NewType("MessageId", str)
PartId = NewType("PartId", str)
AskId = NewType("AskId", str)
GrantId = NewType("GrantId", str)
StopId = NewType("StopId", str)
RetryId = NewType("RetryId", str)
CompactionId = NewType("CompactionId", str)
SuspensionId = NewType("SuspensionId", str)
TurnConfigId = NewType("TurnConfigId", str)
ScheduleId = NewType("ScheduleId", str)
NoteId = NewType("NoteId", str)  # derived from what the note is about

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FORM: Final = re.compile(r"[a-z]{3}_[0-9a-f]{12}[0-9A-Za-z]{14}")
_MASK: Final = (1 << 48) - 1


class Prefix(StrEnum):
    """Sessions sort newest first, all others oldest first."""

    SESSION = "ses"
    TURN = "trn"
    GENERATION = "gen"
    MESSAGE = "msg"
    PART = "prt"
    ASK = "per"
    GRANT = "gra"
    STOP = "stp"
    RETRY = "rty"
    COMPACTION = "cpt"
    SUSPENSION = "sus"
    TURN_CONFIG = "cfg"
    SCHEDULE = "sch"


def mint(prefix: Prefix, milliseconds: int, counter: int, source: random.Random) -> str:
    """An id: prefix, 12 hex digits of `ms * 4096 + counter`, 14 random base-62 characters.

    `counter`: 0 to 4095, restarting each millisecond. Workflow code passes Temporal's time and randomness.
    """
    moment = (milliseconds * 4096 + counter) & _MASK
    if prefix is Prefix.SESSION:
        moment = ~moment & _MASK
    tail = "".join(source.choice(_BASE62) for _ in range(14))
    return f"{prefix}_{moment:012x}{tail}"


def next_id(prefix: Prefix, before: str, source: random.Random) -> str:
    """The next id after another one, which has the form of ids."""
    return mint(prefix, *divmod(int(before[4:16], 16) + 1, 4096), source)


def ending_message_id(turn: TurnId, milliseconds: int) -> MessageId:
    """Of the message that exports have in place of a turn's last answer: it has no row."""
    return MessageId(mint(Prefix.MESSAGE, milliseconds, 0, random.Random(turn)))


WORKFLOW_TYPE: Final = "holdfast.session"  # of a session
ASIDE_TYPE: Final = "holdfast.aside"  # of side work of a session
SCHEDULED_TYPE: Final = "holdfast.scheduled"  # of a schedule's moment


def workflow_id(session: SessionId) -> str:
    return f"session/{session}"


def aside_id(session: SessionId, generation: GenerationId) -> str:
    return f"aside/{session}/{generation}"


def scheduled_id(schedule: ScheduleId) -> str:
    """The id of a schedule's workflows, to which Temporal appends the moment."""
    return f"schedule/{schedule}"


def title_id(turn: TurnId) -> GenerationId:
    """The generation of the title that a turn asks for: the same one, however often its rows are loaded."""
    return GenerationId(f"{Prefix.GENERATION}{turn[3:]}")


def schedule_id_for(prompt: MessageId) -> ScheduleId:
    """The schedule of a prompt with an id of its own."""
    return ScheduleId(f"{Prefix.SCHEDULE}{prompt[3:]}")


def session_id_for(prompt: MessageId) -> SessionId:
    """The session that a prompt begins, derived before either is stored."""
    moment, tail = int(prompt[4:16], 16), prompt[16:]
    return SessionId(f"{Prefix.SESSION}_{~moment & _MASK:012x}{tail}")


def answer_id(generation: GenerationId) -> MessageId:
    """The id of a generation's answer, with the same time and tail."""
    return MessageId(f"{Prefix.MESSAGE}{generation[3:]}")


def shifted_message_id(message: MessageId, distance: int) -> MessageId:
    """Stable, and in order with the message's id: of one without a row."""
    return MessageId(f"{message[:4]}{int(message[4:16], 16) + distance:012x}{message[16:]}")


def is_id(prefix: Prefix, text: str) -> bool:
    return text.startswith(f"{prefix}_") and _FORM.fullmatch(text) is not None
