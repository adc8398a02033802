"""Servers of OpenAI's chat protocol that refuse what their own types lack, such as `reasoning_content`.

Requests and streams are those of Groq's package; Cerebras takes `prompt_cache_key`, too. The refusals are in the words
of Groq or Cerebras. Reasoning comes, and is taken back, as `reasoning`.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from groq.types import chat
from groq.types.chat.chat_completion_chunk import ChatCompletionChunk
from groq.types.chat.chat_completion_message_tool_call_param import Function
from groq.types.chat.completion_create_params import CompletionCreateParams
from groq.types.shared_params import FunctionDefinition

from tests.providers.chat_forms import ChatForms, Misfit
from tests.providers.double_outputs import Rule
from tests.providers.openai_chat import KEY, Answer, OpenAIChat
from tests.providers.provider_double import RefusedRequest

__all__ = ["FORMS", "KEY", "RULES", "StrictChat", "Vendor"]
FORMS: Final = ChatForms(
    body=CompletionCreateParams,
    messages={
        "system": chat.ChatCompletionSystemMessageParam,
        "developer": chat.ChatCompletionSystemMessageParam,
        "user": chat.ChatCompletionUserMessageParam,
        "assistant": chat.ChatCompletionAssistantMessageParam,
        "tool": chat.ChatCompletionToolMessageParam,
    },
    pieces={
        "text": chat.ChatCompletionContentPartTextParam,
        "image_url": chat.ChatCompletionContentPartImageParam,
    },
    call=chat.ChatCompletionMessageToolCallParam,
    call_function=Function,
    tool=chat.ChatCompletionToolParam,
    tool_function=FunctionDefinition,
    taken=frozenset({"stream_options"}),  # recorded: charmbracelet/fantasy, TestOpenAICompatibleCommon/groq-kimi-k2
)
_CHOICES: Final = ("auto", "none", "required")


class Vendor(StrEnum):
    """Whose words a server uses, and whose members it takes beside Groq's."""

    GROQ = "Groq"
    CEREBRAS = "Cerebras"


_OWN: Final[Mapping[Vendor, set[str]]] = {
    Vendor.CEREBRAS: {"prompt_cache_key"}
}  # cerebras_cloud_sdk 1.91.0, completion_create_params.py
RULES: Final[Mapping[Vendor, Mapping[str, Rule]]] = {
    Vendor.GROQ: {
        "parameter": Rule("property '{name}' is unsupported", "janhq/jan 8136"),
        "member": Rule(
            "'{message}' : for 'role:{role}' the following must be satisfied[('{place}' : property '{name}' is "
            "unsupported)]",
            "janhq/jan 8136, NousResearch/hermes-agent 11089",
        ),
    },
    Vendor.CEREBRAS: {
        "parameter": Rule("property '{name}' is unsupported", "proxysoul/Empryo 209"),
        "member": Rule(
            "{message}.{role}.{name}: property '{message}.{role}.{name}' is unsupported", "Kilo-Org/kilocode 10375"
        ),
    },
}


class StrictChat(OpenAIChat):
    """The server."""

    forms = FORMS
    piece = ChatCompletionChunk
    reasoning = "reasoning"

    def __init__(self, *answers: Answer, vendor: Vendor = Vendor.GROQ) -> None:
        super().__init__(*answers)
        self.vendor = vendor
        self.forms = replace(FORMS, taken=FORMS.taken | _OWN.get(vendor, set()))

    def validate(self, body: dict[str, Any]) -> None:
        super().validate(body)
        if isinstance(choice := body.get("tool_choice", "auto"), str) and choice not in _CHOICES:
            raise self._refusal(f"tool_choice must be one of {', '.join(_CHOICES)}")
        if self.vendor is Vendor.GROQ and "response_format" in body:
            raise self._refusal("Streaming and tool use are not currently supported with Structured Outputs")

    def misfit(self, misfit: Misfit, body: dict[str, Any]) -> RefusedRequest:
        if misfit.reason:
            return self._refusal(f"'{misfit.path}' : {misfit.reason}")
        *place, name = misfit.place
        rule = "member" if place[:1] == ["messages"] else "parameter"
        role = body["messages"][place[1]]["role"] if rule == "member" else ""
        message = ".".join(map(str, place[:2]))
        words = RULES[self.vendor][rule].words
        return self._refusal(words.format(name=name, role=role, message=message, place=".".join(map(str, place))))

    def _refusal(self, message: str) -> RefusedRequest:
        """Cerebras puts no `error` around it."""
        refusal = {"message": message, "type": "invalid_request_error"}
        if self.vendor is Vendor.CEREBRAS:
            return RefusedRequest(400, {**refusal, "param": "validation_error", "code": "wrong_api_format"})
        return RefusedRequest(400, {"error": refusal})
