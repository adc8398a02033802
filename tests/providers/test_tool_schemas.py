"""Schemas of MCP servers on every wire: no provider refuses a request for one, and none is narrower than it was."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from jsonschema import Draft202012Validator

from activities.model.endpoint import Wire
from activities.model.tool_schemas import clean_tools
from activities.model.wires.router import WireRouter
from tests.providers import anthropic_messages as anthropic
from tests.providers import google_gemini as gemini
from tests.providers import openai_chat as chat
from tests.providers import openai_responses as responses
from tests.providers import schema_refusals
from tests.providers.double_requests import collect_answer, request
from tests.providers.hostile_schemas import ADDRESS, HOSTILE
from tests.providers.provider_double import ProviderDouble, RefusedRequest, StreamPlan, event, serve_double
from workflows.domain.tool_offer import ToolOffer

SERVICES: dict[str, tuple[Wire, str, str, str, Callable[[], ProviderDouble]]] = {
    "Anthropic": (
        *(Wire.ANTHROPIC, "anthropic/claude-sonnet-4-5", "", anthropic.KEY),
        lambda: anthropic.Anthropic(anthropic.Answer((anthropic.Text("OK"),))).double,
    ),
    "Gemini": (
        *(Wire.GEMINI, "gemini/gemini-2.5-pro", "/v1beta", gemini.KEY),
        lambda: gemini.Gemini(gemini.Answer((gemini.Text("OK"),))).double,
    ),
    "Responses": (
        *(Wire.RESPONSES, "openai/gpt-5", "/v1", responses.KEY),
        lambda: responses.OpenAI(responses.Answer((responses.Text("OK"),))).double,
    ),
    "chat": (
        *(Wire.CHAT, "openai/gpt-4o", "/v1", chat.KEY),
        lambda: chat.OpenAIChat(chat.Answer((chat.Text("OK"),))).double,
    ),
    "Kimi": (Wire.CHAT, "openai/kimi-k2.6", "/v1", "k", lambda: ProviderDouble(moonshot)),
    "Gemini by chat": (Wire.CHAT, "openai/google/gemini-3-pro", "/v1", "k", lambda: ProviderDouble(gemini_by_chat)),
}
REFUSED_AS_WRITTEN = {
    schema_refusals.openai: {"nothing at all", "a union as the root", "lists of anything", "older drafts"},
    schema_refusals.anthropic: {"parts of one object", "at least one of some fields", "a tree that holds itself"},
    schema_refusals.gemini: {"a list of types", "references with words beside them", "numbers to choose from"},
    schema_refusals.moonshot: {
        "a type beside its union",
        "a tuple, in both forms",
        "references with words beside them",
        "parameters of any type",
    },
}


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("name", HOSTILE)
async def test_no_provider_refuses_a_schema(port: WireRouter, service: str, name: str) -> None:
    wire, model, path, key, double = SERVICES[service]
    tool = ToolOffer(name="tool", description="A tool \udc00", parameters=HOSTILE[name][0])
    async with serve_double(double()) as served:
        answer = await collect_answer(port, request(wire, model, f"{served.url}{path}", key, tools=(tool,)))

    assert answer.parts and "'tool'" in str(served.asked[0]["tools"])


@pytest.mark.parametrize(("refuse", "names"), REFUSED_AS_WRITTEN.items())
def test_the_doubles_refuse_what_is_not_cleaned(refuse: Callable[[Any], str | None], names: set[str]) -> None:
    assert {name for name in names if refuse(HOSTILE[name][0]) is None} == set()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("service", SERVICES)
def test_what_a_schema_allows_stays_allowed(service: str, name: str) -> None:
    schema, allowed = HOSTILE[name]
    cleaned = Draft202012Validator(clean_schema(schema, service))

    for arguments in allowed:
        Draft202012Validator(schema).validate(arguments)
        cleaned.validate(arguments)


async def test_a_tool_that_no_cleaning_helps_is_left_out_and_logged_by_its_name(
    port: WireRouter, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = {"type": "object", "properties": {"a": {"type": "array", "items": {"properties": {"$filter": {}}}}}}
    tools = tuple(ToolOffer(name=name, description="", parameters=wrong) for name in ("odata",))
    wire, model, path, key, double = SERVICES["Anthropic"]
    async with serve_double(double()) as served:
        with caplog.at_level(logging.WARNING):
            answer = await collect_answer(port, request(wire, model, f"{served.url}{path}", key, tools=tools))

    assert answer.parts and "tools" not in served.asked[0]
    assert "'odata'" in caplog.text and "'$filter'" in caplog.text


def test_meaning_that_has_no_form_is_said() -> None:
    either = clean_schema(HOSTILE["at least one of some fields"][0])
    levels = clean_schema(HOSTILE["numbers to choose from"][0], "Gemini")

    assert either["required"] == ["id"] and either["description"] == "It needs title, or body."
    assert levels["properties"]["level"] == {"type": "integer", "description": "One of 1, 2, 3."}


def test_parts_of_one_object_do_not_shorten_each_others_references() -> None:
    home = {"properties": {"home": {"$ref": "#/$defs/Address"}}}
    parts = {"allOf": [{"$ref": "#/$defs/Address"}, home], "$defs": {"Address": ADDRESS}}

    assert clean_schema(parts)["properties"]["home"] == ADDRESS


def test_numbers_are_chosen_from_numbers() -> None:
    cleaned = clean_schema(HOSTILE["unions and choices that are none"][0])

    assert cleaned["properties"] == {"a": {}, "b": {"type": "number", "enum": [1]}, "c": {}}


def test_parts_that_double_at_each_level_stay_small() -> None:
    doubled = {f"T{n}": {"allOf": [{"$ref": f"#/$defs/T{n + 1}"}] * 2} for n in range(40)}

    assert clean_schema({"$ref": "#/$defs/T0", "$defs": doubled}) == {"type": "object", "properties": {}}


def test_a_schema_of_many_references_stays_small() -> None:
    many = {
        f"T{n}": {"type": "object", "properties": {f"p{m}": {"$ref": f"#/$defs/T{m}"} for m in range(20)}}
        for n in range(20)
    }

    assert len(str(clean_schema({"$ref": "#/$defs/T0", "$defs": many}))) < 500_000


def test_a_schema_nested_as_deeply_as_an_offer_may_be_is_any_object() -> None:
    deep: dict[str, Any] = {}
    for _ in range(120):
        deep = {"allOf": [deep]}

    assert clean_schema(deep) == {"type": "object", "properties": {}}


def clean_schema(schema: dict[str, Any], service: str = "chat") -> dict[str, Any]:
    wire, model, *_ = SERVICES[service]
    (tool,) = clean_tools(
        request(wire, model, "", "k").endpoint, (ToolOffer(name="tool", description="", parameters=schema),)
    )
    return tool.parameters


def moonshot(_: web.Request, body: dict[str, Any]) -> StreamPlan:
    return _by_chat(body, schema_refusals.moonshot)


def gemini_by_chat(_: web.Request, body: dict[str, Any]) -> StreamPlan:
    return _by_chat(body, schema_refusals.gemini)


def _by_chat(body: dict[str, Any], refuse: Callable[[Any], str | None]) -> StreamPlan:
    for tool in body["tools"]:
        if wrong := refuse(tool["function"]["parameters"]):
            raise RefusedRequest(400, {"error": {"message": wrong}})
    done = {"choices": [{"index": 0, "delta": {"content": "OK"}, "finish_reason": "stop"}]}
    return [event(done), b"data: [DONE]\n\n"]
