"""A step's request: its view, as a model gets it."""

import platform

from activities.model.encoded_messages import MessageEncoder
from activities.model.endpoints import ResolvedModel
from activities.model.identity_cache import IdentityCache
from activities.model.input_messages import AnswerCache, to_input_messages
from activities.model.port import ModelRequest
from activities.model.reminders import is_asked_again
from activities.model.step_view import StepView
from activities.model.system_prompt import system_prompt
from activities.model.tool_offers import offer_tools, tool_choice
from activities.tools.toolset import Toolset
from workflows.domain.messages import AssistantMessage, Transcript
from workflows.domain.wire import GenerateRequest


class StepRequests:
    """Builds steps' requests; keeps what a later one of the same conversation can use again."""

    def __init__(self) -> None:
        self._answers: AnswerCache = AnswerCache()
        self._encoders: IdentityCache[AssistantMessage, MessageEncoder] = IdentityCache()

    def build(self, request: GenerateRequest, view: StepView, model: ResolvedModel, toolset: Toolset) -> ModelRequest:
        config = view.turn_config
        system = system_prompt(config, model.name, platform=platform.system().lower())
        messages = to_input_messages(
            system, view.transcript, model.name, model.facts, cleared=view.cleared, answer_cache=self._answers
        )
        again = request.text_only and is_asked_again(view.transcript, request.turn, request.step, config.agent.steps)
        named = f"{model.endpoint.model}/{model.endpoint.behind}"
        choice = tool_choice(named, text_only=request.text_only and config.format is None, again=again)
        encoder = self._encoder(view.transcript, model.name)
        return model.request(messages, offer_tools(toolset, config), choice, request.session, encoder=encoder)

    def _encoder(self, transcript: Transcript, model: str) -> MessageEncoder | None:
        """One for each conversation, for the newest model, as long as the cached transcript lives."""
        first = next((message for message in transcript if isinstance(message, AssistantMessage)), None)
        return self._encoders.get(first, model, lambda _: MessageEncoder()) if first else None
