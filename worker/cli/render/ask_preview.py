"""An ask for people: exactly what will happen, from the recorded effect (security.md 4)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from worker.cli.render.call_arguments import format_arguments, format_one_line_call
from worker.cli.render.collapse import (
    COMMAND_LIMIT,
    DIFF_LIMIT,
    CollapsedText,
    collapse,
    diff_line_colour,
    number_diff_lines,
)
from worker.cli.render.console import Row, styled
from worker.cli.render.escaping import escape_exact, escape_prose, find_foreign_letters, one_line
from worker.cli.render.formatting import format_rule, pluralize
from worker.cli.render.wrap import add_bar, wrap_text
from workflows.domain.call_display import DisplayKind
from workflows.domain.permissions import loop_guard, permission_keys
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.questions import Question, QuestionRequest
from workflows.domain.views.inbox import InboxEntry

_RESERVED_ROWS: Final = 13  # rows for the headline, notes, answers and the typed line
_MIN_LINES: Final = 6  # lines of an effect on the lowest terminal
_OTHERS: Final = 5  # sessions that are named of those that wait at a limit
_COUNTED: Final = 1000  # files: counting stops there


@dataclass(frozen=True)
class AskPreview:
    """The lines of an ask; `hidden`: they leave out a part of the effect."""

    lines: tuple[Row, ...]
    hidden: bool = False


def preview_ask(
    entry: InboxEntry, *, whole: bool = False, columns: int | None = None, height: int | None = None
) -> AskPreview:
    """The ask's lines; unless `whole`, shortened to fit a terminal of this `height` with the question."""
    if isinstance(entry.request, QuestionRequest):
        return _preview_questions(entry, entry.request.questions, columns)
    shown = _collapse_effect(entry, whole, height)
    box = add_bar(shown.text, columns, diff_line_colour if find_diff(entry) is not None else None)
    headline = _heading_rows(entry, _headline(entry), columns)
    notes = (row for note in _notes(entry) for row in wrap_text(note, columns, 2))
    return AskPreview(lines=(*headline, *box, *notes), hidden=shown.hidden)


def hides_part(entry: InboxEntry) -> bool:
    """Whether the lines of a list leave out a part of the effect."""
    return not isinstance(entry.request, QuestionRequest) and _collapse_effect(entry, whole=False, height=None).hidden


def _preview_questions(entry: InboxEntry, questions: tuple[Question, ...], columns: int | None) -> AskPreview:
    """All questions: an answer runs nothing, so none is hidden."""
    asked = "a question" if len(questions) == 1 else pluralize(len(questions), "question")
    headline = _heading_rows(entry, f"{one_line(entry.agent)} has {asked} for you", columns)
    rows = (row for question in questions for row in question_rows(question, columns))
    others = (row for note in _others(entry) for row in wrap_text(note, columns, 2))
    return AskPreview(lines=(*headline, *rows, *others))


def _others(entry: InboxEntry) -> Iterator[str]:
    if entry.also_waiting:
        named = [one_line(title, 60) for title in entry.also_waiting[:_OTHERS]]
        more = [f"{len(entry.also_waiting) - _OTHERS} more"] if len(entry.also_waiting) > _OTHERS else []
        yield f"  The answer counts for all that wait at this limit, also for: {', '.join((*named, *more))}."


def _heading_rows(entry: InboxEntry, text: str, columns: int | None) -> Iterator[Row]:
    path = "".join(f"{one_line(name)} › " for name in entry.path) if len(entry.path) > 1 else ""
    yield from (styled(row, "bold") for row in wrap_text(path + text, columns, 2))


def describe_saved_rules(entry: InboxEntry) -> str | None:
    """The rules that "always" would save, if any."""
    return " and ".join(format_rule(each.permission, each.patterns) for each in entry.savable) or None


def strip_diff_header(diff: str) -> str:
    """The diff without its header; empty if no line differs."""
    _, at, lines = diff.partition("\n@@ -")
    return f"{at[1:]}{lines}".rstrip("\n")


def format_diff(metadata: Mapping[str, JsonValue]) -> str:
    """A call's difference without headers, of a patch with a heading for each file; empty if there is none."""
    match metadata:
        case {"files": [*files]}:
            return "\n".join(_format_file(each) for each in files if isinstance(each, dict))
        case {"diff": str(diff)}:
            return strip_diff_header(diff)
    return ""


def _format_file(file: Mapping[str, JsonValue]) -> str:
    moved = f" to {file['movePath']}" if "movePath" in file else ""
    heading = f"{file.get('type')} {file.get('filePath')}{moved}".replace("\n", r"\n")
    return f"{heading}\n{strip_diff_header(str(file.get('patch')))}".rstrip("\n")


def find_diff(entry: InboxEntry) -> str | None:
    return next((diff for request in _requests(entry) if (diff := format_diff(request.metadata))), None)


def _requests(entry: InboxEntry) -> tuple[PermissionRequest, ...]:
    """All requests of the call, which the answer allows together."""
    return (*_asked(entry), *(entry.plan.requests if entry.plan else ()))


def _asked(entry: InboxEntry) -> tuple[PermissionRequest, ...]:
    """Those that a person is asked about."""
    return entry.request.requests if isinstance(entry.request, PermissionAsk) else ()


def _headline(entry: InboxEntry) -> str:
    raw = _effect_text(entry)
    lines = raw.split("\n")
    if find_diff(entry) is not None and entry.plan and entry.plan.targets:
        names = ", ".join(escape_exact(target.path) for target in entry.plan.targets)
        added, removed = (sum(each.startswith(sign) for each in lines) for sign in "+-")
        return f"{entry.tool} wants to change {names} (+{added} −{removed})"
    directory = entry.plan.effect.directory if entry.plan else entry.directory
    is_short = format_one_line_call(entry.tool, entry.arguments, entry.display) is not None
    size = "" if is_short else f" ({pluralize(len(lines), 'line')}, {pluralize(len(raw), 'character')})"
    return f"{entry.tool} wants to {entry.display.verb} in {escape_exact(directory)}{size}"


def _effect_text(entry: InboxEntry) -> str:
    if (diff := find_diff(entry)) is not None:
        return diff
    command = entry.arguments.get(entry.display.subject or "")
    if isinstance(command, str) and _is_command(entry):
        return command
    return format_arguments(entry.tool, entry.arguments, entry.display)


def _is_command(entry: InboxEntry) -> bool:
    return entry.display.kind is DisplayKind.EXECUTE


def _collapse_effect(entry: InboxEntry, whole: bool, height: int | None) -> CollapsedText:
    is_diff = find_diff(entry) is not None
    text = escape_exact(_effect_text(entry), lines=True, tabs=is_diff)
    text = number_diff_lines(text) if is_diff else text
    if whole:
        return CollapsedText(text=text)
    limit = DIFF_LIMIT if is_diff else COMMAND_LIMIT
    most = limit.lines if height is None else min(limit.lines, max(height - _RESERVED_ROWS, _MIN_LINES))
    return collapse(text, limit.model_copy(update={"lines": most}))


def _describe_changed_files(entry: InboxEntry) -> Iterator[str]:
    changes = [each for each in entry.plan.requests if each.permission == permission_keys.EDIT] if entry.plan else []
    if _is_command(entry) and changes:
        counts = [count for each in changes if isinstance(count := each.metadata.get("files"), int)]
        number = f" ({pluralize(sum(counts), 'file')}{' or more' if sum(counts) >= _COUNTED else ''})" if counts else ""
        patterns = ", ".join(pattern for each in changes for pattern in each.patterns)
        yield f"  It changes {escape_exact(patterns)}{number}"


def _notes(entry: InboxEntry) -> Iterator[str]:
    usual = (entry.tool, permission_keys.EDIT, loop_guard.PERMISSION)
    for request in (each for each in _asked(entry) if each.permission not in usual):
        yield f"  It needs {format_rule(request.permission, request.patterns)}"
    if entry.plan and entry.plan.effect.server:
        yield f"  It is a tool of the server {one_line(entry.plan.effect.server, 300)}"
    yield from _describe_changed_files(entry)
    if entry.builds_on:
        yield f"  It comes after what {', '.join(entry.builds_on)} would change, and shows the file as that leaves it."
    for reason in entry.reasons:
        yield f"  Asked because {one_line(reason, 300)}."
    for why in dict.fromkeys(each.opaque for each in _requests(entry) if each.opaque is not None):
        yield f"  Careful: {one_line(why, 300)}"
    cautions = (each.metadata.get("caution") for each in _requests(entry))
    for caution in dict.fromkeys(each for each in cautions if isinstance(each, str)):
        yield f"  Careful: {one_line(caution)}"
    commands = [each for each in _requests(entry) if each.permission == permission_keys.BASH]
    programs = dict.fromkeys(pattern.split(" ", 1)[0] for each in commands for pattern in each.patterns)
    for note in find_foreign_letters(list(programs), _effect_text(entry)):
        yield f"  Careful: {note}"
    if _is_command(entry) and isinstance(description := entry.arguments.get("description"), str):
        yield f"  Agent's description: {one_line(description)}"


def question_rows(question: Question, columns: int | None) -> Iterator[Row]:
    header = f"[{question.header}] " if question.header else ""
    yield from add_bar(escape_prose(header + question.question), columns, lambda _: "cyan")
    for number, option in enumerate(question.options, 1):
        description = f": {option.description}" if option.description else ""
        yield from add_bar(escape_prose(f"{number}  {option.label}{description}"), columns)
    if hint := answer_hint(question):
        yield styled(f"  {hint}", "dim")


def answer_hint(question: Question) -> str:
    """What may be answered beyond one option."""
    if not question.options:
        return ""
    if question.number:
        return "or how much more: +5"
    if question.model:
        return "or a model: provider/model"
    several = "several may be chosen" if question.multiple else ""
    return " · ".join(each for each in (several, "or in your own words" if question.custom else "") if each)
