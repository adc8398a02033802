"""What a step's request tells the model besides prompts and results.

It is recorded with the step and sent again with all later requests: each extends the one before, for the provider's
cache of prefixes.
"""

from collections.abc import Iterator, Sequence
from datetime import date

from pydantic import JsonValue

from activities.store.database import dumps
from prompts import render_prompt
from workflows.domain.ids import TurnId
from workflows.domain.messages import ContextSummary, Entry, Reminder, ReminderName, StepReminders, Transcript


def due_reminders(transcript: Transcript, today: date, *, text_only: bool) -> tuple[Reminder, ...]:
    """The date, where the conversation has none or another; and that no tools are left."""
    current = Reminder(name=ReminderName.DATE, text=render_prompt("reminders/date", date=today.isoformat()))
    due = () if current == _newest(transcript, ReminderName.DATE) else (current,)
    if not text_only:
        return due
    return *due, Reminder(name=ReminderName.LAST_STEP, text=render_prompt("reminders/last_step"))


def reminders_of_summary(transcript: Transcript, todos: Sequence[JsonValue], *, prompted: bool) -> Iterator[Reminder]:
    """What the first request behind a summary tells besides: to go on, unless a prompt follows, and the list of things
    to do, word for word."""
    if not prompted and all(isinstance(entry, ContextSummary | StepReminders) for entry in transcript):
        yield Reminder(name=ReminderName.CONTINUE, text=render_prompt("reminders/continue"))
    if todos:
        yield Reminder(name=ReminderName.TODOS, text=render_prompt("reminders/todos", todos=dumps(todos)))


def is_asked_again(transcript: Transcript, turn: TurnId, step: int, steps: int | None) -> bool:
    """Whether the turn has had a last step before this one; a summary may stand for that."""
    if steps is not None and step > steps:
        return True
    return sum(_has(entry, ReminderName.LAST_STEP) for entry in reversed(transcript) if entry.turn == turn) > 1


def _has(entry: Entry, name: ReminderName) -> bool:
    return isinstance(entry, StepReminders) and any(each.name is name for each in entry.reminders)


def _newest(transcript: Transcript, name: ReminderName) -> Reminder | None:
    steps = (entry for entry in reversed(transcript) if isinstance(entry, StepReminders))
    return next((each for step in steps for each in step.reminders if each.name is name), None)
