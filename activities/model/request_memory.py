"""What a session's next request can use again of its last one."""

from collections.abc import Callable, Hashable
from typing import TypeAlias

from activities.model.bound_thoughts import ThoughtBinding
from activities.model.encoded_messages import MessageEncoder
from activities.model.port import InputMessage
from activities.model.request_digest import RequestDigester
from workflows.domain.ids import MessageId
from workflows.domain.messages import AssistantMessage

Messages: TypeAlias = tuple[InputMessage, ...]


class AnswerMessages:
    """Answers as a model's messages, of the newest form each."""

    def __init__(self) -> None:
        self._made: dict[MessageId, tuple[AssistantMessage, Hashable, Messages]] = {}

    def get(self, answer: AssistantMessage, form: Hashable, make: Callable[[AssistantMessage], Messages]) -> Messages:
        """The result of `make`, which depends on the answer and `form`."""
        known = self._made.get(answer.id)
        # Not by content: comparing answers would cost as much as making their messages.
        if known is not None and known[0] is answer and known[1] == form:
            return known[2]
        made = make(answer)
        self._made[answer.id] = answer, form, made
        return made

    def __len__(self) -> int:
        return len(self._made)


class RequestMemory:
    """Encoded parts of one conversation's last request; lives with its cached transcript."""

    def __init__(self) -> None:
        self.answers = AnswerMessages()
        self._model = ""
        self._encoder = MessageEncoder()
        self._digester = RequestDigester()
        self._binding = ThoughtBinding("")

    def of_model(self, model: str) -> tuple[MessageEncoder, RequestDigester, ThoughtBinding]:
        if model != self._model:
            self._model, self._encoder, self._digester = model, MessageEncoder(), RequestDigester()
            self._binding = ThoughtBinding(model)
        return self._encoder, self._digester, self._binding
