"""A step's request: its view, as a model gets it."""

import platform
from dataclasses import dataclass

from activities.model.encoded_messages import MessageEncoder
from activities.model.endpoints import ResolvedModel
from activities.model.identity_cache import IdentityCache
from activities.model.input_messages import AnswerCache, to_input_messages
from activities.model.port import ModelRequest
from activities.model.reminders import is_asked_again
from activities.model.request_digest import RequestDigester
from activities.model.result_formats import own_format
from activities.model.step_view import StepView
from activities.model.system_prompt import system_prompt
from activities.model.tool_offers import offer_tools, tool_choice
from activities.store.attempts import RequestForm
from activities.tools.toolset import Toolset
from workflows.domain.messages import AssistantMessage, ContextSummary, Transcript
from workflows.domain.wire import GenerateRequest


@dataclass(frozen=True)
class StepRequest:
    """`digest` of the question, and the `form` that it can be built from again."""

    question: ModelRequest
    digest: bytes
    form: RequestForm


class StepRequests:
    """Builds steps' requests; keeps what a later one of the same conversation can use again. `release`: ours."""

    def __init__(self, release: str) -> None:
        self._platform = platform.system().lower()
        self._release = release
        self._answers: AnswerCache = AnswerCache()
        self._encoders: IdentityCache[AssistantMessage, tuple[MessageEncoder, RequestDigester]] = IdentityCache()

    def build(self, request: GenerateRequest, view: StepView, model: ResolvedModel, toolset: Toolset) -> StepRequest:
        config = view.turn_config
        system = system_prompt(config, model.name, platform=self._platform)
        messages = to_input_messages(
            system, view.transcript, model.name, model.facts, cleared=view.cleared, answer_cache=self._answers
        )
        again = request.text_only and is_asked_again(view.transcript, request.turn, request.step, config.agent.steps)
        named = f"{model.endpoint.model}/{model.endpoint.behind}"
        choice = tool_choice(named, text_only=request.text_only and config.format is None, again=again)
        encoder, digester = self._kept(view.transcript, model.name)
        format = own_format(model.endpoint, config.format)
        tools = offer_tools(toolset, config)
        question = model.request(messages, tools, choice, request.session, encoder=encoder, format=format)
        form = RequestForm(
            model=model.name,
            images=model.facts.images,
            documents=model.facts.documents,
            choice=choice,
            platform=self._platform,
            release=self._release,
            summary=next((entry.id for entry in view.transcript[:1] if isinstance(entry, ContextSummary)), None),
            pruned=view.pruned,
        )
        return StepRequest(question, digester.digest(question, model.name), form)

    def _kept(self, transcript: Transcript, model: str) -> tuple[MessageEncoder, RequestDigester]:
        """One each for each conversation, for the newest model, as long as the cached transcript lives."""
        first = next((message for message in transcript if isinstance(message, AssistantMessage)), None)
        if first is None:
            return MessageEncoder(), RequestDigester()
        return self._encoders.get(first, model, lambda _: (MessageEncoder(), RequestDigester()))
