"""Behaviours of providers that fail or are silent."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Final

import pytest

from activities.model.failures import FailureAction, Overflow, Retry, Stop, StopKind, classify
from tests.polling import WAIT_TIMEOUT
from tests.providers.behaviours.rows import Behaviour, Rig, row
from tests.providers.behaviours.script import Answer, Failure, Text
from tests.providers.double_requests import collect_answer
from tests.providers.provider_double import Disconnect, StreamPause
from workflows.domain.errors import ModelError
from workflows.domain.messages import TextPart

LEFT_OPEN: Final = "an answer whose connection stays open"
SILENCE: Final = 0.6  # seconds that the wires wait for a byte
_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_EXPECTED: Final[Mapping[Failure, type[Retry] | type[Overflow] | StopKind]] = {
    Failure.KEY: StopKind.AUTH,
    Failure.CREDIT: StopKind.QUOTA,
    Failure.MODEL: StopKind.NOT_FOUND,
    Failure.TIMEOUT: Retry,
    Failure.TOO_LARGE: Overflow,
    Failure.TOO_LONG: Overflow,
    Failure.RATE: Retry,
    Failure.QUOTA: StopKind.QUOTA,
    Failure.SERVER: Retry,
    Failure.GATEWAY: Retry,
    Failure.OVERLOADED: Retry,
    Failure.IN_STREAM: Retry,
    Failure.AS_SUCCESS: Retry,
}


async def failed(rig: Rig) -> FailureAction:
    """What follows from the failure of a request."""
    with pytest.raises(ModelError) as caught:
        await collect_answer(rig.port, rig.wire.request())
    assert len(rig.wire.double.asked) == 1, "a wire asked again by itself"
    return classify(caught.value.failure)


def _failing(failure: Failure) -> Behaviour:
    async def behaviour(rig: Rig) -> None:
        if failure is Failure.IN_STREAM:
            rig.wire.play(Answer((Text("Half an"), rig.wire.failures[failure][1])))
        else:
            rig.wire.fail(failure)
        action = await failed(rig)
        assert (action.kind if isinstance(action, Stop) else type(action)) == _EXPECTED[failure]

    return behaviour


for _failure in Failure:
    row(_failure)(_failing(_failure))


@row("429: every form of a hint when to come back")
async def hints(rig: Rig) -> None:
    in_34_seconds = {"retry-after": format_datetime(_NOW + timedelta(seconds=34), usegmt=True)}
    _, limited = rig.wire.failures[Failure.RATE]
    for headers, body in (*rig.wire.hints, (in_34_seconds, limited)):
        rig.wire.double.asked.clear()
        rig.wire.refuse(429, body, headers)
        action = await failed(rig)
        assert isinstance(action, Retry)
        assert action.pause_seconds(1, _NOW, jitter=0.5) == 34, (headers, body)


@row("silence with signs of life")
async def alive(rig: Rig) -> None:
    life = (StreamPause(SILENCE * 0.5), rig.wire.keep_alive) * 3
    rig.wire.play(Answer((*life, Text("Hello"), *life)))
    answer = await collect_answer(rig.port, rig.wire.request())
    assert answer.parts == (TextPart(text="Hello"),)


@row("silence")
async def silent(rig: Rig) -> None:
    for before, output in ((StreamPause(60), ()), (None, (StreamPause(60),))):
        rig.wire.double.asked.clear()
        rig.wire.double.before = before
        rig.wire.play(Answer((Text("Hel"), *output)))
        async with asyncio.timeout(WAIT_TIMEOUT):
            assert isinstance(await failed(rig), Retry)


@row(LEFT_OPEN)
async def left_open(rig: Rig) -> None:
    """Or is reset: the answer is paid for."""
    rig.wire.play(Answer((Text("Hello"),)))
    for after in (StreamPause(60), Disconnect(clean=False)):
        rig.wire.double.after = after
        async with asyncio.timeout(WAIT_TIMEOUT):
            answer = await collect_answer(rig.port, rig.wire.request())
        assert (answer.parts, answer.tokens.reported) == ((TextPart(text="Hello"),), True)
