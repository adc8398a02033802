"""`holdfast watch`: show a session as it happens."""

from contextlib import nullcontext

import click

from worker.cli import completers, exit_codes, id_lookup, other_sessions
from worker.cli.command_support import alert_terminal, async_command, open_reader, print_note, thinking_option
from worker.cli.exit_codes import ExitCode
from worker.cli.follow_loop import FollowLoop
from worker.cli.render.event_renderer import Renderer
from worker.cli.render.session_status import describe_budget
from worker.cli.render.subagent_view import create_json_view
from worker.cli.render.terminal import Terminal
from worker.cli.session_follower import SessionFollower
from worker.settings import Settings
from workflows.domain.events.compactions import CompactionWithdrawn
from workflows.domain.events.prompts import PromptWithdrawn
from workflows.domain.events.sessions import SessionEnded
from workflows.domain.events.turns import RetryWithdrawn, TurnEnded, TurnOpened
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.sessions import Overview

_RESTING = (TurnEnded, SessionEnded, PromptWithdrawn, RetryWithdrawn, CompactionWithdrawn)
_IDLE = "Idle. Ctrl-C leaves."


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.option("--after", type=click.IntRange(0), default=0, metavar="SEQ", help="Begin after this event of its log.")
@click.option("--until-idle", is_flag=True, help="End when nothing is left to do, with the last turn's exit code.")
@thinking_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
@async_command
async def watch(
    settings: Settings, session: str, after: int, until_idle: bool, thinking: bool, as_json: bool
) -> ExitCode:
    """Watch a session: what has happened, and what happens.

    SESSION is an id, its beginning, or `last` (of this directory). A stack that dies meanwhile is brought up again,
    and nothing is missed; one that was stopped is not started. On a terminal, questions are answered as in `run`.
    Ctrl-C only leaves; the task goes on. With --after, a subagent that is at work by then is shown from now on; one
    that starts later, from its beginning.

    \b
    Examples:
      holdfast watch last
      holdfast watch ses_… --until-idle && git push
    """
    async with open_reader(settings, with_worker=True) as client:
        found = await client.sessions.get(await id_lookup.find_session(client, session))
        if found.parent is None:
            await other_sessions.report_other_sessions(client, found.id)
        for budget in await client.sessions.budgets(found.id):
            print_note(describe_budget(budget))
        terminal = None if as_json else Terminal(settings, found.id, thinking=thinking)
        with terminal or nullcontext():
            renderer = terminal or await create_json_view(client, found.id, after)
            follower = SessionFollower(client, found.id, after, terminal)
            return await WatchLoop(follower, renderer, after=after, until_idle=until_idle).follow()


class WatchLoop(FollowLoop):
    """Shows a session that another command works on."""

    def __init__(self, follower: SessionFollower, renderer: Renderer, *, after: int, until_idle: bool) -> None:
        super().__init__(follower, renderer)
        self._until_idle = until_idle
        self._initial_seq = after  # the last event at the start; no alert for earlier ends
        self._rendered_seq = after
        self._is_idle = True  # no turn is open, as far as events were shown

    async def follow(self) -> ExitCode:
        """Follow until Ctrl-C, the session's end, or (`until_idle`) the end of its work.

        Raises Unavailable when the stack is taken down.
        """
        async with self._follower:
            now = await self._load_session()
            after, self._initial_seq = self._initial_seq, now.seq
            end = self._exit_code(after, now)
            return end if end is not None else await self._until_end()

    def _refresh(self, terminal: Terminal, question: str) -> None:
        terminal.refresh(question, idle=_IDLE if self._rendered_seq >= self._initial_seq else "")

    async def _on_interrupt(self) -> ExitCode:
        return ExitCode.INTERRUPTED

    async def _on_line(self, text: str | None) -> None:
        if text and text.strip():
            self._print_note(f"Not sent, for `watch` takes answers only: holdfast run -s {self._session}")

    async def _on_own_event(self, seen: EventWithContents) -> ExitCode | None:
        event, seq = seen.record.event, seen.record.seq
        self._rendered_seq = seq
        if isinstance(event, TurnEnded) and seq > self._initial_seq:
            alert_terminal(self._client.settings)
        if isinstance(event, (TurnOpened, *_RESTING)):
            self._is_idle = isinstance(event, _RESTING)
        # Any event may be the last: a late answer follows the end of its turn.
        return self._exit_code(seq, await self._load_session()) if self._is_idle and seq >= self._initial_seq else None

    async def _load_session(self) -> Overview:
        return await self._follower.wait_until_reachable(lambda: self._client.sessions.get(self._session))

    def _exit_code(self, seq: int, now: Overview) -> ExitCode | None:
        over = now.status == "ended" or self._until_idle
        if seq < now.seq or now.working or not over:
            return None
        return exit_codes.exit_code_of_turn(now.reason) if now.reason else ExitCode.STOPPED
