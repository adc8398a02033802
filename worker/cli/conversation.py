"""Conversation: a prompt is followed until its turn has ended, with questions answered and Ctrl-C understood."""

import asyncio
from contextlib import nullcontext
from typing import Final

import click

from worker.cli import door, exits
from worker.cli.exits import Exit
from worker.cli.follow import Follower, Happening, Interrupted, Lull, Typed, at_a_terminal
from worker.cli.interview import Interview
from worker.cli.look.jsonlines import lines
from worker.cli.look.screen import Screen
from worker.cli.look.story import Teller
from worker.cli.look.text import counted, line, prose, span
from worker.cli.relay import relayed
from worker.cli.sending import Sending
from worker.client import Delta, Seen, SessionClient, Stopped
from workflows.domain import events
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.ids import AskId, MessageId, RetryId, SessionId, TurnId
from workflows.domain.wire import AskState

_MOMENT: Final = 1.0  # seconds that leaving waits for a stop: a second Ctrl-C may follow the first within milliseconds


async def followed(
    client: SessionClient,
    session: SessionId,
    accepted: MessageId | RetryId,
    sending: Sending,
    *,
    seq: int,
    no_wait: bool,
    as_json: bool,
) -> Exit:
    """Follow what was accepted to its end, as a story or as lines of JSON; stop it if its sending was interrupted.

    Raises Unavailable.
    """
    screen = None if as_json else Screen(client.settings, session)
    teller = screen.story if screen is not None else lines(session)
    async with relayed() as relay:
        with screen or nullcontext():
            follower = Follower(client, session, seq, relay, screen)
            conversation = Conversation(client, session, accepted, teller, follower, screen, no_wait=no_wait)
            end = await conversation.follow(sending)
        if screen is not None and end is Exit.DONE:
            lasted = f" in {span(screen.gauge.lasted)}" if screen.gauge.lasted is not None else ""
            click.echo(click.style(f"Done{lasted} · {await totals(client, session)}", dim=True))
        if end is Exit.INTERRUPTED:
            relay.hurry()
    return end


async def totals(client: SessionClient, session: SessionId) -> str:
    """What a session has used so far, in words; how a task has ended does not depend on them."""
    try:
        used = await client.totals(session)
    except Unavailable:
        return "what it has used cannot be read just now"
    tokens = used.tokens.prompt + used.tokens.output + used.tokens.reasoning
    return f"{counted(used.steps, 'step')} · {counted(tokens, 'token')} · ${line(f'{used.cost:.4f}')}"


class Conversation:
    """Tells what comes of a prompt or a retry that was accepted.

    `screen` is where it is told to people, and questions are put when somebody is there to be asked. With `no_wait` a
    question is the end.
    """

    def __init__(
        self,
        client: SessionClient,
        session: SessionId,
        accepted: MessageId | RetryId,
        teller: Teller,
        follower: Follower,
        screen: Screen | None = None,
        *,
        no_wait: bool = False,
    ) -> None:
        self._client = client
        self._session = session
        self._accepted = accepted
        self._teller = teller
        self._screen = screen
        self._follower = follower
        asks = screen is not None and not no_wait and at_a_terminal()
        self._interview = Interview(client, screen, self._follower) if screen and asks else None
        self._no_wait = no_wait
        self._known: set[AskId] = set()
        self._turn: TurnId | None = None
        self._stop: asyncio.Task[Stopped] | None = None

    async def follow(self, sending: Sending) -> Exit:
        """Follow it to its end. Raises Unavailable when the stack is taken down."""
        async with self._follower:  # which hears Ctrl-C from here on
            if sending.interrupted:
                await self._interrupted()
            for entry in await self._follower.reached(lambda: self._client.asks(session=self._session)):
                if (end := await self._asked(entry.id)) is not None:
                    return end
            async for happening in self._follower.happenings():
                if (end := await self._hear(happening)) is not None:
                    return end
        raise AssertionError("happenings do not end")

    async def _hear(self, happening: Happening) -> Exit | None:
        match happening:
            case Lull() if self._screen is not None:
                self._screen.refresh(self._interview.prompt if self._interview is not None else "")
            case Seen():
                if self._screen is not None:
                    self._screen.note(happening)
                self._teller.tell(happening)
                return await self._react(happening.record.event)
            case Delta():
                self._teller.show(happening)
            case Typed(text=text) if self._interview is not None:
                await self._interview.typed(text)
            case Interrupted():
                return await self._interrupted()
        return None

    async def _react(self, event: events.Event) -> Exit | None:
        match event:
            case (
                events.PromptTaken(prompt=self._accepted, turn=turn)
                | events.TurnOpened(retry=self._accepted, turn=turn)
            ):
                self._turn = turn
            case events.PromptWithdrawn(prompt=self._accepted) | events.RetryWithdrawn(retry=self._accepted):
                return Exit.STOPPED
            case events.TurnEnded() if event.turn == self._turn:
                door.ring(self._client.settings)
                return exits.of_turn(event.reason)
            case events.SessionParked() if self._no_wait:
                return Exit.WAITING
            case events.AskRaised():
                return await self._asked(event.ask)
            case events.AskAnswered() | events.AskClosed() if self._interview is not None:
                await self._interview.settled(event.ask)
        return None

    async def _asked(self, ask: AskId) -> Exit | None:
        """Put an ask that waits to the person, or say how it is answered."""
        entry = next(iter(await self._follower.reached(lambda: self._client.asks(ask=ask))), None)
        if entry is None or entry.state is not AskState.OPEN or ask in self._known:
            return None
        self._known.add(ask)
        door.ring(self._client.settings)
        if self._interview is not None:
            await self._interview.raised(entry)
            return None
        self._teller.ask(entry)
        return Exit.WAITING if self._no_wait else None

    async def _interrupted(self) -> Exit | None:
        """The first Ctrl-C stops the turn, the second one only leaves, with a moment for the stop to be recorded."""
        if self._stop is None:
            self._follower.say("Stopping the turn. Ctrl-C again leaves without waiting for its end.")
            self._stop = asyncio.create_task(self._client.stop(self._session))
            self._stop.add_done_callback(self._report)
            return None
        await asyncio.wait([self._stop], timeout=_MOMENT)
        if self._stop.done() and self._stop.exception() is None:
            self._follower.say("Left. The stop is recorded, and the turn ends by itself.")
        else:
            self._follower.say(
                f"Left before the stop was recorded: the task may go on. `holdfast stop {self._session}`"
            )
        self._follower.say(f"  holdfast watch {self._session}")
        return Exit.INTERRUPTED

    def _report(self, stop: asyncio.Task[Stopped]) -> None:
        if stop.cancelled():  # the person has left before it was recorded, and was told so
            return
        if isinstance(error := stop.exception(), HoldfastError):
            self._follower.say(f"The stop was not recorded, so the task goes on: {prose(str(error))}")
