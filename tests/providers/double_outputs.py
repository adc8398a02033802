"""What a double plays of a model, in the words of no protocol, and what it refuses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.providers.provider_double import Disconnect, StreamPause


@dataclass(frozen=True)
class Thought:
    """A model's reasoning; `redacted`: only as an encrypted block."""

    text: str = ""
    redacted: bool = False


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Call:
    """A call; `arguments` are JSON."""

    name: str
    arguments: str = "{}"


Output: TypeAlias = Thought | Text | Call | StreamPause | Disconnect | bytes


@dataclass(frozen=True)
class Answer:
    """A model's answer; `stop_reason` in the provider's words, its usual one unless given."""

    output: Sequence[Output]
    stop_reason: str | None = None


@dataclass(frozen=True)
class Rule:
    """What a provider refuses, in its words; `{}` are filled in.

    `source` says where the rule stands. It is `believed` if the provider publishes it nowhere: people report it.
    """

    words: str
    source: str
    believed: bool = False


def cut_text(text: str, pieces: int = 2) -> list[str]:
    """The text in so many pieces, fewer if it is short."""
    size = max(1, -(-len(text) // pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]
