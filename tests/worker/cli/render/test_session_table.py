"""Sessions as a table, on terminals of all widths and in a pipe."""

from datetime import UTC, datetime, timedelta

import pytest

from worker.cli.commands.sessions import render_session_table
from worker.cli.render.wrap import display_width
from workflows.domain.ids import SessionId
from workflows.domain.views.sessions import Overview

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
IDS = [SessionId(f"ses_{number:026d}") for number in range(3)]
LONG = "make all of the tests of the parser pass, and then those of the printer"


def session(number: int, title: str, depth: int = 0, directory: str = "/home/ada/work/parser") -> Overview:
    absent = dict.fromkeys(("parent", "host", "model", "stuck", "turn", "number", "step", "turn_state", "error"))
    return Overview(
        **absent,
        id=IDS[number],
        depth=depth,
        host_offline=False,
        directory=directory,
        title=title,
        default_title=None,
        agent="build",
        status="active",
        seq=1,
        created_at=NOW,
        updated_at=NOW - timedelta(minutes=3),
        reason="done",
        asks=0,
        waiting=0,
        untaken=0,
        pause=None,
        suspension=None,
    )


def shown(*found: Overview, max_columns: int | None, same_directory: bool = False) -> list[str]:
    return [str(row) for row in render_session_table(found, NOW, max_columns, same_directory=same_directory)]


def test_on_a_terminal_a_header_stands_above_and_titles_come_first() -> None:
    assert shown(session(0, "mend it"), session(1, "look", depth=1), max_columns=120) == [
        "TITLE    STATE  CHANGED  SESSION                         DIRECTORY",
        f"mend it  done   3 min    {IDS[0]}  /home/ada/work/parser",
        f"└ look   done   3 min    {IDS[1]}",
    ]


def test_those_of_one_directory_do_not_name_it() -> None:
    assert shown(session(0, "mend it"), max_columns=80, same_directory=True) == [
        "TITLE    STATE  CHANGED  SESSION",
        f"mend it  done   3 min    {IDS[0]}",
    ]


def test_in_a_pipe_there_is_no_header_and_nothing_is_cut() -> None:
    assert shown(session(0, LONG[:58]), session(1, "look", depth=1), max_columns=None) == [
        f"{IDS[0]}  done  3 min  {LONG[:58]}  /home/ada/work/parser",
        f"{IDS[1]}  done  3 min  └ look",
    ]


@pytest.mark.parametrize("max_columns", [20, 40, 60, 70, 80, 100, 200])
@pytest.mark.parametrize("same_directory", [False, True])
def test_every_row_keeps_to_the_columns_and_names_the_session_whole(max_columns: int, same_directory: bool) -> None:
    rows = shown(
        session(0, LONG), session(1, "読む" * 20, depth=1), max_columns=max_columns, same_directory=same_directory
    )

    assert max(map(display_width, rows)) <= max_columns
    assert max_columns < 40 or all(any(id_ in row for row in rows) for id_ in IDS[:2])


def test_on_a_narrow_terminal_titles_are_cut_at_their_end_and_directories_at_their_beginning() -> None:
    assert shown(session(0, LONG), session(1, "mend it"), max_columns=80)[1:] == [
        f"make all of the t…  done   3 min    {IDS[0]}  …work/parser",
        f"mend it             done   3 min    {IDS[1]}  …work/parser",
    ]
