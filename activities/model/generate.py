"""Model.generate: view → answer → prepared calls."""

import asyncio
import platform
from dataclasses import dataclass
from datetime import date

from temporalio import activity

from activities.calls.description import CallDescriber
from activities.calls.permissions import PermissionEvaluator
from activities.calls.planner.planner import Planner
from activities.calls.prepare import CallPreparer
from activities.model.answer import AnswerStream
from activities.model.attempt import Attempt, Attempts
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.input_messages import AnswerCache, to_input_messages
from activities.model.port import ModelRequest
from activities.model.system_prompt import system_prompt
from activities.model.tool_offers import offer_tools
from activities.project.project_loader import ProjectLoader
from activities.store import prompts, turns
from activities.store.generations import StoredAnswer, Suspended, TurnOver
from activities.store.transcript_cache import TranscriptCache
from activities.tools.toolset import Toolsets
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.generation import Generation, Purpose
from workflows.domain.messages import Transcript
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.step_flaw import find_flaw
from workflows.domain.wire import FINISH_STOPPED, FINISH_SUSPENDED, GenerateRequest, StepResult


@dataclass(frozen=True)
class StepView:
    """What a step asks with."""

    transcript: Transcript
    turn_config: TurnConfig


class Model:
    """Asks the model for a step's answer, and stores it once.

    A second attempt returns the committed answer, or replaces a partial one.
    """

    def __init__(
        self,
        attempts: Attempts,
        answers: AnswerStream,
        endpoints: EndpointResolver,
        loader: ProjectLoader,
        toolsets: Toolsets,
        describe: CallDescriber,
        planner: Planner | None = None,
    ) -> None:
        self.attempts = attempts
        self.answers = answers
        self.endpoints = endpoints
        self.loader = loader
        self.toolsets = toolsets
        self.describe = describe
        self.planner = planner
        self.transcripts = TranscriptCache()
        self.answer_cache: AnswerCache = AnswerCache()

    @activity.defn(name="holdfast.model.generate")
    async def generate(self, request: GenerateRequest) -> StepResult:
        step = Generation(id=request.generation, purpose=Purpose.STEP, turn=request.turn, step=request.step)
        async with self.attempts.start(request, step) as attempt:
            view = await self.begin(request, attempt)
            if isinstance(view, StepResult):
                return view
            turn, config = attempt.turn_status, view.turn_config
            model = await self.endpoints.resolve(turn.model, config.config)
            context = self.loader.turn_context(config.directory, config)
            preparer = CallPreparer(
                request, attempt.generation.message, self.toolsets.of(config), context, self.planner
            )
            question = self.model_request(request, view, model)
            answer = await self.answers.get(attempt, model, question, turn.agent, preparer.prepare)
            stored = await attempt.store(answer)
        if isinstance(stored, TurnOver):
            return StepResult(finish=FINISH_STOPPED)
        return self.step_result(request, stored, config.rules)

    async def begin(self, request: GenerateRequest, attempt: Attempt) -> StepView | StepResult:
        """Register the attempt, take the steered prompts, and read the view; a result if the model is not to be asked.

        Raises as `Attempt.begin`.
        """
        async with attempt.registration() as journal:
            begun, steered, transcript = await asyncio.gather(
                attempt.begin(journal), prompts.steered(journal), self.transcripts.read(journal, request.session)
            )
            match begun:
                case TurnOver():
                    return StepResult(finish=FINISH_STOPPED)
                case Suspended():
                    return StepResult(finish=FINISH_SUSPENDED)
                case StoredAnswer():
                    turn = await turns.turn_status(journal, request.turn)
                    config = await turns.turn_config(journal, turn.turn_config)
                    return self.step_result(request, begun, config.rules)
            for prompt in steered:
                prompts.take(journal, prompt, request.turn, request.step)
            if steered:
                transcript = await self.transcripts.read(journal, request.session)
            return StepView(transcript, await turns.turn_config(journal, attempt.turn_status.turn_config))

    def model_request(self, request: GenerateRequest, view: StepView, model: ResolvedModel) -> ModelRequest:
        config = view.turn_config
        system = system_prompt(config, model.name, platform=platform.system().lower(), today=date.today())
        messages = to_input_messages(
            system,
            view.transcript,
            model.name,
            model.facts,
            text_only=request.text_only,
            answer_cache=self.answer_cache,
        )
        tools = offer_tools(self.toolsets.of(config), config)
        # The tools stay in a step of text only: providers cache the prefix.
        return model.request(messages, tools, tool_choice="none" if request.text_only else None)

    def step_result(self, request: GenerateRequest, answer: StoredAnswer, rules: Ruleset) -> StepResult:
        """The calls are judged by the turn's rules and the live grants."""
        evaluator = PermissionEvaluator(rules, answer.live)
        return StepResult(
            finish=answer.body.finish,
            calls=tuple(evaluator.open_call(row, self.describe) for row in answer.calls),
            has_text=answer.has_text if request.text_only else None,
            flaw=find_flaw(answer.body.finish, text=answer.has_text, calls=bool(answer.calls)),
        )
