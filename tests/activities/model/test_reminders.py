"""Which reminders a step's first request has."""

from datetime import date

from activities.model.reminders import due_reminders, is_asked_again
from workflows.domain.ids import GenerationId, TurnId
from workflows.domain.messages import ReminderName, StepReminders, Transcript

TODAY = date(2026, 1, 31)
TURN = TurnId("trn_1")


def names(transcript: Transcript, today: date = TODAY, *, text_only: bool = False) -> list[ReminderName]:
    return [reminder.name for reminder in due_reminders(transcript, today, text_only=text_only)]


def step(number: int, transcript: Transcript = (), *, text_only: bool = False) -> StepReminders:
    due = due_reminders(transcript, TODAY, text_only=text_only)
    return StepReminders(id=GenerationId(f"gen_{number}"), turn=TURN, step=number, reminders=due)


def test_a_date_is_told_once() -> None:
    assert names(()) == [ReminderName.DATE]
    assert names((step(1),)) == []
    assert names((step(1),), date(2026, 2, 1)) == [ReminderName.DATE]


def test_each_last_step_is_told_so() -> None:
    told = step(1)
    once = (told, step(2, (told,), text_only=True))
    assert names((), text_only=True) == [ReminderName.DATE, ReminderName.LAST_STEP]
    assert names(once, text_only=True) == [ReminderName.LAST_STEP]


def test_a_second_last_step_of_a_turn_is_asked_again() -> None:
    once = (step(1), step(2, text_only=True))
    assert not is_asked_again(once, TURN)
    assert is_asked_again((*once, step(3, text_only=True)), TURN)
    assert not is_asked_again((*once, step(3, text_only=True)), TurnId("trn_2"))
