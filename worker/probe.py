"""Asks a model from this shell: for a word, as a test, or for an agent."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import aclosing, asynccontextmanager
from decimal import Decimal
from http import HTTPStatus
from typing import Final

from activities.credentials.keys import Keys
from activities.model.addresses import without_login
from activities.model.agent_writer import ARCHITECT, WrittenAgent, write_agent
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.failures import Overflow, Retry, Stop, StopKind, classify
from activities.model.model_table import ModelTables
from activities.model.port import ModelPort, UserInput
from activities.model.providers import provider_named, split_model_id
from activities.model.retry_budget import refusal_text
from activities.model.stream import Answer, AnswerAssembler
from activities.model.wires.router import WireRouter
from worker import credential_handoff
from worker.credential_handoff import CredentialEnvironment
from worker.redaction import redactor
from worker.settings import Settings, process_environment
from workflows.domain.agents.agent import Agent
from workflows.domain.config.config import Config
from workflows.domain.errors import ModelError, UsageError
from workflows.domain.messages import TextPart
from workflows.domain.provider_failure import ProviderFailure
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.usage import Tokens
from workflows.domain.value import Value

DEFAULT_TIMEOUT: Final = 60.0  # seconds; a local server may load the model first
_MESSAGE_CHARS: Final = 1000  # characters of a provider's message
_ANSWER_CHARS: Final = 60  # characters of an answer
_QUESTION: Final = UserInput(content="Answer with the word OK.")
_TOOL: Final = ToolOffer(  # turns offer tools: a model must take them
    name="nothing", description="Does nothing.", parameters={"type": "object", "properties": {}}
)


class ProbeResult(Value):
    """`tokens` and `cost` (US dollars; None: unknown) of an answer; `seconds`: how long what came took. `refused`: the
    key, by the provider."""

    answered: bool
    message: str
    remedy: str = ""
    refused: bool = False
    seconds: float | None = None
    tokens: Tokens = Tokens()
    cost: Decimal | None = None


async def probe(settings: Settings, model: str, config: Config, timeout: float = DEFAULT_TIMEOUT) -> ProbeResult:
    """Ask `model` for a word, as a turn run from this shell would."""
    try:
        async with _reach_model(settings, model, config) as (resolved, port):
            probed = await _send_probe(model, config, resolved, port, timeout)
    except UsageError as error:  # whose message holds the remedy
        probed = ProbeResult(answered=False, message=str(error))
    redact = redactor(settings).text
    return probed.model_copy(update={"message": redact(probed.message)[:_MESSAGE_CHARS]})


async def write_agent_by(
    settings: Settings, model: str, config: Config, description: str, taken: Collection[str]
) -> WrittenAgent:
    """Have `model` write an agent. Raises UsageError."""
    async with _reach_model(settings, model, config, ARCHITECT) as (resolved, port):
        try:
            return await write_agent(resolved, port, description, taken)
        except ModelError as error:
            address = resolved.endpoint.base_url
            message, remedy = _describe_failure(model, address, error.failure, _address_remedy(model, config))
            raise UsageError(redactor(settings).text(f"{message}. {remedy}".strip())) from error


@asynccontextmanager
async def _reach_model(
    settings: Settings, model: str, config: Config, agent: Agent | None = None
) -> AsyncIterator[tuple[ResolvedModel, WireRouter]]:
    """Raises UsageError if no request can be made."""
    port = WireRouter(process_environment(), tables=ModelTables(settings.models_file))
    resolver = EndpointResolver(Keys(settings.auth), _environment(settings, model, config), port)
    try:
        yield await resolver.resolve(model, config, agent=agent), port
    finally:
        await port.close()


async def _send_probe(
    model: str, config: Config, resolved: ResolvedModel, port: WireRouter, timeout: float
) -> ProbeResult:
    await port.warm(resolved.endpoint.wire)  # the seconds of an import are not the provider's
    clock = asyncio.get_running_loop().time
    began, refused = clock(), False
    try:
        answered = await _await_answer(model, resolved, port, timeout)
        return answered.model_copy(update={"seconds": clock() - began})
    except ModelError as error:
        found = classify(error.failure)
        refused = isinstance(found, Stop) and found.kind is StopKind.AUTH
        message, remedy = _describe_failure(
            model, resolved.endpoint.base_url, error.failure, _address_remedy(model, config)
        )
    except TimeoutError:
        message = f"{model}{_address_phrase(resolved.endpoint.base_url)} was silent"
        remedy = _address_remedy(model, config)
    return ProbeResult(answered=False, message=message, remedy=remedy, refused=refused, seconds=clock() - began)


def _environment(settings: Settings, model: str, config: Config) -> Mapping[str, str]:
    """The worker's variables after `run` hands over this shell's."""
    given = {name: settings.environment.get(name) for name in credential_handoff.credential_variables(config, model)}
    return {**CredentialEnvironment(settings), **{name: value for name, value in given.items() if value}}


async def _await_answer(model: str, resolved: ResolvedModel, port: ModelPort, timeout: float) -> ProbeResult:
    """Raises ModelError, UsageError, TimeoutError."""
    request = resolved.request((_QUESTION,), (_TOOL,))
    assembler = AnswerAssembler()
    try:
        async with asyncio.timeout(timeout), aclosing(port.stream(request)) as batches:
            async for events in batches:
                for event in events:
                    assembler.add(event)
    except TimeoutError:
        if not assembler.begun:
            raise
        return ProbeResult(answered=True, message=f"{model} answers, and was not done")
    answer = assembler.answer()
    used = {"tokens": answer.tokens, "cost": answer.cost(resolved.price)}
    if not answer.parts:
        message = f"{model} ended its answer with nothing in it ({answer.explanation or answer.finish})"
        remedy = "A turn would ask again: try again, or name another model."
        return ProbeResult(answered=False, message=message, remedy=remedy, **used)
    message = f"{model} answered: {_describe_answer(answer)}"
    return ProbeResult(answered=True, message=message, **used)


def _describe_answer(answer: Answer) -> str:
    text = " ".join(" ".join(part.text for part in answer.parts if isinstance(part, TextPart)).split())
    if text:
        return f"{text[:_ANSWER_CHARS]!r}"
    return f"a call of {answer.calls[0].name!r}" if answer.calls else "thoughts alone"


def _describe_failure(model: str, address: str | None, failure: ProviderFailure, remedy: str) -> tuple[str, str]:
    id, _ = split_model_id(model)
    if failure.connect_error is not None:
        return f"{model}: no connection{_address_phrase(address, 'to') or f' to {id}'}: {failure.connect_error}", remedy
    if failure.status == HTTPStatus.NOT_FOUND:
        elsewhere = f", or no API{_address_phrase(address)}" if address else ""
        known = f"`holdfast models {id}` lists names that are known. {remedy}"
        return f"{model}: no such model{elsewhere} (404): {failure.message}", known
    match classify(failure):
        case Stop() as stop:
            variable = next(iter(provider_named(id).variables), "its variable")
            key = _KEY_REMEDY.format(id=id, variable=variable) if stop.kind is StopKind.AUTH else ""
            return refusal_text(model, stop, failure.status), key
        case Overflow(message=message):
            return f"{model}: {message}", ""
        case Retry(reason=reason) if failure.status is not None:
            return (
                f"{model} cannot answer at the moment ({failure.status}): {reason}",
                "Try again later; a turn would wait, and ask again.",
            )
        case Retry(reason=reason):
            return f"{model}: {reason}", remedy


def _address_remedy(model: str, config: Config) -> str:
    id, _ = split_model_id(model)
    own = config.provider.get(id)
    if own is not None and own.options.base_url:
        return f"Check that it runs, and that provider.{id}.options.baseURL in opencode.json is the address of its API."
    if provider_named(id).address is not None and not provider_named(id).needs_key:
        return f"Check that it runs; another address of it is provider.{id}.options.baseURL in opencode.json."
    return "Check that this machine reaches the provider, by its proxy if there is one."


def _address_phrase(address: str | None, preposition: str = "at") -> str:
    return f" {preposition} {without_login(address)}" if address else ""


_KEY_REMEDY: Final = (
    "Correct the key where it comes from: provider.{id}.options.apiKey, `holdfast auth login {id}`, or {variable}."
)
