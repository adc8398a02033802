"""A call's arguments, and the model's message about wrong ones."""

import pytest
from pydantic import Field, JsonValue

from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.read import ReadParams, ReadTool
from activities.tools.todo import TodoWriteTool
from activities.tools.tool import Output, Plan, Tool, ToolContext
from activities.turn_context import TurnContext
from workflows.domain.effects import Recovery
from workflows.domain.errors import ToolError


class OddParams(Params):
    """Arguments of every type that a schema may have."""

    words: list[str] = []
    ready: bool = False
    share: float = Field(default=0.5, lt=1)
    table: dict[str, int] = {}


class Odd(BuiltInTool[OddParams]):
    """A tool that is never run."""

    name = "odd"
    recovery = Recovery.REPEATABLE
    params = OddParams

    async def plan(self, params: OddParams, turn: TurnContext) -> Plan:
        raise NotImplementedError

    async def run(self, params: OddParams, plan: Plan, context: ToolContext) -> Output:
        raise NotImplementedError


def problem(tool: Tool[OddParams] | Tool[ReadParams] | TodoWriteTool, **arguments: JsonValue) -> str:
    with pytest.raises(ToolError) as told:
        tool.parse(arguments)
    return str(told.value)


def test_good_arguments_become_params_and_unknown_keys_are_ignored() -> None:
    assert ReadTool().parse({"filePath": "a.txt", "colour": "red"}) == ReadParams(filePath="a.txt")
    for whole in (2.0, "2.0"):
        assert ReadTool().parse({"filePath": "a.txt", "offset": whole}) == ReadParams(filePath="a.txt", offset=2)


def test_what_is_wrong_is_told_with_its_place_and_how_to_go_on() -> None:
    assert problem(ReadTool()) == (
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
    assert said in problem(ReadTool(), **arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"words": "x"}, "Expected array | undefined"),
        ({"ready": "yes"}, "Expected boolean | undefined"),
        ({"table": []}, "Expected object | undefined"),
        ({"share": 2.5}, "Input should be less than 1, got 2.5"),
    ],
)
def test_other_types_have_their_words_too(arguments: dict[str, JsonValue], said: str) -> None:
    assert said in problem(Odd(), **arguments)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({"ready": "true"}, {"ready": True}),
        ({"share": "0.25"}, {"share": 0.25}),
        ({"words": '["a", "b"]'}, {"words": ["a", "b"]}),
        ({"table": '{"a": 1}'}, {"table": {"a": 1}}),
    ],
)
def test_a_text_that_is_json_of_the_right_type_is_taken_as_that(
    arguments: dict[str, JsonValue], meant: dict[str, JsonValue]
) -> None:
    assert Odd().parse(arguments) == OddParams.model_validate(meant)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"ready": "True"}, 'Expected boolean | undefined, got "True"'),
        ({"share": "NaN"}, 'Expected number | undefined, got "NaN"'),
        ({"share": "\ud800"}, "Expected number | undefined"),
        ({"words": "[" * 10_000}, "Expected array | undefined"),
        ({"share": "2"}, "Input should be less than 1, got 2"),
        ({"words": "[1]"}, "Expected string, got 1"),
    ],
)
def test_other_texts_are_refused_for_what_they_would_be(arguments: dict[str, JsonValue], said: str) -> None:
    assert said in problem(Odd(), **arguments)


def test_what_is_wrong_inside_an_argument_is_never_called_optional() -> None:
    said = problem(TodoWriteTool(), todos=[{"content": 1, "status": "pending", "priority": "low"}])
    assert 'Expected string, got 1\n  at ["todos",0,"content"]' in said


def test_every_problem_is_told_and_long_values_are_cut() -> None:
    said = problem(ReadTool(), filePath=["x" * 1000], limit="y")
    assert said.count("\n  at ") == 2 and len(said) < 600
