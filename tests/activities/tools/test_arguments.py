"""A call's arguments, and what a model is told about wrong ones."""

import pytest
from pydantic import Field, JsonValue

from activities.files.place import Place
from activities.tools.arguments import validated
from activities.tools.read import Read, ReadParams
from activities.tools.todo import TodoWrite
from activities.tools.tool import Output, Params, Plan, Surroundings, Tool
from workflows.domain.effects import Recovery
from workflows.domain.errors import ToolError


class OddParams(Params):
    """Arguments of every type that a schema may have."""

    words: list[str] = []
    ready: bool = False
    share: float = Field(default=0.5, lt=1)
    table: dict[str, int] = {}


class Odd(Tool[OddParams]):
    """A tool that is never run."""

    name = "odd"
    recovery = Recovery.REPEATABLE
    params = OddParams

    async def plan(self, params: OddParams, place: Place) -> Plan:
        raise NotImplementedError

    async def run(self, params: OddParams, plan: Plan, around: Surroundings) -> Output:
        raise NotImplementedError


def problem(tool: Tool[OddParams] | Tool[ReadParams] | TodoWrite, **arguments: JsonValue) -> str:
    with pytest.raises(ToolError) as told:
        validated(tool, arguments)
    return str(told.value)


def test_good_arguments_become_params_and_unknown_keys_are_ignored() -> None:
    assert validated(Read(), {"filePath": "a.txt", "colour": "red"}) == ReadParams(filePath="a.txt")


def test_what_is_wrong_is_told_with_its_place_and_how_to_go_on() -> None:
    assert problem(Read()) == (
        'The read tool was called with invalid arguments: SchemaError(Missing key\n  at ["filePath"]).\n'
        "Please rewrite the input so it satisfies the expected schema."
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"filePath": 7}, 'Expected string, got 7\n  at ["filePath"]'),
        ({"filePath": "a", "limit": "x"}, 'Expected number | undefined, got "x"\n  at ["limit"]'),
        ({"filePath": "a", "limit": 1.5}, "Expected an integer, got 1.5"),
        ({"filePath": "a", "limit": 0}, "Expected a value greater than 0, got 0"),
        ({"filePath": "a", "offset": -1}, "Expected a value greater than or equal to 0, got -1"),
    ],
)
def test_expected_and_found_are_named(arguments: dict[str, JsonValue], said: str) -> None:
    assert said in problem(Read(), **arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"words": "x"}, "Expected array | undefined"),
        ({"ready": "yes"}, "Expected boolean | undefined"),
        ({"table": []}, "Expected object | undefined"),
        ({"share": 2.0}, "Input should be less than 1, got 2.0"),
    ],
)
def test_other_types_have_their_words_too(arguments: dict[str, JsonValue], said: str) -> None:
    assert said in problem(Odd(), **arguments)


def test_what_is_wrong_inside_an_argument_is_never_called_optional() -> None:
    said = problem(TodoWrite(), todos=[{"content": 1, "status": "pending", "priority": "low"}])
    assert 'Expected string, got 1\n  at ["todos",0,"content"]' in said


def test_every_problem_is_told_and_long_values_are_cut() -> None:
    said = problem(Read(), filePath=["x" * 1000], limit="y")
    assert said.count("\n  at ") == 2 and len(said) < 600
