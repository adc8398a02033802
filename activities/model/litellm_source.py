"""Where the pieces of an answer come from: litellm, and often the OpenAI client below it."""

from collections.abc import AsyncIterator
from typing import Any


class Source:
    """The chunks of one answer."""

    def __init__(self, wrapper: Any) -> None:
        raw = getattr(wrapper, "completion_stream", None)
        by_client = type(raw).__module__.partition(".")[0] == "openai"
        self._wrapper = wrapper
        self._response: Any = raw.response if raw is not None and by_client else None

    def chunks(self) -> AsyncIterator[Any]:
        return aiter(self._wrapper)

    def let_go(self) -> None:
        """Have a closed response forget its stream, which knows the response, too: else both stay, with a long
        conversation's megabytes in them, until the collector of reference cycles comes by, after many steps."""
        if self._response is not None and self._response.is_closed:
            self._response.stream = self._response.request.stream  # which knows nobody, and may be closed again

    @property
    def cut(self) -> bool:
        """Whether the stream has ended without a word about its end, for which litellm makes one up."""
        ends = ("received_finish_reason", "intermittent_finish_reason")
        return not any(getattr(self._wrapper, name, None) for name in ends)
