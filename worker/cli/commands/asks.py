"""`holdfast asks` and `answer`: what waits for a person."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from worker.cli import complete, door, find
from worker.cli.answer_words import ALLOWING, ANSWERS
from worker.cli.look import parking
from worker.cli.look.effect import listed, picture, saved
from worker.cli.look.page import columns, fitted
from worker.cli.look.text import age, counted, exact, line
from worker.cli.look.wrap import folded
from worker.inbox import Inbox, InboxEntry, Parked
from worker.settings import Settings
from workflows.domain.errors import UsageError
from workflows.domain.ids import SessionId
from workflows.domain.parking import ParkReason
from workflows.domain.permissions.grants import Scope
from workflows.domain.permissions.replies import AskState, Reply

if TYPE_CHECKING:
    from worker.client import Settled

_SHOWN = 30  # asks that a person is shown
_SHORT = 12  # digits of a digest that people are shown


@click.command()
@click.argument("asks", nargs=-1, metavar="[ASK]...", shell_complete=complete.ask)
@click.option("-s", "--session", metavar="SESSION", shell_complete=complete.session, help="Only those of this session.")
@click.option("-n", "--limit", type=click.IntRange(1), help="How many, the oldest first.  [default: 30; all as JSON]")
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
@door.command
async def asks(
    settings: Settings, asks: tuple[str, ...], session: str | None, limit: int | None, as_json: bool
) -> None:
    """List what waits for an answer, with the exact effect.

    With an ASK, all of that one is shown, however long it is. Parked sessions that want to know whether they may go on
    are listed behind the asks.

    \b
    Examples:
      holdfast asks
      holdfast asks per_…
    """
    parked: list[Parked] = []
    more = 0
    async with door.inbox(settings) as inbox:
        if asks:
            entries = [await find.ask(inbox, typed) for typed in asks]
        else:
            within = await _named(settings, session) if session else None
            entries, more = await _oldest(inbox, within, limit or (None if as_json else _SHOWN))
            parked = await inbox.parked(within)
    if as_json:
        click.echo(json.dumps([listed(entry) for entry in entries], indent=2))
        return
    for entry in entries:
        _show(entry, whole=bool(asks))
    if more:
        door.say(f"And {more:,} more: holdfast asks -n {len(entries) + more}")
    asking = [each for each in parked if each.reason is not ParkReason.KEPT]
    for each in asking:
        _show_parked(each)
    if not entries and not asking:
        door.say("Nothing waits for an answer.")


@click.command()
@click.argument(
    "words", nargs=-1, required=True, metavar="[ASK] [once|always|project|reject]", shell_complete=complete.ask
)
@click.option("-m", "--message", help="With reject: what the agent should do instead.")
@click.option("--digest", help="Answer only if the effect is still this one: its digest, or the beginning of it.")
@click.option("--json", "as_json", is_flag=True, help="What was settled, as JSON.")
@door.command
async def answer(
    settings: Settings,
    words: tuple[str, ...],
    message: str | None,
    digest: str | None,
    as_json: bool,
) -> None:
    """Answer an ask; the only one that is open needs no ASK.

    once allows this very effect, always allows what `holdfast asks` names in this session too, project in every session
    of the directory for 30 days, reject refuses. A reject without a message ends the turn. The first answer counts: a
    later one that differs ends with code 6. What is so long that lists hide a part of it is allowed with --digest only,
    which `holdfast asks ASK` shows below the whole.

    \b
    Examples:
      holdfast answer once
      holdfast answer per_… once
      holdfast answer per_… project
      holdfast answer per_… reject -m "use uv instead"
    """
    from worker.client import Decided  # what answering takes, listing need not load

    ask, chosen = _parted(words)
    if message is not None and chosen != "reject":
        raise UsageError("-m says why something is rejected; send a prompt with `holdfast send` to say more.")
    async with door.client(settings) as client:
        entry = await (find.ask(client, ask) if ask is not None else find.only_ask(client))
        if chosen in ALLOWING and digest is None:
            _check_seen(entry)
        seen = entry.digest if digest is None or entry.digest.startswith(digest) else digest
        reply, scope = ALLOWING.get(chosen, (Reply.REJECT, Scope.SESSION))
        settled = await client.answer(entry.id, Decided(reply=reply, digest=seen, feedback=message, scope=scope))
    if as_json:
        click.echo(settled.model_dump_json())
    else:
        _tell(entry, settled)


async def _named(settings: Settings, typed: str) -> SessionId:
    async with door.client(settings) as client:
        return (await client.session(await find.session(client, typed))).id


def _parted(words: tuple[str, ...]) -> tuple[str | None, str]:
    """The ask, if one is named, and the answer."""
    *named, answer = words
    if len(named) > 1:
        raise UsageError(f"{answer!r} is one word too many: an ask and an answer are given, with -m for the reason.")
    chosen: str = click.Choice(ANSWERS).convert(answer, None, click.get_current_context())
    return next(iter(named), None), chosen


def _check_seen(entry: InboxEntry) -> None:
    """Nothing is allowed of which a part is hidden wherever it is listed; its digest stands below the whole of it."""
    if entry.state is AskState.OPEN and picture(entry).hidden:
        raise UsageError(
            f"A part of what this would do is hidden in lists. `holdfast asks {entry.id}` shows all of it, and below "
            "it the digest: name that with --digest to allow it."
        )


async def _oldest(inbox: Inbox, session: SessionId | None, limit: int | None) -> tuple[list[InboxEntry], int]:
    """The asks that wait longest, and how many more wait."""
    entries = await inbox.asks(session=session, limit=limit)
    if limit is None or len(entries) < limit:
        return entries, 0
    waiting = await (inbox.asks(session=session) if session else inbox.ask_ids())
    return entries, len(waiting) - len(entries)


def _show(entry: InboxEntry, *, whole: bool) -> None:
    since = age(entry.asked_at, datetime.now(UTC))
    state = f"waits for {since}" if entry.state is AskState.OPEN else str(entry.state)
    click.echo(fitted(f"{click.style(entry.id, bold=True)}  {state}  {line(entry.title, 60)}  ({entry.session})", 2))
    shown = picture(entry, whole=whole, columns=columns())
    for each in shown.lines:
        click.echo(each)
    if shown.hidden:
        told = f"  Some of it is hidden. All of it, and the digest to allow it by: `holdfast asks {entry.id}`"
        click.echo(fitted(told, 2))
    if rule := saved(entry):
        click.echo("\n".join(folded(f"  always would allow {rule}", columns(), 2)))
    click.echo("" if shown.hidden else f"  digest {entry.digest[:_SHORT]}\n")


def _show_parked(parked: Parked) -> None:
    click.echo(f"{click.style(parked.session, bold=True)}  parked  {line(parked.title, 60)}")
    click.echo(fitted(f"  {parking.why(parked.reason, parked.was, parked.now)}"))
    for each in parking.ways(parked.session):
        click.echo(each)
    click.echo()


def _tell(entry: InboxEntry, settled: "Settled") -> None:
    again = " (as it was before)" if settled.repeated else ""
    click.echo(f"{entry.tool}: {settled.ask.reply}{again}, recorded as {exact(settled.ask.author or '')}.")
    if settled.grant is not None:
        rule = f"{exact(settled.grant.permission)}: {exact(', '.join(settled.grant.patterns))}"
        click.echo(f"Granted for the {settled.grant.scope}: {rule} ({settled.grant.id})")
    if len(settled.asks) > 1:
        click.echo(f"{counted(len(settled.asks) - 1, 'other ask')} settled with it.")
