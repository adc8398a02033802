"""What a command has found: rows for people, or JSON with --json."""

import functools
import json
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple, ParamSpec, TypeAlias, TypeVar

import click
from pydantic import BaseModel

from worker.cli.command_support import print_note
from worker.cli.exit_codes import ExitCode
from worker.cli.render.console import Row, print_rows

P = ParamSpec("P")
T = TypeVar("T")
Work: TypeAlias = Callable[P, Coroutine[Any, Any, T]]


class CommandOutput(NamedTuple):
    """`value` for --json: a model is one line, text is JSON already, all else is indented. `rows` makes what people
    read. Notes: `empty` in place of a value that is, `remarks` to people alone, `notes` to scripts, too."""

    value: object
    rows: Callable[[], str | Iterable[Row]]
    empty: str = ""
    remarks: Iterable[str] = ()
    notes: Iterable[str] = ()
    code: ExitCode = ExitCode.DONE

    def print(self, *, as_json: bool) -> ExitCode:
        if as_json:
            click.echo(_encode(self.value))
        elif isinstance(rows := self.rows(), str):
            click.echo(rows)
        else:
            print_rows(rows)
        none = [self.empty] if self.empty and not self.value else []
        for note in (*(() if as_json else (*none, *self.remarks)), *self.notes):
            print_note(note)
        return self.code


def with_json(help: str = "As JSON.") -> Callable[[Work[P, CommandOutput]], Work[P, ExitCode]]:
    """Give a command --json, and print the output that it returns."""

    def decorate(work: Work[P, CommandOutput]) -> Work[P, ExitCode]:
        @click.option("--json", "as_json", is_flag=True, help=help)
        @functools.wraps(work)
        async def run(*args: P.args, **options: P.kwargs) -> ExitCode:
            as_json = bool(options.pop("as_json"))
            return (await work(*args, **options)).print(as_json=as_json)

        return run

    return decorate


def _encode(value: object) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, default=lambda each: each.model_dump(mode="json"))
