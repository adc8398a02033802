"""Which reminders a step's first request has."""

from datetime import UTC, date, datetime

from activities.model.reminders import due_reminders, mode_reminder, reminders_of_summary
from activities.store.tasks import BackgroundChild
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import BUILD, PLAN
from workflows.domain.config.config import Config
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.ids import GenerationId, MessageId, PartId, SessionId, TurnId
from workflows.domain.messages import (
    AnswerMetadata,
    AssistantMessage,
    ContextSummary,
    Reminder,
    ReminderName,
    StepReminders,
    TextPart,
    Transcript,
    UserMessage,
)
from workflows.domain.permissions.rules import Action, Rule, Ruleset
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.usage import Tokens

ALLOWED = (Rule(permission="*", pattern="*", action=Action.ALLOW),)
TODAY = date(2026, 1, 31)
TURN = TurnId("trn_1")
AT = datetime(2026, 1, 31, tzinfo=UTC)


def names(transcript: Transcript, today: date = TODAY) -> list[ReminderName]:
    return [reminder.name for reminder in due_reminders(transcript, today)]


def step(number: int, transcript: Transcript = ()) -> StepReminders:
    due = due_reminders(transcript, TODAY)
    return StepReminders(id=GenerationId(f"gen_{number}"), turn=TURN, step=number, reminders=due)


def test_a_date_is_told_once() -> None:
    assert names(()) == [ReminderName.DATE]
    assert names((step(1),)) == []
    assert names((step(1),), date(2026, 2, 1)) == [ReminderName.DATE]


def test_an_answer_that_was_cut_is_continued_once_unless_a_prompt_says_how_to_go_on() -> None:
    tokens = Tokens(output=9)
    body = AnswerMetadata(finish="length", agent="build", model="a/b", tokens=tokens, cost=None, bounded=True)
    answer = AssistantMessage(id=MessageId("msg_1"), turn=TURN, step=1, body=body, at=AT, parts=(TextPart(text="Hel"),))
    unbounded = answer.model_copy(update={"body": body.model_copy(update={"bounded": False})})
    prompt = UserMessage(id=MessageId("msg_2"), turn=TURN, step=2, parts=(TextPart(text="Stop."),), at=AT)

    assert names((step(1), answer)) == [ReminderName.CUT]
    assert names((step(1), answer, prompt)) == names((step(1), unbounded)) == []
    assert due_reminders((step(1), answer), TODAY, prompted=True) == ()


def test_behind_a_summary_the_model_is_told_to_go_on_unless_somebody_says_how() -> None:
    summary = ContextSummary(id=GenerationId("gen_0"), turn=TURN, step=1, newest=MessageId("msg_1"), text="")
    kinds = ("pending", "in_progress", "completed", "cancelled")
    todos = [{"content": f"count {kind}", "status": kind, "priority": "low"} for kind in kinds]

    works = BackgroundChild(call=PartId("prt_1"), child=SessionId("ses_2"), title="look\nfor it (@explore subagent)")

    alone = list(reminders_of_summary((summary, step(2)), (todos, "1"), [works], prompted=False))
    prompted = list(reminders_of_summary((summary,), (todos, "1"), [], prompted=True))

    assert [each.name for each in alone] == [ReminderName.CONTINUE, ReminderName.TODOS, ReminderName.TASKS]
    assert "\n- ses_2: look for it (@explore subagent)\n" in alone[-1].text
    assert [each.name for each in prompted] == [ReminderName.TODOS]
    assert "as you last wrote it (turn 1); bring it up to date if it is behind" in prompted[0].text
    boxes = "[ ] count pending\n[~] count in_progress\n[x] count completed\n[-] count cancelled\n"
    assert boxes in prompted[0].text and "priority" not in prompted[0].text
    assert list(reminders_of_summary((summary,), ([], ""), [], prompted=True)) == []


def test_plan_mode_is_told_once_and_its_end_once_to_an_agent_that_may_edit() -> None:
    def told(agent: Agent, *transcript: StepReminders, rules: Ruleset = ALLOWED) -> list[Reminder]:
        config = TurnConfig(directory="/", worktree=None, config=Config(), rules=Rulesets.of(rules), agent=agent)
        return [*mode_reminder(transcript, config, SessionId("ses_1"))]

    def step_of(*reminders: Reminder) -> StepReminders:
        return StepReminders(id=GenerationId("gen_1"), turn=TurnId("trn_1"), step=1, reminders=reminders)

    (begun,) = told(PLAN)
    planning = step_of(begun)
    (left,) = told(BUILD, planning)

    assert (begun.name, left.name) == (ReminderName.PLAN_MODE, ReminderName.PLAN_LEFT)
    assert "you may write it to `.opencode/plans/ses_1.md` in the project" in begun.text
    assert "changed from plan to build" in left.text and "no longer in read-only mode" in left.text
    assert "may edit files and run commands" in left.text and len(left.text.splitlines()) <= 5
    assert told(BUILD) == told(PLAN, planning) == told(BUILD, planning, step_of(left)) == []
    assert told(BUILD, planning, rules=(Rule(permission="edit", pattern="*", action=Action.DENY),)) == []
    assert told(PLAN, planning, step_of(left)) == [begun]
