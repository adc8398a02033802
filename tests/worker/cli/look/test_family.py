"""A session and its subagents as one story."""

import click
import pytest

from tests.worker.cli.look.test_story import seen
from worker.cli.look.family import Margin, story
from worker.cli.look.page import Page
from worker.cli.look.text import width
from worker.client import Delta, Seen
from workflows.domain import events
from workflows.domain.events import Event
from workflows.domain.ids import MessageId, PartId, SessionId, SnapshotId, TurnId

Capture = pytest.CaptureFixture[str]


def of(session: str, event: Event) -> Seen:
    told = seen(event)
    return told.model_copy(update={"record": told.record.model_copy(update={"session": SessionId(session)})})


def started(call: str, child: str, agent: str) -> events.TaskStarted:
    return events.TaskStarted(call=PartId(call), child=SessionId(child), prompt=MessageId("msg_1"), agent=agent)


def opened(agent: str) -> events.TurnOpened:
    return events.TurnOpened(turn=TurnId("trn_1"), number=1, snapshot=SnapshotId("cfg_1"), agent=agent, model="a/b")


def test_what_a_subagent_does_stands_behind_its_names(capsys: Capture) -> None:
    family = story(Page(live=False), SessionId("ses_1"))
    family.tell(of("ses_1", started("prt_1", "ses_2", "general")))
    family.tell(of("ses_2", started("prt_2", "ses_3", "explore")))
    family.tell(of("ses_3", opened("explore")))
    family.tell(of("ses_1", opened("build")))
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert lines == [
        "  @general works on it (ses_2)",
        "general │   @explore works on it (ses_3)",
        "general › explore │ Turn 1 · explore · a/b",
        "Turn 1 · build · a/b",
    ]


def test_two_subagents_of_one_agent_can_be_told_apart(capsys: Capture) -> None:
    family = story(Page(live=False), SessionId("ses_1"))
    for number in (2, 3):
        family.tell(of("ses_1", started(f"prt_{number}", f"ses_{number}", "explore")))
    family.tell(of("ses_3", started("prt_4", "ses_4", "explore")))
    for number in (2, 3, 4):
        family.tell(of(f"ses_{number}", opened("explore")))
    assert click.unstyle(capsys.readouterr().out).splitlines()[3:] == [
        "explore │ Turn 1 · explore · a/b",
        "explore 2 │ Turn 1 · explore · a/b",
        "explore 2 › explore │ Turn 1 · explore · a/b",
    ]


def test_a_long_answer_of_a_subagent_stays_behind_its_name(capsys: Capture) -> None:
    page = Page(live=True)
    Margin(page, "general").settle("so it is " * 40 + "x" * 100)
    page.close()

    rows = [row for row in click.unstyle(capsys.readouterr().out).splitlines() if row]  # and some that were erased
    assert page.columns is not None
    assert len(rows) > 5 and all(row.startswith("general │ ") and width(row) <= page.columns for row in rows)


def test_the_name_of_an_agent_can_do_nothing_to_the_terminal(capsys: Capture) -> None:
    family = story(Page(live=False), SessionId("ses_1"))
    family.tell(of("ses_1", started("prt_1", "ses_2", "\x1b[2Jx")))
    family.tell(of("ses_2", opened("\x1b[2Jx")))
    assert "\x1b[2J" not in capsys.readouterr().out


def test_unfinished_pieces_are_those_of_the_session_itself(capsys: Capture) -> None:
    page = Page(live=True)
    family = story(page, SessionId("ses_1"))
    family.tell(of("ses_1", started("prt_1", "ses_2", "explore")))
    capsys.readouterr()
    family.show(Delta(id=1, source="msg_1", attempt="1-1-1", body={"kind": "text", "part": 0, "text": "So far"}))
    page.draw()
    assert "So far" in capsys.readouterr().out


def test_a_subagent_that_began_before_what_is_told_is_not_taken_for_the_session(capsys: Capture) -> None:
    family = story(Page(live=False), SessionId("ses_1"))
    family.tell(of("ses_2", opened("explore")))
    assert click.unstyle(capsys.readouterr().out) == "ses_2 │ Turn 1 · explore · a/b\n"
