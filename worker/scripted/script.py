"""Scripts of the model: answers and their faults."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field, JsonValue

from workflows.domain.value import Value

DEFAULT_SCRIPT: Final = "default"  # for conversations without a marker
_MARKER: Final = re.compile(r"\[\[script:([\w.-]+)\]\]")


class Refuse(Value):
    """Answer with an HTTP error instead of a stream."""

    kind: Literal["refuse"] = "refuse"
    status: int = 429
    headers: dict[str, str] = {}
    body: JsonValue = {"error": {"message": "Rate limit reached", "type": "rate_limit_error"}}


class WebPage(Value):
    """Answer with a document, as another program may."""

    kind: Literal["page"] = "page"
    content_type: str = "text/html"
    body: str = "<!doctype html><title>Welcome</title>"


class Drop(Value):
    """Cut the connection after `after` chunks, or before the answer (None)."""

    kind: Literal["drop"] = "drop"
    after: int | None = None


class Stall(Value):
    """Go silent after `after` chunks, or before the answer (None), until the client leaves."""

    kind: Literal["stall"] = "stall"
    after: int | None = None


class Garbage(Value):
    """Send an event that is no JSON after `after` chunks, and end the stream."""

    kind: Literal["garbage"] = "garbage"
    after: int = 0
    data: str = '{"choices": [{"delta": {"content": "half'


class StreamError(Value):
    """Report an error inside the stream after `after` chunks."""

    kind: Literal["error"] = "error"
    after: int = 0
    error: JsonValue = {"code": "server_error", "message": "The server had an error"}


class Hold(Value):
    """After `after` chunks, create `path`.reached; go on once `path` exists."""

    kind: Literal["hold"] = "hold"
    after: int = 0
    path: str


ScriptedFault = Annotated[Refuse | WebPage | Drop | Stall | Garbage | StreamError | Hold, Field(discriminator="kind")]


class ScriptedCall(Value):
    """`arguments` given as text are sent verbatim, even if broken."""

    name: str
    arguments: dict[str, JsonValue] | str = {}
    id: str | None = None

    @property
    def raw(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class ScriptedUsage(Value):
    """As providers report them: `input` includes `cached`, `output` includes `reasoning`. `service`: the tier that
    served the answer."""

    input: int
    output: int
    reasoning: int = 0
    cached: int = 0
    service: str | None = None


class ScriptedAnswer(Value):
    """`faults` maps the answer's n-th request (from 1) to a fault.

    Pieces have `chunk` characters, pauses `delay` seconds. Without `usage`, four characters count as a token.
    """

    text: str = ""
    reasoning: str = ""
    tools: tuple[ScriptedCall, ...] = ()
    finish: str | None = None
    usage: ScriptedUsage | None = None
    chunk: int = Field(default=16, ge=1)
    delay: float = Field(default=0, ge=0)
    interleaved: bool = False
    faults: dict[int, ScriptedFault] = {}

    @property
    def reason(self) -> str:
        return self.finish or ("tool_calls" if self.tools else "stop")


class Script(Value):
    """`auxiliary_answer`: for requests without tools (titles, summaries). `last_answer`: for those that forbid calls.

    The faults of each count together.
    """

    answers: tuple[ScriptedAnswer, ...]
    auxiliary_answer: ScriptedAnswer | None = None
    last_answer: ScriptedAnswer | None = None

    def unlisted_answer(self, body: Mapping[str, Any]) -> tuple[int, ScriptedAnswer] | None:
        """One that is not in the list, with a negative place of its own."""
        if self.auxiliary_answer and not body.get("tools"):
            return -1, self.auxiliary_answer
        return (-2, self.last_answer) if self.last_answer and body.get("tool_choice") == "none" else None


class ScriptPosition(Value):
    """The newest marker's script, and the answers since."""

    script: str
    step: int


def script_position(messages: Sequence[Mapping[str, Any]]) -> ScriptPosition:
    """From the messages alone: a repeated request gets the same answer."""
    name, step = DEFAULT_SCRIPT, 0
    for message in messages:
        marker = _MARKER.search(json.dumps(message.get("content"))) if message["role"] == "user" else None
        if marker:
            name, step = marker[1], 0
        step += message["role"] == "assistant"
    return ScriptPosition(script=name, step=step)
