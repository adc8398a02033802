"""Prepared calls: names repaired, arguments read, the effect looked at."""

from pathlib import Path

import pytest

from activities.files.place import Place
from activities.mint import Mint
from activities.model.prepare import Preparer
from activities.model.stream import CallPart
from activities.store.calls import NewCall
from activities.tools.table import TOOLS


@pytest.fixture
def preparer(tmp_path: Path) -> Preparer:
    (tmp_path / "a.txt").write_text("hello\n")
    place = Place(directory=tmp_path, worktree=None, data=tmp_path, home=tmp_path, temporary=tmp_path)
    return Preparer(TOOLS, place, Mint())


async def prepare(preparer: Preparer, name: str, arguments: str) -> NewCall:
    return await preparer.prepare(0, CallPart("c1", name, arguments))


async def test_a_call_is_planned(preparer: Preparer) -> None:
    call = await prepare(preparer, "read", '{"filePath": "a.txt"}')
    assert call.plan is not None and [request.permission for request in call.plan.requests] == ["read"]


async def test_a_name_in_the_wrong_case_is_repaired(preparer: Preparer) -> None:
    assert (await prepare(preparer, "Read", '{"filePath": "a.txt"}')).tool == "read"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("fly", "{}", "unavailable tool 'fly'. Available tools: bash, edit,"),
        ("read", '{"filePath": "a', "Invalid input for tool read: JSON parsing failed:"),
        ("read", "[1]", "a JSON object is expected"),
        ("read", '{"offset": NaN}', "NaN is no JSON"),
        ("read", "[" * 100_000, "JSON parsing failed"),
        ("invalid", "{}", "unavailable tool 'invalid'"),
    ],
)
async def test_what_cannot_be_called_becomes_an_invalid_call(
    preparer: Preparer, name: str, arguments: str, said: str
) -> None:
    call = await prepare(preparer, name, arguments)
    assert call.tool == "invalid" and said in str(call.arguments["error"])


async def test_wrong_arguments_stay_with_the_tool_that_will_say_so(preparer: Preparer) -> None:
    call = await prepare(preparer, "read", '{"filePath": 5}')
    assert (call.tool, call.plan) == ("read", None)


async def test_equal_calls_have_equal_loop_digests(preparer: Preparer) -> None:
    one, two, other = [
        await prepare(preparer, "read", f'{{"filePath": "{name}", "limit": 1}}') for name in ("a", "a", "b")
    ]
    assert one.loop == two.loop != other.loop
