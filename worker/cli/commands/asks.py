"""`holdfast asks` and `answer`: open questions."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Final

import click

from worker.cli import completers, id_lookup
from worker.cli.ask_dialog import ALLOWING_ANSWERS, ANSWERS, DISMISSALS, answer_command, option_label, parse_line
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, open_client, open_inbox, person_command
from worker.cli.exit_codes import ExitCode
from worker.cli.id_lookup import NAME
from worker.cli.render import suspension_text
from worker.cli.render.ask_preview import describe_saved_rules, hides_part, preview_ask
from worker.cli.render.console import Row, joined, styled, terminal_columns
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.formatting import format_age, format_rule, pluralize
from worker.cli.render.wrap import wrap_for_stdout, wrap_text
from worker.inbox_reader import InboxReader
from worker.settings import Settings
from workflows.domain.errors import NothingYet, UsageError
from workflows.domain.ids import Prefix, SessionId
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import AskDecision, AskState, Reply
from workflows.domain.questions import Answers, AskKind, Question, QuestionRequest, answers_problem
from workflows.domain.suspension import SuspendReason
from workflows.domain.views.inbox import InboxEntry, SuspendedSession

if TYPE_CHECKING:
    from workflows.domain.views.accepted import AcceptedAnswer

_SHOWN = 30  # asks
_SHORT = 12  # digits of a digest
REJECTIONS: Final = frozenset((word,) for word in DISMISSALS)  # the words that a message may go with
_NUMBER: Final = re.compile(r"\d{1,9}")
_ASK: Final = re.compile(rf"{Prefix.ASK}_.*|[0-9a-f]{{12}}[0-9A-Za-z]{{14}}|{NAME.pattern}")


@click.command()
@click.argument("asks", nargs=-1, metavar="[ASK]...", shell_complete=completers.ask)
@click.option(
    "-s", "--session", metavar="SESSION", shell_complete=completers.session, help="Only those of this session."
)
@click.option("-n", "--limit", type=click.IntRange(1), help="How many, the oldest first.  [default: 30; all as JSON]")
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
@async_command
async def asks(
    settings: Settings, asks: tuple[str, ...], session: str | None, limit: int | None, as_json: bool
) -> ExitCode:
    """List what waits for an answer, with its exact effect.

    Each has a short name, such as a1, which no other ask gets. With an ASK, all of that one is shown, however long it
    is. Suspended sessions that ask whether they may continue are listed after the asks.

    \b
    Examples:
      holdfast asks
      holdfast asks a1
    """
    entries: list[InboxEntry] = []
    suspended: list[SuspendedSession] = []
    more = 0
    with nullcontext() if asks or session else suppress(NothingYet):
        async with open_inbox(settings) as inbox:
            if asks:
                entries = [await id_lookup.find_ask(inbox, typed) for typed in asks]
            else:
                within = None
                if session:
                    async with open_client(settings) as client:
                        within = (await client.sessions.get(await id_lookup.find_session(client, session))).id
                entries, more = await _oldest(inbox, within, limit or (None if as_json else _SHOWN))
                suspended = await inbox.suspended(within)
    asking = [each for each in suspended if each.reason is not SuspendReason.KEPT]
    rows = chain(*(_ask_rows(each, whole=bool(asks)) for each in entries), *map(_suspended_rows, asking))
    remarks = [f"And {more:,} more: holdfast asks -n {len(entries) + more}"] if more else []
    empty = "" if asking else "Nothing waits for an answer."
    return CommandOutput(entries, lambda: rows, empty=empty, remarks=remarks).print(as_json=as_json)


@click.command()
@click.argument(
    "words", nargs=-1, metavar="[ASK] [once|always|project|reject|ANSWER...]", shell_complete=completers.ask
)
@click.option(
    "-o", "--option", "options", multiple=True, metavar="N", help="Choose an option of a question by its number."
)
@click.option("-m", "--message", help="With reject: what the agent should do instead.")
@click.option("--digest", help="Answer only if the effect is still this one: its digest, or the beginning of it.")
@person_command
@with_json("Print what was settled as JSON.")
async def answer(
    settings: Settings,
    words: tuple[str, ...],
    options: tuple[str, ...],
    message: str | None,
    digest: str | None,
) -> CommandOutput:
    """Answer an ask; the only one that is open needs no ASK.

    ASK is its id or its short name, such as a1. once allows this very effect, always allows what `holdfast asks`
    names in this session too, project in every session of the directory for 30 days, reject refuses. A reject
    without a message ends the turn. The first answer counts: a later one that differs ends with code 6. What is so
    long that lists hide a part of it is allowed with --digest only, which `holdfast asks ASK` shows below the
    whole.

    A question is answered with the number of an option, or with the words of an option or your own; of several
    questions, each has an answer, in their order (`-o 2:1` is the first option of the second). reject dismisses it.

    \b
    Examples:
      holdfast answer once
      holdfast answer a1 once
      holdfast answer a1 project
      holdfast answer a1 reject -m "use uv instead"
      holdfast answer a2 2
      holdfast answer a2 "the second one, but with tests"
    """
    ask, answers = split_words(words)
    if not answers and not options:
        raise UsageError("An answer is missing: once, always, project or reject, or what a question is answered with.")
    if message is not None and tuple(map(str.lower, answers)) not in REJECTIONS:
        raise UsageError("-m says why something is rejected; send a prompt with `holdfast send` to say more.")
    async with open_client(settings) as client:
        inbox = client.inbox
        entry = await (id_lookup.find_ask(inbox, ask) if ask is not None else id_lookup.find_only_ask(inbox))
        decision = read_decision(entry, answers, options, message, digest)
        settled = await client.answer(entry.id, decision)
    value = json.dumps(settled.model_dump(mode="json"))  # a message may hold bytes that are no UTF-8
    return CommandOutput(value, lambda: _settled_rows(entry, settled))


async def _oldest(inbox: InboxReader, session: SessionId | None, limit: int | None) -> tuple[list[InboxEntry], int]:
    entries = await inbox.asks(session=session, limit=limit)
    if limit is None or len(entries) < limit:
        return entries, 0
    waiting = await (inbox.asks(session=session) if session else inbox.ask_ids())
    return entries, len(waiting) - len(entries)


def _ask_rows(entry: InboxEntry, *, whole: bool) -> Iterator[Row]:
    since = format_age(entry.asked_at, datetime.now(UTC))
    state = f"waits for {since}" if entry.state is AskState.OPEN else str(entry.state)
    yield from _heading(f"{entry.name}  {state}  {one_line(entry.title, 60)}  ({entry.session})")
    shown = preview_ask(entry, whole=whole, columns=terminal_columns())
    yield from shown.lines
    if shown.hidden:
        hint = f"  Some of it is hidden. All of it, and the digest to allow it by: `holdfast asks {entry.name}`"
        yield wrap_for_stdout(hint, 2)
    if rule := describe_saved_rules(entry):
        yield from wrap_text(f"  always would allow {rule}", terminal_columns(), 2)
    if entry.state is AskState.OPEN and not shown.hidden:
        yield f"  {answer_command(entry)}"
    digest = "" if shown.hidden or entry.kind is AskKind.QUESTION else f", digest {entry.digest[:_SHORT]}"
    yield f"  {entry.id}{digest}"
    yield ""


def _heading(text: str) -> Iterator[Row]:
    """Its name in bold."""
    first, *others = wrap_text(text, terminal_columns(), 2)
    name, blank, rest = first.partition(" ")
    yield joined(styled(name, "bold"), blank, rest)
    yield from others


def _suspended_rows(waiting: SuspendedSession) -> Iterator[Row]:
    yield from _heading(f"{waiting.session}  suspended  {one_line(waiting.title, 60)}")
    yield wrap_for_stdout(f"  {suspension_text.describe_suspension(waiting.reason, waiting.was, waiting.now)}")
    yield from suspension_text.list_actions(waiting.session)
    yield ""


def _settled_rows(entry: InboxEntry, settled: "AcceptedAnswer") -> Iterator[str]:
    again = " (as it was before)" if settled.repeated else ""
    answers = "; ".join(", ".join(each) or "–" for each in settled.ask.answers or ())
    scope = f" in this {settled.grants[0].scope}" if settled.grants else ""
    reply = f"answered {one_line(answers)}" if answers else f"{settled.ask.reply}{scope}"
    yield f"{entry.tool}: {reply}{again}, recorded as {escape_exact(settled.ask.author or '')}."
    for grant in settled.grants:
        yield f"Granted for the {grant.scope}: {format_rule(grant.permission, grant.patterns)} ({grant.id})"
    if len(settled.asks) > 1:
        what = "closed: the turn ends" if settled.ask.reply is Reply.REJECT else "settled with it"
        yield f"{pluralize(len(settled.asks) - 1, 'other ask')} {what}."


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
