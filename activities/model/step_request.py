"""A step's request: its view, as a model gets it."""

import platform
import re
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from activities.model.bound_thoughts import REFUSED, join_entries, newest_answer
from activities.model.endpoints import ResolvedModel
from activities.model.input_messages import convert_entries
from activities.model.model_families import binds_thoughts, gives_patches
from activities.model.port import ModelRequest
from activities.model.result_formats import own_format
from activities.model.step_view import StepView
from activities.model.system_prompt import system_prompt
from activities.store.attempts import RequestForm
from activities.tools.tool import Toolset
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.messages import ContextSummary
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.wire import GenerateRequest

_CLAUDE: Final = re.compile(r"anthropic|claude")


@dataclass(frozen=True)
class StepRequest:
    """`digest` of the question, and the `form` that it can be built from again. `prefix`: as in `AnswerMetadata`."""

    question: ModelRequest
    digest: bytes
    form: RequestForm
    prefix: str | None = None


class StepRequests:
    """Builds steps' requests. `release`: ours."""

    def __init__(self, release: str) -> None:
        self._platform = platform.system().lower()
        self._release = release

    def build(
        self, request: GenerateRequest, view: StepView, model: ResolvedModel, toolset: Toolset, *, thoughtless: bool
    ) -> StepRequest:
        """`thoughtless`: the model has refused its thoughts so far."""
        config, transcript = view.turn_config, view.transcript
        system = system_prompt(config, model.name, platform=self._platform, of_prompt=view.system)
        named = f"{model.endpoint.model}/{model.endpoint.behind}"
        choice = tool_choice(named, text_only=request.text_only and config.format is None, again=request.again)
        encoder, digester, binding = view.memory.of_model(model.name)
        format = own_format(model.endpoint, config.format)
        tools = encoder.make_once(offer_tools, config, lambda: offer_tools(toolset, config, model.name))
        convert = partial(
            convert_entries, transcript, model.name, model.facts, cleared=view.cleared, known=view.memory.answers
        )
        prefix: str | None = REFUSED if thoughtless else None
        if thoughtless or not binds_thoughts(model.endpoint):
            newest = newest_answer(transcript, model.name, refused=not thoughtless)
            messages = join_entries(system, convert(thoughtless=newest))
        else:
            messages, prefix, newest = binding.bind(system, tools, convert)
        question = model.request(messages, tools, choice, request.session, view.parent, encoder=encoder, format=format)
        form = RequestForm(
            model=model.name,
            images=model.facts.images,
            documents=model.facts.documents,
            choice=choice,
            platform=self._platform,
            release=self._release,
            summary=next((entry.id for entry in transcript[:1] if isinstance(entry, ContextSummary)), None),
            pruned=view.pruned,
            thoughtless=newest,
        )
        return StepRequest(question, digester.digest(question, model.name), form, prefix)


def offer_tools(tools: Toolset, turn: TurnConfig, model: str) -> tuple[ToolOffer, ...]:
    """The offers to a "provider/model", sorted by name for the provider's cache of prefixes."""
    fitting = (None, gives_patches(model))
    by_name = (tools[name] for name in sorted(tools) if tools[name].gives_patches in fitting)
    offered = (tool for tool in by_name if tool.always_offered or not turn.rules.hides(tool.permission))
    offers = (tool.offer(turn) for tool in offered)
    return tuple(offer for offer in offers if offer is not None)


def tool_choice(model: str, *, text_only: bool, again: bool) -> Literal["none"] | None:
    """What a step of text only says of the tools, which stay in it for the provider's cache.

    Claude's cache holds no messages for another choice than before (Anthropic's guide to prompt caching, "What
    invalidates the cache"). There a reminder alone asks for text, and calls are refused; if it was not heeded, it is
    asked `again`. `model`: its names, as in `Endpoint`.
    """
    return "none" if text_only and (again or not _CLAUDE.search(model)) else None
