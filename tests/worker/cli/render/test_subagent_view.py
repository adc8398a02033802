"""A session and its subagents in one view."""

import click
import pytest

from tests.worker.cli.render.test_event_renderer import seen
from worker.cli.render.subagent_view import create_session_view
from worker.cli.render.terminal_writer import MarginWriter, TerminalWriter
from worker.cli.render.wrap import display_width
from workflows.domain.events.event import Event
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import TurnOpened
from workflows.domain.ids import MessageId, PartId, SessionId, TurnConfigId, TurnId
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents

Capture = pytest.CaptureFixture[str]


def of(session: str, event: Event) -> EventWithContents:
    shown = seen(event)
    return shown.model_copy(update={"record": shown.record.model_copy(update={"session": SessionId(session)})})


def started(call: str, child: str, agent: str) -> TaskStarted:
    return TaskStarted(call=PartId(call), child=SessionId(child), prompt=MessageId("msg_1"), agent=agent)


def opened(agent: str) -> TurnOpened:
    return TurnOpened(turn=TurnId("trn_1"), number=1, turn_config=TurnConfigId("cfg_1"), agent=agent, model="a/b")


def test_what_a_subagent_does_stands_behind_its_names(capsys: Capture) -> None:
    view = create_session_view(TerminalWriter(live=False), SessionId("ses_1"))
    view.on_event(of("ses_1", started("prt_1", "ses_2", "general")))
    view.on_event(of("ses_2", started("prt_2", "ses_3", "explore")))
    view.on_event(of("ses_3", opened("explore")))
    view.on_event(of("ses_1", opened("build")))
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert lines == [
        "  @general works on it (ses_2)",
        "general │   @explore works on it (ses_3)",
        "general › explore │ Turn 1 · explore · a/b",
        "Turn 1 · build · a/b",
    ]


def test_two_subagents_of_one_agent_have_different_names(capsys: Capture) -> None:
    view = create_session_view(TerminalWriter(live=False), SessionId("ses_1"))
    for number in (2, 3):
        view.on_event(of("ses_1", started(f"prt_{number}", f"ses_{number}", "explore")))
    view.on_event(of("ses_3", started("prt_4", "ses_4", "explore")))
    for number in (2, 3, 4):
        view.on_event(of(f"ses_{number}", opened("explore")))
    assert click.unstyle(capsys.readouterr().out).splitlines()[3:] == [
        "explore │ Turn 1 · explore · a/b",
        "explore 2 │ Turn 1 · explore · a/b",
        "explore 2 › explore │ Turn 1 · explore · a/b",
    ]


@pytest.mark.parametrize("name", ["general", "general › " + "x" * 70])
def test_a_long_answer_of_a_subagent_stays_behind_its_name(capsys: Capture, name: str) -> None:
    writer = TerminalWriter(live=True)
    MarginWriter(writer, name).finalize("so it is " * 40 + "x" * 100)
    writer.set_footer()

    rows = [row for row in click.unstyle(capsys.readouterr().out).splitlines() if row]  # and some that were erased
    assert writer.columns is not None
    assert len(rows) > 5 and all(
        row.startswith("general ") and " │ " in row and display_width(row) <= writer.columns for row in rows
    )


def test_the_name_of_an_agent_can_do_nothing_to_the_terminal(capsys: Capture) -> None:
    view = create_session_view(TerminalWriter(live=False), SessionId("ses_1"))
    view.on_event(of("ses_1", started("prt_1", "ses_2", "\x1b[2Jx")))
    view.on_event(of("ses_2", opened("\x1b[2Jx")))
    assert "\x1b[2J" not in capsys.readouterr().out


async def test_unfinished_pieces_are_those_of_the_session_itself(capsys: Capture) -> None:
    writer = TerminalWriter(live=True)
    view = create_session_view(writer, SessionId("ses_1"))
    view.on_event(of("ses_1", started("prt_1", "ses_2", "explore")))
    capsys.readouterr()
    view.on_delta(
        PublishedDelta(id=1, source="msg_1", attempt="1-1-1", body={"kind": "text", "part": "prt_1", "text": "So far"})
    )
    writer.draw()
    assert "So far" in capsys.readouterr().out


def test_a_subagent_started_before_the_first_event_is_not_taken_for_the_session(capsys: Capture) -> None:
    view = create_session_view(TerminalWriter(live=False), SessionId("ses_1"))
    view.on_event(of("ses_2", opened("explore")))
    assert click.unstyle(capsys.readouterr().out) == "ses_2 │ Turn 1 · explore · a/b\n"
