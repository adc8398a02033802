"""What the words of `holdfast answer` decide."""

import re
from collections.abc import Sequence
from typing import Final

import click

from worker.api.inbox import InboxEntry
from worker.cli.ask_dialog import ALLOWING_ANSWERS, ANSWERS
from worker.cli.id_lookup import NAME
from worker.cli.question_dialog import DISMISSALS, option_label, parse_line
from worker.cli.render.ask_preview import hides_part
from worker.cli.render.formatting import pluralize
from workflows.domain.errors import UsageError
from workflows.domain.ids import Prefix
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import AskDecision, AskState, Reply
from workflows.domain.questions import Answers, Question, QuestionRequest, answers_problem

REJECTIONS: Final = frozenset((word,) for word in DISMISSALS)  # the words that a message may go with
_NUMBER: Final = re.compile(r"\d{1,9}")
_ASK: Final = re.compile(rf"{Prefix.ASK}_.*|[0-9a-f]{{12}}[0-9A-Za-z]{{14}}|{NAME.pattern}")


def split_words(words: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """The ask, if its id or short name comes first, and its answers: a bare number is one."""
    if words and _ASK.fullmatch(words[0]):
        return words[0], words[1:]
    return None, words


def read_decision(
    entry: InboxEntry, words: tuple[str, ...], options: Sequence[str], message: str | None, digest: str | None
) -> AskDecision:
    """Raises UsageError."""
    seen = entry.digest if digest is None or entry.digest.startswith(digest) else digest
    questions = entry.request.questions if isinstance(entry.request, QuestionRequest) else ()
    reply, scope, answers = Reply.REJECT, GrantScope.SESSION, None
    if questions and (options or len(words) != 1 or words[0].lower() not in DISMISSALS):
        reply, answers = Reply.ANSWER, read_answers(questions, words, options)
    elif not questions:
        reply, scope = _read_reply(words, options)
        if reply is not Reply.REJECT and digest is None:
            _require_fully_shown(entry)
    return AskDecision(reply=reply, digest=seen, feedback=message, scope=scope, answers=answers)


def read_answers(questions: tuple[Question, ...], words: Sequence[str], options: Sequence[str]) -> Answers:
    """Options by their numbers; words answer the other questions, in order, as typed lines do. Raises UsageError."""
    chosen: dict[int, list[str]] = {}
    for option in options:
        at, number = _read_option(option, len(questions))
        chosen.setdefault(at, []).append(option_label(questions[at], number))
    left = [at for at in range(len(questions)) if at not in chosen]
    if len(words) != len(left):
        asked = pluralize(len(questions), "question")
        given = pluralize(len(words) + len(chosen), "answer")
        raise UsageError(f"The ask has {asked}, and was given {given}: quote each answer.")
    for at, word in zip(left, words, strict=True):
        chosen[at] = list(parse_line(questions[at], word))
    answers = tuple(tuple(chosen[at]) for at in range(len(questions)))
    if (problem := answers_problem(questions, answers)) is not None:
        raise UsageError(problem)
    return answers


def _read_option(typed: str, questions: int) -> tuple[int, int]:
    """`N`, or `QUESTION:N` of several questions."""
    question, _, number = typed.rpartition(":")
    if not _NUMBER.fullmatch(number) or not (_NUMBER.fullmatch(question) if questions > 1 else question in ("", "1")):
        form = "QUESTION:N, as in 2:1" if questions > 1 else "the number of an option"
        raise UsageError(f"--option {typed} is not understood: {form} is meant.")
    at = int(question or 1)
    if not 1 <= at <= questions:
        raise UsageError(f"--option {typed}: there is no question {at}, but {pluralize(questions, 'question')}.")
    return at - 1, int(number)


def _read_reply(words: tuple[str, ...], options: Sequence[str]) -> tuple[Reply, GrantScope]:
    if options:
        raise UsageError("--option chooses an answer to a question; this ask wants once, always, project or reject.")
    if len(words) != 1:
        given = f"{words[1]!r} is one word too many" if words else "An answer is missing"
        raise UsageError(
            f"{given}: an ask is answered by once, always, project or reject, with -m for the reason. To answer one of "
            "several, name it first, as in `holdfast answer a1 once`."
        )
    word: str = click.Choice(ANSWERS).convert(words[0], None, click.get_current_context())
    return ALLOWING_ANSWERS.get(word, (Reply.REJECT, GrantScope.SESSION))


def _require_fully_shown(entry: InboxEntry) -> None:
    """Refuse an effect that lists hide in part."""
    if entry.state is AskState.OPEN and hides_part(entry):
        raise UsageError(
            f"A part of what this would do is hidden in lists. `holdfast asks {entry.name}` shows all of it, and below "
            "it the digest: name that with --digest to allow it."
        )
