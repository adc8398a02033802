"""The digest of what a model is sent, to compare a request that is rebuilt later.

SHA-256 over lines of JSON: each message in order, the instructions first; then the model's name, the tools, and what is
said of their choice. Keys, headers, options and a protocol's own form are not in it.
"""

import json
from hashlib import sha256
from typing import Any, Final

from activities.model.port import InputMessage, ModelRequest
from workflows.domain.tool_offer import ToolOffer

_NO_OFFERS: Final = json.dumps([])


class RequestDigester:
    """Digests the requests of one conversation: it hashes only what the request before did not have. It lives as long
    as the conversation in memory."""

    def __init__(self) -> None:
        self._messages: tuple[InputMessage, ...] = ()
        self._state = sha256()  # after them
        self._offers: tuple[tuple[ToolOffer, ...], str] = (), _NO_OFFERS

    def digest(self, request: ModelRequest, model: str) -> bytes:
        """`model`: "provider/model"."""
        messages, known = request.messages, len(self._messages)
        if messages[:known] != self._messages:
            known, self._state = 0, sha256()
        for message in messages[known:]:
            self._state.update(json_line(message.model_dump()))
        self._messages = messages
        whole = self._state.copy()
        whole.update(json_line({"model": model, "tools": self._encode(request.tools), "choice": request.tool_choice}))
        return whole.digest()

    def _encode(self, offers: tuple[ToolOffer, ...]) -> str:
        if self._offers[0] != offers:
            self._offers = offers, _json([offer.model_dump() for offer in offers])
        return self._offers[1]


def json_line(value: Any) -> bytes:
    """A line of what is hashed."""
    return f"{_json(value)}\n".encode()


def _json(value: Any) -> str:
    """JSON in ASCII: UTF-8 cannot encode a lone surrogate."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
