"""The model port by litellm: the only module that imports it, once a model needs it.

Switches off litellm's callbacks, logging, retries, token counting, and look-ups in its environment.
"""

import asyncio
import gc
import logging
from collections.abc import AsyncGenerator, Iterator, MutableMapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from activities.model.chat_format import build_body
from activities.model.endpoint import Endpoint, Route
from activities.model.headers import request_headers, session_headers
from activities.model.port import ModelEvent, ModelRequest, RequestAccepted
from activities.model.providers import no_address_error, no_tools_error
from activities.model.request_json import JsonDict
from activities.model.wires.chat import ChatReader
from activities.model.wires.http_client import BodyReleasingClient, Connections
from activities.model.wires.litellm.litellm_names import TEXT_ONLY, isolate
from activities.model.wires.timeouts import StreamTimeouts, silent
from activities.model.wires.transport_failures import fell_silent, from_exception
from workflows.domain.errors import ModelError, UsageError

_OPENAI_CLIENT: Final = ("openai", "custom_openai", "aiohttp_openai", "openai_like")
_BY_NAME: Final = ("replicate", "clarifai")  # litellm looks for these in the model's name before the provider's
_SWITCHES: Final = {
    "telemetry": False,
    "suppress_debug_info": True,  # it prints advice to standard output
    "turn_off_message_logging": True,
    "disable_streaming_logging": True,
    "disable_token_counter": True,  # it would load a tokenizer to guess what a provider does not report
    "drop_params": True,  # leaves out parameters that a model does not know
    "num_retries": 0,
}


class LiteLLM:
    """Asks models through litellm. `environment` is this process's, prepared before the import."""

    def __init__(self, environment: MutableMapping[str, str], timeouts: StreamTimeouts) -> None:
        self._environment = environment
        self._timeouts = timeouts
        self._library: ModuleType | None = None
        self._connections = Connections(environment)

    async def load(self) -> ModuleType:
        """Runs on a thread: the import takes seconds."""
        if self._library is None:
            self._library = await asyncio.to_thread(_load, self._environment)
        _configure(self._library, self._connections.client())
        return self._library

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """See `ModelPort.stream`."""
        library = await self.load()
        provider, timeouts = request.endpoint.provider, self._timeouts.configured(request.endpoint.silence)
        reader = ChatReader(provider)
        try:
            if request.endpoint.route != Route():
                raise UsageError(
                    f"litellm asks {provider!r}, by the environment's proxy and authorities alone: set HTTPS_PROXY and "
                    "SSL_CERT_FILE in place of the options `proxy` and `caFile`. It shows no `certFile`."
                )
            _check_destination(library, request.endpoint)
            opening = library.acompletion(**_arguments(request, timeouts))
            async with aclosing(await timeouts.await_headers(provider, opening)) as chunks:
                yield [RequestAccepted()]
                async for chunk in chunks:
                    added, malformed = reader.read((chunk.model_dump(),))
                    yield added
                    if malformed is not None:
                        raise malformed
        except (ModelError, UsageError):
            raise
        except Exception as error:  # litellm passes on the errors of libraries below it
            failure = silent(provider, timeouts.longest) if fell_silent(error) else from_exception(provider, error)
            raise ModelError(failure) from error
        if _ended_early(chunks):
            raise reader.broken_off()
        yield [replace(reader.finish(), reported_cost=None)]  # that is litellm's own guess

    async def close(self) -> None:
        """Close and forget litellm's connections, of all adapters in this process."""
        if self._library is None:
            return
        await self._library.close_litellm_async_clients()
        self._library.in_memory_llm_clients_cache.flush_cache()
        await self._connections.close()


def _load(environment: MutableMapping[str, str]) -> ModuleType:
    isolate(environment)
    with _gc_disabled():
        # not imported above: 4 s and 130 MB, only for a process that needs it
        library = import_module("litellm")
        # litellm would import it in the first request, for another second
        import_module("openai.resources.chat.completions.completions")
    for response in (library.ModelResponse, library.ModelResponseStream):
        response()  # builds its classes now: at the first request litellm's filter of warnings may be gone
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    gc.freeze()  # its 300,000 objects live as long as the process: the collector need not scan them again
    return library


@contextmanager
def _gc_disabled() -> Iterator[None]:
    """The collector takes a third of an import's time and finds nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _configure(library: ModuleType, client: BodyReleasingClient) -> None:
    """OpenAI's client sends by `aclient_session`."""
    for name, value in {**_SWITCHES, "aclient_session": client}.items():
        setattr(library, name, value)


def _ended_early(chunks: Any) -> bool:
    """litellm invents a finish reason where the provider gives none."""
    reasons = ("received_finish_reason", "intermittent_finish_reason")
    return not any(getattr(chunks, name, None) for name in reasons)


def _arguments(request: ModelRequest, timeouts: StreamTimeouts) -> JsonDict:
    """Always with address and key, so that litellm looks for none."""
    endpoint = request.endpoint
    return {
        **build_body(request),
        "model": endpoint.model,
        "stream": True,
        "base_url": endpoint.base_url,
        "api_key": endpoint.secret,
        "extra_headers": session_headers(request) | request_headers(endpoint),
        "timeout": timeouts.longest,  # of each read from the socket: any bytes restart it
        "num_retries": 0,
        "max_retries": 0,
        "_skip_mcp_handler": True,  # it needs a package that we lack, and looks for tools that we do not offer
    }


def _check_destination(library: ModuleType, endpoint: Endpoint) -> None:
    """Raises UsageError if litellm would send the request to another company than the provider."""
    provider, _, name = endpoint.model.partition("/")
    if provider in TEXT_ONLY:
        raise no_tools_error(provider)
    for other in _BY_NAME:
        if other in name and provider != other:
            raise UsageError(f"{endpoint.model}: litellm sends every model with {other!r} in its name to {other}.")
    by_openais_client = provider in (*library.openai_compatible_providers, *_OPENAI_CLIENT)
    if endpoint.base_url is None and by_openais_client and library.get_llm_provider(endpoint.model)[3] is None:
        raise no_address_error(provider)
