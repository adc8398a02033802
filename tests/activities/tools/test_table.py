"""Every tool is offered with words and a plain schema."""

import json

import pytest

from activities.tools.table import TOOLS, description, schema

OFFERED = sorted(set(TOOLS) - {"invalid"})


def test_the_table_names_each_tool_as_it_names_itself() -> None:
    assert OFFERED == ["bash", "edit", "glob", "grep", "read", "task", "todowrite", "write"]
    assert all(tool.name == name for name, tool in TOOLS.items())


@pytest.mark.parametrize("name", OFFERED)
def test_a_description_names_every_argument(name: str) -> None:
    told = description(TOOLS[name], {"agents": "- x: y"} if name == "task" else {})
    assert all(f"`{field}`" in told or name == "bash" for field in schema(TOOLS[name])["properties"])  # type: ignore[union-attr]


@pytest.mark.parametrize("name", OFFERED)
def test_a_schema_is_an_object_without_titles_references_and_null(name: str) -> None:
    offered = schema(TOOLS[name])
    assert offered["type"] == "object"
    assert not any(f'"{word}"' in json.dumps(offered) for word in ("title", "$ref", "$defs", "anyOf", "null"))


def test_the_schema_comes_from_the_arguments() -> None:
    assert schema(TOOLS["todowrite"]) == {
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string"},
                        "status": {"type": "string"},
                        "priority": {"type": "string"},
                    },
                    "required": ["content", "status", "priority"],
                },
            }
        },
        "required": ["todos"],
    }
    assert schema(TOOLS["glob"])["required"] == ["pattern"]
