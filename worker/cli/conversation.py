"""Conversation: prompts are followed until their turns have ended, with questions answered, more prompts taken from the
keyboard, and Ctrl-C understood."""

import asyncio
from contextlib import nullcontext
from typing import Final

import click

from worker.cli import door, exits
from worker.cli.composer import Composer, Sent
from worker.cli.exits import Exit
from worker.cli.follow import Follower, Happening, Interrupted, Lull, Typed, at_a_terminal
from worker.cli.interview import Interview
from worker.cli.look.chapter import used
from worker.cli.look.jsonlines import lines
from worker.cli.look.screen import Screen
from worker.cli.look.story import Teller
from worker.cli.look.text import prose, span
from worker.cli.relay import relayed
from worker.cli.sending import Sending
from worker.cli.slash import HELP, Slash
from worker.client import Delta, Seen, SessionClient, Stopped
from workflows.domain import events
from workflows.domain.closing import CloseReason
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.ids import AskId, MessageId, RetryId, SessionId, SnapshotId, TurnId
from workflows.domain.value import Value
from workflows.domain.wire import AskState

_MOMENT: Final = 1.0  # seconds that leaving waits for a stop: a second Ctrl-C may follow the first within milliseconds
_INVITATION: Final = "Type the next prompt; Ctrl-D leaves, /help says more."


class Following(Value):
    """How a session is followed: from its open `turn` on, if there is one; a question is the end (`no_wait`); more
    prompts are asked for on a terminal when a turn has ended (`stay`), and begin turns with this `model`; `thinking`
    shows what the model thinks. A turn whose configuration is another one than the one shown last (`configuration`) is
    named."""

    turn: TurnId | None = None
    no_wait: bool = False
    stay: bool = True
    model: str | None = None
    configuration: SnapshotId | None = None
    thinking: bool = False


async def followed(
    client: SessionClient,
    session: SessionId,
    accepted: MessageId | RetryId | None,
    sending: Sending,
    *,
    seq: int,
    as_json: bool,
    following: Following,
) -> Exit:
    """Follow what was accepted to its end, as a story or as lines of JSON; stop it if its sending was interrupted.

    Raises Unavailable.
    """
    screen = None if as_json else Screen(client.settings, session, thinking=following.thinking)
    teller = screen.story if screen is not None else lines(session)
    async with relayed() as relay:
        with screen or nullcontext():
            follower = Follower(client, session, seq, relay, screen)
            end = await Conversation(client, session, accepted, teller, follower, screen, following).follow(sending)
        if end is Exit.INTERRUPTED:
            relay.hurry()
    return end


async def totals(client: SessionClient, session: SessionId) -> str:
    """What a session has used so far, in words; how a task has ended does not depend on them."""
    try:
        sums = await client.totals(session)
    except Unavailable:
        return "what it has used cannot be read just now"
    return used(sums.steps, sums.tokens, sums.cost)


class Conversation:
    """Tells what comes of the prompts and retries of one person.

    `screen` is where it is told to people; on a terminal, questions are put there, and what is typed while none is open
    is a prompt.
    """

    def __init__(
        self,
        client: SessionClient,
        session: SessionId,
        accepted: MessageId | RetryId | None,
        teller: Teller,
        follower: Follower,
        screen: Screen | None,
        following: Following,
    ) -> None:
        self._client = client
        self._session = session
        self._teller = teller
        self._screen = screen
        self._follower = follower
        self._following = following
        terminal = screen if at_a_terminal() else None
        self._composer = Composer(client, session, terminal, follower, following.model) if terminal else None
        self._interview = Interview(client, terminal, follower) if terminal and not following.no_wait else None
        self._stays = terminal is not None and following.stay and not following.no_wait
        self._known: set[AskId] = set()
        self._awaited = {accepted} if accepted is not None else set()  # what no turn has taken yet
        self._turn = following.turn
        self._configuration = following.configuration
        self._stop: asyncio.Task[Stopped] | None = None
        self._end = Exit.DONE
        self._invited = False

    async def follow(self, sending: Sending) -> Exit:
        """Follow it to its end. Raises Unavailable when the stack is taken down."""
        async with self._follower:  # which hears Ctrl-C from here on
            if sending.interrupted:
                await self._interrupted()
            for entry in await self._follower.reached(lambda: self._client.asks(session=self._session)):
                if (end := await self._asked(entry.id)) is not None:
                    return end
            if self._resting:
                self._invite()
            async for happening in self._follower.happenings():
                if (end := await self._hear(happening)) is not None:
                    return end
        raise AssertionError("happenings do not end")

    @property
    def _resting(self) -> bool:
        """Whether nothing of this person's is at work or waits to be taken."""
        return self._turn is None and not self._awaited

    async def _hear(self, happening: Happening) -> Exit | None:
        match happening:
            case Lull() if self._screen is not None:
                self._refresh(self._screen)
            case Seen():
                if self._screen is not None:
                    self._screen.note(happening)
                self._teller.tell(happening)
                return await self._react(happening)
            case Delta():
                self._teller.show(happening)
            case Typed(text=text, ask=ask) if ask is not None:
                if self._interview is not None:
                    await self._interview.typed(text, ask)
            case Typed(text=text) if self._composer is not None:
                return await self._typed(self._composer, text)
            case Interrupted():
                return await self._interrupted()
        return None

    def _refresh(self, screen: Screen) -> None:
        open_ = self._composer is not None and self._follower.keyboard.open
        screen.refresh(
            self._interview.prompt if self._interview is not None else "",
            self._follower.keyboard.typed if open_ else None,
        )

    async def _react(self, seen: Seen) -> Exit | None:
        match event := seen.record.event:
            case events.SessionParked() if self._following.no_wait:
                return Exit.WAITING
            case events.AskRaised():
                return await self._asked(event.ask)
            case events.AskAnswered() | events.AskClosed() if self._interview is not None:
                await self._interview.settled(event.ask)
            case _ if seen.record.session == self._session:
                self._compare(event)
                return await self._moved(event)
        return None

    def _compare(self, event: events.Event) -> None:
        """Say that a turn's configuration is not the one that was shown last: its files were changed in between."""
        if isinstance(event, events.TurnOpened) and self._configuration is not None:
            if event.snapshot != self._configuration:
                self._follower.say(f"Turn {event.number} works with another configuration: {event.snapshot}")
            self._configuration = event.snapshot

    async def _moved(self, event: events.Event) -> Exit | None:
        """What happens to the session's own prompts and turns."""
        match event:
            case events.PromptTaken(prompt=awaited, turn=turn) | events.TurnOpened(retry=awaited, turn=turn) if (
                awaited in self._awaited
            ):
                self._awaited.discard(awaited)
                self._turn = turn
            case events.TurnOpened(turn=turn) if self._stays:
                self._turn = turn
            case events.PromptWithdrawn(prompt=gone) | events.RetryWithdrawn(retry=gone) if gone in self._awaited:
                self._awaited.discard(gone)
                return await self._over(Exit.STOPPED) if self._turn is None else None
            case events.TurnEnded() if event.turn == self._turn:
                door.ring(self._client.settings)
                self._turn = None
                if event.reason == CloseReason.DONE:
                    await self._done()
                return await self._over(exits.of_turn(event.reason))
            case events.SessionEnded():
                self._stays = False
                return Exit.STOPPED if self._resting else None
        return None

    async def _done(self) -> None:
        if (screen := self._screen) is not None:
            lasted = f" in {span(screen.gauge.lasted)}" if screen.gauge.lasted is not None else ""
            used = await totals(self._client, self._session)
            screen.page.line(click.style(f"Done{lasted} · {used}", dim=True))

    async def _over(self, end: Exit) -> Exit | None:
        """A turn has ended, or will not begin: the end, unless more was sent, or may be typed."""
        self._end, self._stop = end, None
        if self._awaited:
            return None
        if not (self._stays and self._follower.keyboard.open):
            return end
        self._invite()
        return None

    def _invite(self) -> None:
        if not self._invited and self._stays and self._screen is not None:
            self._screen.say(_INVITATION)
        self._invited = True

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
        return Exit.WAITING if self._following.no_wait else None

    async def _typed(self, composer: Composer, text: str | None) -> Exit | None:
        """Take a line that was typed while no question was open."""
        if text is None:
            if not self._resting:
                self._follower.say("No more prompts are taken: this ends with the turn.")
            return self._end if self._resting else None
        match await composer.take(text):
            case Slash.EXIT:
                return self._end if self._resting else self._left()
            case Slash.STOP:
                self._begin_stop()
            case Slash.HELP:
                for each in HELP:
                    self._follower.say(each)
            case Sent(id=sent):
                self._awaited.add(sent)
        return None

    async def _interrupted(self) -> Exit | None:
        """The first Ctrl-C stops the turn, the second one only leaves, with a moment for the stop to be recorded.

        With nothing to stop, it drops what is being typed, or leaves.
        """
        if self._resting:
            if not self._follower.keyboard.typed:
                return self._end
            self._follower.keyboard.clear()
            return None
        if self._stop is None:
            self._begin_stop()
            self._follower.say("Stopping the turn. Ctrl-C again leaves without waiting for its end.")
            return None
        await asyncio.wait([self._stop], timeout=_MOMENT)
        if self._stop.done() and self._stop.exception() is None:
            self._follower.say("Left. The stop is recorded, and the turn ends by itself.")
        else:
            self._follower.say(
                f"Left before the stop was recorded: the task may go on. `holdfast stop {self._session}`"
            )
        return self._left()

    def _left(self) -> Exit:
        self._follower.say(f"  holdfast watch {self._session}")
        return Exit.INTERRUPTED

    def _begin_stop(self) -> None:
        if self._resting:
            self._follower.say("Nothing is at work.")
            return
        self._stop = asyncio.create_task(self._client.stop(self._session))
        self._stop.add_done_callback(self._report)

    def _report(self, stop: asyncio.Task[Stopped]) -> None:
        if stop.cancelled():  # the person has left before it was recorded, and was told so
            return
        if isinstance(error := stop.exception(), HoldfastError):
            self._follower.say(f"The stop was not recorded, so the task goes on: {prose(str(error))}")
