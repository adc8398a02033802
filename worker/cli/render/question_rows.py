"""A question for people: its options, numbered."""

from collections.abc import Iterator

from worker.cli.render.console import Row, styled
from worker.cli.render.escaping import escape_prose
from worker.cli.render.wrap import add_bar
from workflows.domain.questions import Question


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
