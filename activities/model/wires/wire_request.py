"""A request of any protocol, and its tools; apart from the HTTP client, which commands do not load."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pydantic_core import to_json

from activities.model.port import AssistantInput, InputMessage, ModelRequest, ToolResultInput
from activities.model.request_json import EncodedJson, JsonDict
from workflows.domain.tool_offer import ToolOffer


@dataclass(frozen=True)
class WireRequest:
    """A request as sent; `pieces`: of its body."""

    url: str
    headers: dict[str, str]
    pieces: tuple[bytes, ...]

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


def encode_tools(request: ModelRequest, form: Callable[[ToolOffer], JsonDict]) -> EncodedJson | None:
    """The list of the tools in their `form`, the same for each request of the wire; None without tools."""
    if not request.tools:
        return None
    tools = request.tools
    return request.encoder.make_once(
        request.endpoint.wire, tools, lambda: EncodedJson(to_json([form(tool) for tool in tools]))
    )


class CalledTools:
    """Names the called tool of each result; reads no more of the conversation than it takes."""

    def __init__(self, messages: Sequence[InputMessage]) -> None:
        self._unread = _find_tools(messages)
        self._found: dict[int, str] = {}  # by the result's identity

    def of(self, result: ToolResultInput) -> str:
        while id(result) not in self._found:
            each, name = next(self._unread)
            self._found[id(each)] = name
        return self._found[id(result)]


def _find_tools(messages: Sequence[InputMessage]) -> Iterator[tuple[ToolResultInput, str]]:
    """The results, the newest first, and the names of the calls that they are of."""
    results: list[ToolResultInput] = []
    for message in reversed(messages):
        if isinstance(message, ToolResultInput):
            results.append(message)
        elif isinstance(message, AssistantInput):
            names = {call.id: call.name for call in message.calls}
            yield from ((result, names.get(result.call, "")) for result in results)
            results.clear()
    yield from ((result, "") for result in results)
