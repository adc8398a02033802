"""Prefix checks on thinking blocks, around any double whose service signs thoughts.

By Anthropic's pages "Preserved thinking" and "Prefix checks on thinking blocks": a thought is bound to the
instructions, the tools and the messages before it, and to the thought before it. The request is refused if any of these
has changed since, or the block is dropped where `block_binding` says so. Thoughts may be left out from the beginning.
"""

import json
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, Final

from aiohttp import web

from tests.providers.provider_double import ProviderDouble, RefusedRequest, StreamPlan

BETA: Final = "thinking-binding-controls-2026-08-01"
UNKNOWN: Final = "Invalid `signature` in `thinking` block"
MISMATCH: Final = "Invalid `signature` in `thinking` block. The block is bound to a different conversation."
_GIVEN: Final = re.compile(rb'"signature": ?"([^"]+)"')
_UNBOUND_MEMBERS: Final = ("cache_control", "reasoning", "reasoning_details")
_UNBOUND_BLOCKS: Final = ("reasoningContent", "cachePoint")
_PREFIX: Final = ("system", "tools", "toolConfig")


class PreservedThinking:
    """Checks every request to `double`. `sent`: how many thoughts each had; `failed`: what failed the check.

    `refusal`: a refusal with these words, as the service puts it."""

    def __init__(self, double: ProviderDouble, refusal: Callable[[str], RefusedRequest]) -> None:
        self.bound: dict[str, tuple[str, str | None]] = {}  # by signatures: the prefix, and the thought before
        self.sent: list[int] = []
        self.failed: list[str] = []
        self._refusal, self._check = refusal, double.check
        double.check = self.check

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        before: str | None = None
        failed, count = [], 0
        for number, message in enumerate(body["messages"]):
            prefix = _prefix(body, number)
            for signature in _signatures(message):
                if signature not in self.bound:  # nothing drops it
                    raise self._refusal(UNKNOWN)
                bound, follows = self.bound[signature]
                if bound != prefix or before not in (None, follows):
                    failed.append(f"request {len(self.sent)}: message {number} of {len(body['messages'])}")
                before, count = signature, count + 1
        self.sent.append(count)
        self.failed += failed
        if failed and not _drops(request, body, self._refusal):
            raise self._refusal(MISMATCH)
        played = self._check(request, body)
        prefix = _prefix(body, len(body["messages"]))
        for found in _GIVEN.findall(b"".join(piece for piece in played if isinstance(piece, bytes))):
            self.bound[found.decode()] = prefix, before
            before = found.decode()
        return played


def _drops(request: web.Request, body: dict[str, Any], refusal: Callable[[str], RefusedRequest]) -> bool:
    """Whether the service is to drop what fails; by a beta only."""
    fields = body.get("additionalModelRequestFields", body)
    binding = (fields.get("thinking") or {}).get("block_binding")
    betas = (*request.headers.get("anthropic-beta", "").split(","), *fields.get("anthropic_beta", ()))
    if binding is not None and BETA not in betas:
        raise refusal("thinking.adaptive.block_binding: Extra inputs are not permitted")
    return binding == {"prefix_mismatch_behavior": "drop_block"}


def _prefix(body: dict[str, Any], messages: int) -> str:
    """The digest of what is before the message of this number."""
    return sha256(bound_form(body, messages)).hexdigest()


def bound_form(body: dict[str, Any], messages: int) -> bytes:
    """What thoughts behind so many messages are bound to."""
    fixed = {name: body[name] for name in _PREFIX if name in body}
    fixed["toolConfig"] = fixed.get("toolConfig", {}).get("tools")
    whole = _canonical([fixed, *body["messages"][:messages]])
    return json.dumps(whole, sort_keys=True).encode()


def _canonical(value: Any) -> Any:
    """Without thoughts and marks of caches."""
    if isinstance(value, list):
        return [_canonical(each) for each in value if not _is_unbound(each)]
    if isinstance(value, dict):
        return {name: _canonical(each) for name, each in value.items() if name not in _UNBOUND_MEMBERS}
    return value


def _is_unbound(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    return "thinking" in str(block.get("type")) or any(name in block for name in _UNBOUND_BLOCKS)


def _signatures(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(signature := value.get("signature"), str):
            yield signature
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _signatures(each)
