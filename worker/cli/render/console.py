"""Where rows are printed: rich's console on a terminal, plain text elsewhere."""

import json
import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import click
from click.globals import resolve_color_default

from worker.cli.render.escaping import escape_prose

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console, RenderableType
    from rich.style import Style
    from rich.text import Text
    from rich.theme import Theme

Row: TypeAlias = "str | Text"


def terminal_columns(*, err: bool = False) -> int | None:
    """The columns of standard output or error; None if it is no terminal: no wrapping."""
    return shutil.get_terminal_size().columns if (sys.stderr if err else sys.stdout).isatty() else None


def print_rows(rows: Iterable[Row], *, err: bool = False) -> None:
    """Print rows that fit; on a pipe as they are, and without styles."""
    text = "".join(f"{row}\n" for row in rows) if terminal_columns(err=err) is None else with_styles(rows)
    click.echo(text, err=err, nl=False, color=True)


def print_json_list(values: Iterable["BaseModel"]) -> None:
    click.echo(json.dumps([each.model_dump(mode="json") for each in values], indent=2))


def with_styles(rows: Iterable[Row]) -> str:
    """Rows as a terminal gets them, with styles."""
    console = open_console()
    with console.capture() as captured:
        for row in rows:
            console.print(row, soft_wrap=True)
    return captured.get()


def render_rows(shown: "RenderableType", columns: int, theme: "Theme | None" = None) -> list["Text"]:
    """What rich draws in `columns`, without blanks at the ends."""
    console = open_console(theme)
    lines = console.render_lines(shown, console.options.update_width(columns), pad=False)
    rows = [joined(*(styled(escape_prose(each.text), each.style or "") for each in line)) for line in lines]
    for row in rows:
        row.rstrip()
    return rows


def open_console(theme: "Theme | None" = None) -> "Console":
    """A terminal's console. It interprets nothing in a text, and has no styles if colours are not wanted."""
    from rich.console import Console  # start-up time

    return Console(
        theme=theme,
        force_terminal=True,
        force_interactive=True,
        force_jupyter=False,
        color_system=None if resolve_color_default() is False else "auto",
        markup=False,
        emoji=False,
        highlight=False,
    )


def styled(text: str, style: "str | Style") -> "Text":
    """A text in a style of rich, such as "bold red"; nothing in it is read as markup."""
    from rich.text import Text  # start-up time

    return Text.styled(text, style)


def joined(*parts: Row) -> "Text":
    text = styled("", "")
    for part in parts:
        text.append(part)
    return text
