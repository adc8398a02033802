"""wait: its arguments, and what the model is told."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities.tools.tool import Output, Waiting
from activities.tools.wait import WaitTool
from activities.turn_context import TurnContext
from tests.activities.tools.tool_calls import make_context, project
from workflows.domain.errors import ToolError
from workflows.domain.waits import MISSING, FileEvent, WaitEnd, WaitKind, WaitStatus, WaitSubject

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
FILE = WaitSubject(kind=WaitKind.FILE, name="a.txt", seen="abc")
POKE = WaitSubject(kind=WaitKind.POKE, name="deploy")
TIME = WaitSubject(kind=WaitKind.TIME)


@dataclass
class OneWait:
    """A wait in the test's state."""

    found: WaitStatus | None = None
    begun: tuple[WaitSubject, timedelta | datetime | None, bool] | None = None

    async def begin(self, subject: WaitSubject, until: timedelta | datetime | None, *, met: bool) -> WaitStatus:
        self.begun = subject, until, met
        self.found = self.found or status(subject, None)
        return self.found

    async def status(self) -> WaitStatus | None:
        return self.found

    async def stop(self) -> WaitStatus | None:
        return self.found


def status(subject: WaitSubject, ending: WaitEnd | None, until: datetime | None = None, **more: str) -> WaitStatus:
    values = {"seconds": 3600.0 if until else None, "author": None, "text": None} | more
    return WaitStatus.model_validate(
        {"subject": subject, "until": until, "begun_at": NOON, "ending": ending, "ended_at": LATER} | values
    )


@pytest.fixture
def turn(tmp_path: Path) -> TurnContext:
    return TurnContext(project(tmp_path))


async def begin(turn: TurnContext, **arguments: str) -> tuple[Output | Waiting, OneWait]:
    tool, wait = WaitTool(), OneWait()
    params = tool.parse(dict(arguments))
    context = make_context(turn.workspace, turn=turn, wait=wait)
    return await tool.run(params, await tool.plan(params, turn), context), wait


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "^Give exactly one of `until`, `file` and `token`"),
        ({"until": "1h", "token": "a"}, "^Give exactly one of"),
        ({"until": "1h", "at_most": "2h"}, "`at_most` is for a file or a token"),
        ({"until": "tomorrow"}, "`until` is 'tomorrow': write a duration, such as 90s"),
        ({"token": "a", "at_most": "0001-01-01"}, "`at_most` is '0001-01-01': write a duration"),
        ({"until": "2226-01-01T00:00:00Z"}, "ten years at most"),
        ({"until": "0001-01-01T00:00:00Z"}, "which is long past: `date` tells you"),
        ({"token": "a b"}, "^The token is 'a b': write a name of at most 64 letters"),
        ({"file": "../a.txt"}, "is outside of the project"),
        ({"file": "/etc/hostname"}, "is outside of the project"),
        ({"file": "."}, "is not a regular file"),
        ({"file": "a.txt", "event": "renamed"}, "invalid arguments"),
    ],
)
async def test_bad_arguments_are_told_before_anything_waits(
    turn: TurnContext, arguments: dict[str, str], problem: str
) -> None:
    with pytest.raises(ToolError, match=problem):
        await WaitTool().plan(WaitTool().parse(dict(arguments)), turn)


async def test_a_file_needs_the_permission_to_read_it_too(turn: TurnContext) -> None:
    params = WaitTool().parse({"file": "logs/a.env"})
    wait, read = (await WaitTool().plan(params, turn)).requests
    assert (wait.permission, wait.patterns) == ("wait", ("logs/a.env",))
    assert (read.permission, read.patterns) == ("read", ("logs/a.env",))


async def test_each_kind_waits_as_a_row(turn: TurnContext) -> None:
    result, until = await begin(turn, until="2h")
    assert result == Waiting(seconds=None) and until.begun == (TIME, timedelta(hours=2), False)
    _, token = await begin(turn, token="deploy", at_most="2036-01-01T00:00:00+01:00")
    assert token.begun == (POKE, datetime(2035, 12, 31, 23, tzinfo=UTC), False)
    (turn.workspace.directory / "a.txt").write_text("a")
    _, changed = await begin(turn, file="a.txt")
    _, created = await begin(turn, file="a.txt", event="created")
    _, deleted = await begin(turn, file="b.txt", event="deleted")
    assert [each.begun and each.begun[2] for each in (changed, created, deleted)] == [False, True, True]
    assert changed.begun is not None and len(changed.begun[0].seen) == 64
    assert deleted.begun is not None and deleted.begun[0].seen == MISSING


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (status(TIME, WaitEnd.CAME, LATER), r"^The time came: it is "),
        (status(TIME, WaitEnd.CAME, NOON), r"^The moment .* had passed when the wait began, at "),
        (status(POKE, WaitEnd.GAVE_UP, LATER), r"^Gave up at .*: deploy was not poked since "),
        (status(FILE, WaitEnd.GAVE_UP, LATER), r"^Gave up at .*: nothing happened to a\.txt since "),
        (status(POKE, WaitEnd.POKED, author="ada", text="v2 is live"), r"^Poked by ada at .*: v2 is live$"),
        (status(POKE, WaitEnd.POKED, author="ada"), r"^Poked by ada at .*, without a text\.$"),
        (status(TIME, WaitEnd.WOKEN, author="ada"), r"^ada has ended the wait at .*, before it was over\."),
        (status(FILE, WaitEnd.CHANGED), r"^The file a\.txt has changed or was deleted; noticed at "),
        (status(FILE.model_copy(update={"seen": MISSING}), WaitEnd.CHANGED), r"^The file a\.txt was created; noticed"),
        (status(FILE.model_copy(update={"event": FileEvent.CREATED}), WaitEnd.CHANGED), r"^The file a\.txt is there"),
    ],
)
async def test_the_result_says_what_has_happened(turn: TurnContext, found: WaitStatus, text: str) -> None:
    tool, context = WaitTool(), make_context(turn.workspace, turn=turn, wait=OneWait(found))
    params = tool.parse({"token": "deploy"})
    recovered = await tool.recover(params, await tool.plan(params, turn), context)
    assert isinstance(recovered, Output)
    assert re.search(text, recovered.output), recovered.output


async def test_an_open_wait_waits_on_and_one_that_never_began_begins(turn: TurnContext) -> None:
    tool, params = WaitTool(), WaitTool().parse({"token": "deploy"})
    plan, never = await tool.plan(params, turn), OneWait()
    open_wait = make_context(turn.workspace, turn=turn, wait=OneWait(status(POKE, None, LATER)))
    assert await tool.recover(params, plan, open_wait) == Waiting(seconds=3600)
    await tool.recover(params, plan, make_context(turn.workspace, turn=turn, wait=never))
    assert never.begun is not None


async def test_a_poke_that_was_quicker_than_a_stop_counts(turn: TurnContext) -> None:
    tool, params = WaitTool(), WaitTool().parse({"token": "deploy"})
    plan = await tool.plan(params, turn)
    poked = make_context(turn.workspace, turn=turn, wait=OneWait(status(POKE, WaitEnd.POKED, author="ada", text="v2")))
    stopped = make_context(turn.workspace, turn=turn, wait=OneWait(status(POKE, WaitEnd.STOPPED)))
    output = await tool.stop(params, plan, poked)
    assert output is not None and output.output.endswith(": v2")
    assert await tool.stop(params, plan, stopped) is None
