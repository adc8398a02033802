"""OpenAI's models at Azure: addresses, keys and failures of a resource, and what Azure adds to each stream.

Messages and parameters are OpenAI's. The form of the streams is that of recorded ones: charmbracelet/fantasy,
providertests/testdata/TestAzureCommon and TestAzureResponsesCommon.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from aiohttp import web

from tests.providers.double_outputs import Rule
from tests.providers.openai_chat import Answer, OpenAIChat
from tests.providers.openai_responses import OpenAI
from tests.providers.provider_double import Disconnect, RefusedRequest, StreamPause, event

KEY: Final = "azure-local"
VERSION: Final = "2024-10-21"
_REFERENCE: Final = "learn.microsoft.com/azure/ai-services/openai/reference"
_LIFECYCLE: Final = "learn.microsoft.com/azure/ai-services/openai/api-version-lifecycle"
RULES: Final[Mapping[str, Rule]] = {
    "key": Rule(
        "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
        "active subscription and use a correct regional API endpoint for your resource.",
        _REFERENCE,
    ),
    "address": Rule("Resource not found", _LIFECYCLE),
    "deployment": Rule(
        "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, "
        "please wait a moment and try again.",
        _REFERENCE,
    ),
    "version": Rule("API version not supported", _LIFECYCLE),
    "query": Rule("Unrecognized query parameter: {}", "no report of either", believed=True),
}
DEPLOYMENTS: Final = ("gpt-4.1", "gpt-5.3-codex")
_V1: Final = "/openai/v1/"
_ADDRESSES: Final = {
    "chat/completions": re.compile(r"/openai/(?:v1|deployments/(?P<deployment>[^/]+))/chat/completions"),
    "responses": re.compile(r"/openai/(?:v1/)?responses(?P<deployment>)"),
}
_DATED: Final = re.compile(r"\d{4}-\d\d-\d\d(-preview)?")
_SAFE: Final = {"filtered": False, "severity": "safe"}
_CATEGORIES: Final = ("hate", "self_harm", "sexual", "violence")
FILTERS: Final = {**dict.fromkeys(_CATEGORIES, _SAFE), "jailbreak": {"filtered": False, "detected": False}}


def error_body(code: str, message: str, **more: Any) -> dict[str, Any]:
    """A refusal of Azure."""
    return {"error": {"code": code, "message": message, **more}}


def filtered_prompt() -> dict[str, Any]:
    """What Azure answers with status 400 to a prompt that its filter blocks."""
    blocked = {**FILTERS, "violence": {"filtered": True, "severity": "medium"}}
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": blocked}
    message = (
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please "
        "modify your prompt and retry."
    )
    return error_body("content_filter", message, param="prompt", type=None, status=400, innererror=inner)


def _refused(status: int, code: str, rule: str, *details: str) -> RefusedRequest:
    return RefusedRequest(status, error_body(code, RULES[rule].words.format(*details)))


def admit(request: web.Request, body: dict[str, Any], operation: str) -> None:
    """Refuse an address, a version, a deployment or a key that the resource does not have."""
    place = _ADDRESSES[operation].fullmatch(request.path)
    if place is None:
        raise _refused(404, "404", "address")
    for name in request.query.keys() - {"api-version"}:
        raise _refused(400, "BadRequest", "query", name)
    version, dated = request.query.get("api-version"), not request.path.startswith(_V1)
    if dated and not _DATED.fullmatch(version or ""):
        raise _refused(404, "404", "address")
    if not dated and version not in (None, "v1", "preview", "latest"):
        raise _refused(400, "BadRequest", "version")
    # `Bearer` is for a token of Entra; the addresses of v1 take a key there too, as OpenAI's client sends it
    bearer = None if dated else request.headers.get("authorization")
    if request.headers.get("api-key") != KEY and bearer != f"Bearer {KEY}":
        raise _refused(401, "401", "key")
    if (place["deployment"] or body.get("model")) not in DEPLOYMENTS:
        raise _refused(404, "DeploymentNotFound", "deployment")


class AzureChat(OpenAIChat):
    """Chat completions of a resource."""

    def admit(self, request: web.Request, body: dict[str, Any]) -> None:
        admit(request, body, "chat/completions")
        if "model" not in body:  # the address has it
            body["model"] = request.path.split("/")[3]

    def chunk(self, body: dict[str, Any], choices: list[dict[str, Any]], **more: Any) -> bytes:
        filtered = [{**choice, "content_filter_results": _results(choice)} for choice in choices]
        return super().chunk(body, filtered, **{"usage": None, "obfuscation": "ZKaqV", **more})

    def _play(self, body: dict[str, Any], answer: Answer) -> Iterator[bytes | StreamPause | Disconnect]:
        prompt = [{"prompt_index": 0, "content_filter_results": FILTERS}]
        empty = {"choices": [], "created": 0, "id": "", "model": "", "object": ""}
        yield event({**empty, "prompt_filter_results": prompt})
        yield from super()._play(body, answer)


def _results(choice: dict[str, Any]) -> dict[str, Any]:
    if choice["finish_reason"] == "content_filter":
        return {**FILTERS, "hate": {"filtered": True, "severity": "high"}}
    return FILTERS if choice["delta"].get("content") else {}


class AzureResponses(OpenAI):
    """The Responses API of a resource."""

    members = {
        "content_filters": [{"blocked": False, "source_type": "prompt", "content_filter_results": FILTERS}],
        "service_tier": "default",
    }

    def admit(self, request: web.Request, body: dict[str, Any]) -> None:
        admit(request, body, "responses")
