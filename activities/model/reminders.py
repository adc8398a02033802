"""What a step's request tells the model besides prompts and results.

It is recorded with the step and sent again with all later requests: each request extends the one before, so that the
provider's prefix cache is used.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Any

from activities.model.compaction_prompt import MOST_OF_RESULT
from activities.store.calls import CallRow
from activities.store.database import dumps
from activities.store.tasks import BackgroundChild
from prompts import render_prompt
from workflows.domain.call_display import TODO_BOXES
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.ids import SessionId, TurnId
from workflows.domain.messages import (
    AssistantMessage,
    ContextSummary,
    Entry,
    Reminder,
    ReminderName,
    StepReminders,
    ToolPart,
    Transcript,
)
from workflows.domain.permissions import permission_keys


def due_reminders(
    transcript: Transcript,
    today: date,
    *,
    owing: TurnId | None = None,
    prompted: bool = False,
    reports: bool = False,
    going_round: bool = False,
) -> tuple[Reminder, ...]:
    """The date, where the conversation has none or another; that the model `reports` of a command's subtasks, or is
    `going_round`; that this turn is `owing` a result, at its begin and after each answer in text; and that the answer
    of another was cut, unless a prompt follows it."""
    current = reminder(ReminderName.DATE, date=today.isoformat())
    due = [] if current == _newest(transcript, ReminderName.DATE) else [current]
    names = [ReminderName.SUBTASK_DONE] if reports else []
    names += [ReminderName.GOING_ROUND] if going_round else []
    if owing is not None and _awaits_reminder(transcript, owing):
        names.append(ReminderName.STRUCTURED_OUTPUT)
    if owing is None and not prompted and _ends_cut(transcript):
        names.append(ReminderName.CUT)
    return *due, *map(reminder, names)


def reminder(name: ReminderName, **values: str) -> Reminder:
    return Reminder(name=name, text=render_prompt(f"reminders/{name}", **values))


def mode_reminder(transcript: Transcript, config: TurnConfig, session: SessionId) -> Iterator[Reminder]:
    """That a turn only plans, and into which file, or no more, and may edit: once, until the other is due."""
    newest = _newest(transcript, ReminderName.PLAN_MODE, ReminderName.PLAN_LEFT)
    planning = newest is not None and newest.name is ReminderName.PLAN_MODE
    if config.agent.only_plans and not planning:
        yield reminder(ReminderName.PLAN_MODE, file=f".opencode/plans/{session}.md")
    elif planning and not config.agent.only_plans and not config.rules.denies_by_default(permission_keys.EDIT):
        yield reminder(ReminderName.PLAN_LEFT, agent=config.agent.name)


def reminders_of_summary(
    transcript: Transcript,
    todos: tuple[Sequence[Any], str],
    background: Iterable[BackgroundChild],
    unseen: Iterable[CallRow] = (),
    *,
    prompted: bool,
) -> Iterator[Reminder]:
    """What the first request after a summary tells besides: to go on, unless a prompt follows, the list of things to
    do, word for word, which tasks are at work in the `background`, and of which calls the results are `unseen`."""
    if not prompted and all(isinstance(entry, ContextSummary | StepReminders) for entry in transcript):
        yield Reminder(name=ReminderName.CONTINUE, text=render_prompt("reminders/continue"))
    if lines := [f"{TODO_BOXES.get(each['status'], '[?]')} {each['content']}" for each in todos[0]]:
        yield reminder(ReminderName.TODOS, todos="\n".join(lines), turn=todos[1])
    if tasks := [f"- {each.child}: {' '.join(each.title.split())}" for each in background]:
        yield Reminder(name=ReminderName.TASKS, text=render_prompt("reminders/tasks", tasks="\n".join(tasks)))

    long = [call for call in unseen if call.outcome and len(call.outcome.output) > MOST_OF_RESULT]
    if lines := [f"- {call.tool} {dumps(call.arguments)[:200]}" for call in long]:
        yield Reminder(name=ReminderName.UNSEEN, text=render_prompt("reminders/unseen", calls="\n".join(lines)))


def _has(entry: Entry, name: ReminderName) -> bool:
    return isinstance(entry, StepReminders) and any(each.name is name for each in entry.reminders)


def _awaits_reminder(transcript: Transcript, turn: TurnId) -> bool:
    """Whether nothing has asked for the turn's result since it began, or since its newest answer in text."""
    for entry in reversed(transcript):
        if entry.turn != turn or _has(entry, ReminderName.STRUCTURED_OUTPUT):
            return entry.turn != turn
        if isinstance(entry, AssistantMessage) and not any(isinstance(part, ToolPart) for part in entry.parts):
            return True
    return True


def _ends_cut(transcript: Transcript) -> bool:
    newest = next((entry for entry in reversed(transcript) if not isinstance(entry, StepReminders)), None)
    return isinstance(newest, AssistantMessage) and newest.is_cut


def _newest(transcript: Transcript, *names: ReminderName) -> Reminder | None:
    steps = (entry for entry in reversed(transcript) if isinstance(entry, StepReminders))
    return next((each for step in steps for each in step.reminders if each.name in names), None)
