"""`holdfast watch`: look at a session, as long as one likes."""

from contextlib import nullcontext

import click

from worker.cli import complete, door, exits, find, neighbours
from worker.cli.exits import Exit
from worker.cli.follow import Follower, Interrupted, Lull, Typed, at_a_terminal, thinking_option
from worker.cli.interview import Interview
from worker.cli.look.jsonlines import lines_after
from worker.cli.look.screen import Screen
from worker.cli.look.story import Teller
from worker.cli.relay import relayed
from worker.client import Delta, Overview, Seen, SessionClient
from worker.settings import Settings
from workflows.domain import events
from workflows.domain.ids import AskId, SessionId
from workflows.domain.wire import AskState

_RESTING = (events.TurnEnded, events.SessionEnded, events.PromptWithdrawn, events.RetryWithdrawn)
_IDLE = "Idle. Ctrl-C leaves."


@click.command()
@click.argument("session", shell_complete=complete.session)
@click.option("--after", type=click.IntRange(0), default=0, metavar="SEQ", help="Begin after this event of its log.")
@click.option("--until-idle", is_flag=True, help="End when nothing is left to do, with the last turn's exit code.")
@thinking_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
@door.command
async def watch(settings: Settings, session: str, after: int, until_idle: bool, thinking: bool, as_json: bool) -> Exit:
    """Watch a session: what has happened, and what happens.

    SESSION is an id, its beginning, or `last` (of this directory). A stack that dies meanwhile is brought up again,
    and nothing is missed. On a terminal, questions are answered as in `run`. Ctrl-C only leaves; the task goes on. With
    --after, a subagent that is at work by then is shown from now on; one that starts later, from its beginning.

    \b
    Examples:
      holdfast watch last
      holdfast watch ses_… --until-idle && git push
    """
    async with door.client(settings, working=True) as client:
        found = await client.session(await find.session(client, session))
        if found.parent is None:
            await neighbours.tell(client, found.id)
        screen = None if as_json else Screen(settings, found.id, thinking=thinking)
        teller = screen.story if screen is not None else await lines_after(client, found.id, after)
        async with relayed() as relay:
            with screen or nullcontext():
                follower = Follower(client, found.id, after, relay, screen)
                watching = Watch(client, found.id, teller, follower, screen, after=after, until_idle=until_idle)
                end = await watching.follow()
            if end is Exit.INTERRUPTED:
                relay.hurry()
    return end


class Watch:
    """Tells a session's story; puts each ask that waits to the person at the terminal, or says how it is answered."""

    def __init__(
        self,
        client: SessionClient,
        session: SessionId,
        teller: Teller,
        follower: Follower,
        screen: Screen | None = None,
        *,
        after: int,
        until_idle: bool,
    ) -> None:
        self._client = client
        self._session = session
        self._teller = teller
        self._follower = follower
        self._screen = screen
        self._after = after
        self._until_idle = until_idle
        terminal = screen if at_a_terminal() else None
        self._interview = Interview(client, terminal, follower) if terminal else None
        self._known: set[AskId] = set()
        self._joined = after  # the last event as it was at the beginning: what has ended by then is no news
        self._told = after
        self._resting = True  # as far as it was told, no turn is open

    async def follow(self) -> Exit:
        """Follow it until Ctrl-C, the session's end, or (with `until_idle`) until nothing is left to do.

        Raises Unavailable when the stack is taken down.
        """
        async with self._follower:
            now = await self._look()
            self._joined = now.seq
            if (end := self._end(self._after, now)) is not None:
                return end
            async for happening in self._follower.happenings():
                match happening:
                    case Interrupted():
                        return Exit.INTERRUPTED
                    case Delta():
                        self._teller.show(happening)
                    case Lull() if self._screen is not None:
                        self._refresh(self._screen)
                    case Typed():
                        await self._typed(happening)
                    case Seen():
                        if self._screen is not None:
                            self._screen.note(happening)
                        self._teller.tell(happening)
                        if (end := await self._react(happening)) is not None:
                            return end
        raise AssertionError("happenings do not end")

    def _refresh(self, screen: Screen) -> None:
        question = self._interview.prompt if self._interview is not None else ""
        screen.refresh(question, idle=_IDLE if self._told >= self._joined else "")

    async def _typed(self, typed: Typed) -> None:
        """An answer to the question that is shown; prompts are not taken here."""
        if self._interview is not None and typed.ask is not None:
            await self._interview.typed(typed.text, typed.ask)
        elif typed.text and typed.text.strip():
            self._follower.say(f"Not sent, for `watch` takes answers only: holdfast run -s {self._session}")

    async def _react(self, seen: Seen) -> Exit | None:
        event, seq = seen.record.event, seen.record.seq
        if isinstance(event, events.AskRaised):
            await self._asked(event.ask)
        if isinstance(event, (events.AskAnswered, events.AskClosed)) and self._interview is not None:
            await self._interview.settled(event.ask)
        if seen.record.session != self._session:  # a subagent's
            return None
        self._told = seq
        if isinstance(event, events.TurnEnded) and seq > self._joined:
            door.ring(self._client.settings)
        if isinstance(event, (events.TurnOpened, *_RESTING)):
            self._resting = isinstance(event, _RESTING)
        # Whatever comes last may be the end: an answer that was too late, for instance, follows the end of its turn.
        return self._end(seq, await self._look()) if self._resting and seq >= self._joined else None

    async def _asked(self, ask: AskId) -> None:
        for entry in await self._follower.reached(lambda: self._client.asks(ask=ask)):
            if entry.state is not AskState.OPEN or ask in self._known:
                continue
            self._known.add(ask)
            door.ring(self._client.settings)
            if self._interview is not None:
                await self._interview.raised(entry)
            else:
                self._teller.ask(entry)

    async def _look(self) -> Overview:
        return await self._follower.reached(lambda: self._client.session(self._session))

    def _end(self, seq: int, now: Overview) -> Exit | None:
        """How it has ended, once this event was the last and nothing more can come, or is waited for."""
        over = now.status == "ended" or self._until_idle
        if seq < now.seq or now.working or not over:
            return None
        return exits.of_turn(now.reason) if now.reason else Exit.STOPPED
