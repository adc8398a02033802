"""Skills as a table and JSON."""

from collections.abc import Sequence
from typing import Any, Final

from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.short_files import short_file
from worker.cli.render.styles import Row, styled
from worker.cli.render.text_table import format_table
from workflows.domain.permissions.rules import Action
from workflows.domain.skills import Skill

_LONGEST: Final = 200  # characters of a description
_HEADINGS: Final = ("skill", "rule", "what for (and where from)")
_UNLISTED: Final = "no description: models are not told of it"


def render_skills(listed: Sequence[tuple[Skill, Action]], max_columns: int | None) -> list[Row]:
    """The list of skills: in a pipe without a heading, and with the file as a column."""
    if max_columns is None:
        return format_table([(*_cells(*each), short_file(each[0].file), _purpose(each[0])) for each in listed])
    rows = [(*_cells(*each), f"{_purpose(each[0])} ({short_file(each[0].file)})") for each in listed]
    heading, *others = format_table([_HEADINGS, *rows], max_columns)
    return [styled(str(heading), "dim"), *others]


def to_json(skill: Skill, action: Action) -> dict[str, Any]:
    return {"name": skill.name, "description": skill.description, "location": skill.file, "action": action.value}


def _cells(skill: Skill, action: Action) -> tuple[str, str]:
    return escape_exact(skill.name), action.value


def _purpose(skill: Skill) -> str:
    return one_line(skill.description or _UNLISTED, _LONGEST)
