"""What the scripted model says: a script is a list of answers, with the faults that may befall them."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, JsonValue, TypeAdapter

from workflows.domain.value import Value

DEFAULT: Final = "default"  # the script of a conversation without a marker
_MARKER: Final = re.compile(r"\[\[script:([\w.-]+)\]\]")


class Refuse(Value):
    """Answer with an HTTP error instead of a stream."""

    kind: Literal["refuse"] = "refuse"
    status: int = 429
    headers: dict[str, str] = {}
    body: JsonValue = {"error": {"message": "Rate limit reached", "type": "rate_limit_error"}}


class Page(Value):
    """Answer with a document, as whatever else may listen at an address does, instead of a stream."""

    kind: Literal["page"] = "page"
    content_type: str = "text/html"
    body: str = "<!doctype html><title>Welcome</title>"


class Drop(Value):
    """Cut the connection: after so many chunks, or before the answer has begun (`after` is None)."""

    kind: Literal["drop"] = "drop"
    after: int | None = None


class Stall(Value):
    """Go silent, before the answer has begun (`after` is None) or after so many chunks, until the client leaves."""

    kind: Literal["stall"] = "stall"
    after: int | None = None


class Garbage(Value):
    """Send an event that is no JSON after so many chunks, and end the stream there."""

    kind: Literal["garbage"] = "garbage"
    after: int = 0
    data: str = '{"choices": [{"delta": {"content": "half'


class StreamError(Value):
    """Report an error inside the stream after so many chunks, as providers do once the status line is sent."""

    kind: Literal["error"] = "error"
    after: int = 0
    error: JsonValue = {"code": "server_error", "message": "The server had an error"}


class Hold(Value):
    """After so many chunks, create `path`.reached, and go on once `path` exists."""

    kind: Literal["hold"] = "hold"
    after: int = 0
    path: str


Fault = Annotated[Refuse | Page | Drop | Stall | Garbage | StreamError | Hold, Field(discriminator="kind")]


class ScriptedCall(Value):
    """A tool call; `arguments` as text are sent as they stand, however broken."""

    name: str
    arguments: dict[str, JsonValue] | str = {}
    id: str | None = None

    @property
    def raw(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class ScriptedUsage(Value):
    """Token counts as the provider reports them: `input` holds `cached`, `output` holds `reasoning`."""

    input: int
    output: int
    reasoning: int = 0
    cached: int = 0


class ScriptedAnswer(Value):
    """One model answer. `faults` maps the n-th request for this answer (from 1) to what goes wrong then.

    `chunk` is the length in characters of the pieces in which text and arguments are sent, `delay` the pause
    in seconds after each of them. Without `usage`, four characters count as a token.
    """

    text: str = ""
    reasoning: str = ""
    tools: tuple[ScriptedCall, ...] = ()
    finish: str | None = None
    usage: ScriptedUsage | None = None
    chunk: int = Field(default=16, ge=1)
    delay: float = Field(default=0, ge=0)
    interleaved: bool = False
    faults: dict[int, Fault] = {}

    @property
    def reason(self) -> str:
        return self.finish or ("tool_calls" if self.tools else "stop")


class Script(Value):
    """Answers in order; `aside` answers requests that offer no tools (titles, summaries), where it is given."""

    answers: tuple[ScriptedAnswer, ...]
    aside: ScriptedAnswer | None = None


class Cue(Value):
    """Where a conversation stands: the script that its newest marker names, and how many answers came since."""

    script: str
    step: int


_scripts: Final = TypeAdapter(dict[str, Script])


def read_scripts(path: Path) -> Mapping[str, Script]:
    """The scripts of a JSON file: an object from name to script."""
    return _scripts.validate_json(path.read_bytes())


def cue(messages: Sequence[Mapping[str, Any]]) -> Cue:
    """The cue follows from the conversation alone, so a repeated request gets the same answer."""
    name, step = DEFAULT, 0
    for message in messages:
        marker = _MARKER.search(json.dumps(message.get("content"))) if message["role"] == "user" else None
        if marker:
            name, step = marker[1], 0
        step += message["role"] == "assistant"
    return Cue(script=name, step=step)
