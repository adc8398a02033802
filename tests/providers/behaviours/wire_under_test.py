"""A wire and the double of its provider, as the behaviours see them. One file for each."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import JsonValue

from activities.model.endpoint import Wire
from activities.model.port import InputMessage, ModelRequest
from tests.providers.behaviours.script import Answer, End, Failure
from tests.providers.double_requests import GO
from tests.providers.double_requests import request as model_request
from tests.providers.provider_double import ProviderDouble, RefusedRequest


class WireUnderTest(ABC):
    """`name` is its column in the table; `model` and `key` are asked with, `path` is that of the address.

    `endpoint` and `headers`: where and with what a request goes.

    `thinks`: whether answers show thoughts; `thinking`: options with which they do; `signs`: whether the provider wants
    more of them back than their text. `caches`: whether it reports cached tokens. `ends`: those that answers have.
    `hints`: headers and bodies of 429 that ask for a pause of 34 s, at the beginning of 2026.
    """

    name: ClassVar[str]
    wire: ClassVar[Wire]
    model: ClassVar[str]
    key: ClassVar[str]
    path: ClassVar[str] = ""
    endpoint: ClassVar[str]
    headers: ClassVar[Mapping[str, str]]
    thinks: ClassVar[bool] = True
    thinking: ClassVar[Mapping[str, JsonValue]] = {}
    signs: ClassVar[bool] = True
    caches: ClassVar[bool] = True
    keep_alive: ClassVar[bytes] = b": still thinking\n\n"
    ends: ClassVar[Mapping[End, str]]
    failures: ClassVar[Mapping[Failure, tuple[int, Any]]]
    hints: ClassVar[Sequence[tuple[Mapping[str, str], Any]]]

    @property
    def model_name(self) -> str:
        """The provider's name of it."""
        return self.model.partition("/")[2]

    @property
    @abstractmethod
    def double(self) -> ProviderDouble:
        """The provider, which refuses wrong requests."""

    @abstractmethod
    def play(self, *answers: Answer) -> None:
        """Answer so, one after the other; the last one again and again."""

    def fail(self, failure: Failure) -> None:
        """Answer every request with this."""
        status, body = self.failures[failure]
        if status == 200:
            self.double.check = lambda *_: [body]
        else:
            self.refuse(status, body, {})

    def bill(self) -> bool:
        """Bill requests as the provider does; False: it caches nothing for a price."""
        return False

    def refuse(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        def check(*_: object) -> Any:
            raise RefusedRequest(status, body, dict(headers))

        self.double.check = check

    def request(self, messages: tuple[InputMessage, ...] = GO, **more: Any) -> ModelRequest:
        """`more`: members of `ModelRequest`."""
        url = f"{self.double.url}{self.path}"
        return model_request(self.wire, self.model, url, self.key, messages, **more)
