"""The names of the tools that results are of: some protocols want them."""

from collections.abc import Iterator, Sequence

from activities.model.port import AssistantInput, InputMessage, ToolResultInput


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
