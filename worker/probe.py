"""One small request to a model, sent as a turn would send it: whether it answers, and what stands in the way."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Final

from activities.model.endpoints import Endpoints, Reached
from activities.model.failures import ModelError, Overflow, ProviderFailure, Retry, Stop, StopKind, posture
from activities.model.keys import Keys
from activities.model.patience import refused, without_password
from activities.model.port import Finished, ModelPort, ModelRequest, ToolOffer, UserMessage
from activities.model.providers import parted, provider_named
from activities.model.wires.router import WireRouter
from worker import handover
from worker.handover import HandedOver
from worker.redacting import redactor
from worker.settings import Settings, process_environment
from workflows.domain.config.config import Config
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

LONGEST: Final = 60.0  # seconds until the first word; a local server may have to load the model
_SAID: Final = 1000  # characters of a provider's message
_QUESTION: Final = UserMessage(content="Answer with the word OK.")
_TOOL: Final = ToolOffer(  # each turn offers tools: a model that takes none could not work
    name="nothing", description="Does nothing.", parameters={"type": "object", "properties": {}}
)


class Probed(Value):
    """What came of the request, in words, and what to do about it."""

    answered: bool
    says: str
    remedy: str = ""


async def probe(settings: Settings, model: str, config: Config, longest: float = LONGEST) -> Probed:
    """Ask `model` for a word; the answer is broken off behind its first piece.

    Address, headers and key are those of a turn that `run` would begin from this shell.
    """
    port = WireRouter(process_environment())
    try:
        probed = await _asked(settings, model, config, port, longest)
    except UsageError as error:  # whose words hold the way out
        probed = Probed(answered=False, says=str(error))
    finally:
        await port.close()
    redact = redactor(settings).text
    return probed.model_copy(update={"says": redact(probed.says)[:_SAID]})


async def _asked(settings: Settings, model: str, config: Config, port: ModelPort, longest: float) -> Probed:
    """Raises UsageError for a request that cannot be made."""
    reached = await Endpoints(Keys(settings.auth), _environment(settings, model, config), port).reach(model, config)
    try:
        return await _answer(model, reached, port, longest)
    except ModelError as error:
        return _failed(model, reached.endpoint.base_url, error.failure, _address(model, config))
    except TimeoutError:
        says = f"{model}{_at(reached.endpoint.base_url)} was silent for {longest:g} s"
        return Probed(answered=False, says=says, remedy=_address(model, config))


def _environment(settings: Settings, model: str, config: Config) -> Mapping[str, str]:
    """What a worker would look keys up in, once `run` has handed over those of this shell."""
    given = {name: settings.environment.get(name) for name in handover.names(config, model)}
    return {**HandedOver(settings), **{name: value for name, value in given.items() if value}}


async def _answer(model: str, reached: Reached, port: ModelPort, longest: float) -> Probed:
    """Raises ModelError, UsageError, TimeoutError."""
    request = ModelRequest(
        endpoint=reached.endpoint,
        messages=(_QUESTION,),
        tools=(_TOOL,),
        max_output=reached.max_output,
        options=reached.options,
    )
    clock = asyncio.get_running_loop().time
    began = clock()
    async with asyncio.timeout(longest), aclosing(port.stream(request)) as events:
        first = await anext(events)
    if isinstance(first, Finished):
        says = f"{model} ended its answer with nothing in it ({first.finish})"
        return Probed(answered=False, says=says, remedy="A turn would ask again: try again, or name another model.")
    return Probed(answered=True, says=f"{model} answered in {clock() - began:.1f} s")


def _failed(model: str, address: str | None, failure: ProviderFailure, remedy: str) -> Probed:
    """What is said of a failure; `remedy` is for one that an address may be the reason of."""
    id, _ = parted(model)
    if failure.unreached is not None:
        says = f"{model}: no connection{_at(address, 'to') or f' to {id}'}: {failure.unreached}"
        return Probed(answered=False, says=says, remedy=remedy)
    if failure.status == HTTPStatus.NOT_FOUND:
        elsewhere = f", or no API{_at(address)}" if address else ""
        says = f"{model}: no such model{elsewhere} (404): {failure.message}"
        return Probed(answered=False, says=says, remedy=f"`holdfast models {id}` lists names that are known. {remedy}")
    match posture(failure):
        case Stop() as stop:
            key = _KEY.format(id=id, variable=_variable(id)) if stop.kind is StopKind.AUTH else ""
            return Probed(answered=False, says=refused(model, stop, failure.status), remedy=key)
        case Overflow(message=message):
            return Probed(answered=False, says=f"{model}: {message}")
        case Retry(reason=reason) if failure.status is not None:
            says = f"{model} cannot answer just now ({failure.status}): {reason}"
            return Probed(answered=False, says=says, remedy="A turn would wait, and ask again.")
        case Retry(reason=reason):
            return Probed(answered=False, says=f"{model}: {reason}", remedy=remedy)


def _address(model: str, config: Config) -> str:
    """What to do about an address at which there may be nothing."""
    id, _ = parted(model)
    own = config.provider.get(id)
    if own is not None and own.options.base_url:
        return f"See that it runs, and that provider.{id}.options.baseURL in opencode.json is the address of its API."
    if provider_named(id).address is not None and not provider_named(id).needs_key:
        return f"See that it runs; another address of it belongs into opencode.json, as provider.{id}.options.baseURL."
    return "See that this machine reaches the provider, by its proxy if there is one."


def _variable(id: str) -> str:
    return next(iter(provider_named(id).variables), "its variable")


def _at(address: str | None, preposition: str = "at") -> str:
    return f" {preposition} {without_password(address)}" if address else ""


_KEY: Final = (
    "Correct the key where it comes from: provider.{id}.options.apiKey, `holdfast auth login {id}`, or {variable}."
)
