"""What a model answers, in no provider's form."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from tests.providers.provider_double import Disconnect, StreamPause


@dataclass(frozen=True)
class Thought:
    text: str


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Call:
    name: str
    arguments: str


Output: TypeAlias = Thought | Text | Call | StreamPause | Disconnect | bytes


class End(StrEnum):
    """Why an answer ends."""

    STOP = "stop"
    LENGTH = "length"
    REFUSAL = "refusal"
    FILTER = "content filter"
    WINDOW = "window exceeded"
    MALFORMED = "malformed call"


@dataclass(frozen=True)
class Answer:
    output: Sequence[Output]
    end: End = End.STOP


class Failure(StrEnum):
    """What a provider answers instead: its status, or where the failure is."""

    KEY = "401: a wrong key"
    CREDIT = "402: no credit"
    MODEL = "404: no such model"
    TIMEOUT = "408: a timeout"
    TOO_LARGE = "413: too large"
    TOO_LONG = "400: too long for the model"
    RATE = "429: too many requests"
    QUOTA = "429: the quota is used up"
    SERVER = "500: an error of the server"
    GATEWAY = "502: a page of a gateway"
    OVERLOADED = "503 or 529: overloaded"
    IN_STREAM = "overloaded in the middle of an answer"
    AS_SUCCESS = "an error with status 200"
