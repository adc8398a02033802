"""`holdfast asks` and `answer`: open questions."""

import json
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

import click

from worker.api.inbox import InboxEntry, SuspendedSession
from worker.cli import answer_words, completers, id_lookup
from worker.cli.ask_dialog import answer_command
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, open_client, open_inbox, person_command
from worker.cli.exit_codes import ExitCode
from worker.cli.render import suspension_text
from worker.cli.render.ask_preview import describe_saved_rule, preview_ask
from worker.cli.render.console import Row, joined, styled, terminal_columns
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.formatting import format_age, format_rule, pluralize
from worker.cli.render.wrap import wrap_for_stdout, wrap_text
from worker.inbox_reader import InboxReader
from worker.settings import Settings
from workflows.domain.errors import NothingYet, UsageError
from workflows.domain.ids import SessionId
from workflows.domain.permissions.replies import AskState, Reply
from workflows.domain.questions import AskKind
from workflows.domain.suspension import SuspendReason

if TYPE_CHECKING:
    from worker.api.accepted import AcceptedAnswer

_SHOWN = 30  # asks
_SHORT = 12  # digits of a digest


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
                within = await _resolve_session(settings, session) if session else None
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
    ask, answers = answer_words.split_words(words)
    if not answers and not options:
        raise UsageError("An answer is missing: once, always, project or reject, or what a question is answered with.")
    if message is not None and tuple(map(str.lower, answers)) not in answer_words.REJECTIONS:
        raise UsageError("-m says why something is rejected; send a prompt with `holdfast send` to say more.")
    async with open_client(settings) as client:
        inbox = client.inbox
        entry = await (id_lookup.find_ask(inbox, ask) if ask is not None else id_lookup.find_only_ask(inbox))
        decision = answer_words.read_decision(entry, answers, options, message, digest)
        settled = await client.answer(entry.id, decision)
    value = json.dumps(settled.model_dump(mode="json"))  # a message may hold bytes that are no UTF-8
    return CommandOutput(value, lambda: _settled_rows(entry, settled))


async def _resolve_session(settings: Settings, typed: str) -> SessionId:
    async with open_client(settings) as client:
        return (await client.sessions.get(await id_lookup.find_session(client, typed))).id


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
    if rule := describe_saved_rule(entry):
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
    scope = f" in this {settled.grant.scope}" if settled.grant is not None else ""
    reply = f"answered {one_line(answers)}" if answers else f"{settled.ask.reply}{scope}"
    yield f"{entry.tool}: {reply}{again}, recorded as {escape_exact(settled.ask.author or '')}."
    if settled.grant is not None:
        rule = format_rule(settled.grant.permission, settled.grant.patterns)
        yield f"Granted for the {settled.grant.scope}: {rule} ({settled.grant.id})"
    if len(settled.asks) > 1:
        what = "closed: the turn ends" if settled.ask.reply is Reply.REJECT else "settled with it"
        yield f"{pluralize(len(settled.asks) - 1, 'other ask')} {what}."
