"""The model port by litellm: the only module that imports it, and only when a model is first needed.

What litellm does around a request (callbacks, logging, retries, token counting, look-ups in its environment) is
switched off.
"""

import asyncio
import gc
import logging
from collections.abc import AsyncGenerator, Iterator, MutableMapping
from contextlib import aclosing, contextmanager
from importlib import import_module
from types import ModuleType
from typing import Final

from activities.model import litellm_shape, litellm_table
from activities.model.failures import ModelError
from activities.model.litellm_environment import isolate
from activities.model.litellm_failures import told
from activities.model.litellm_form import ChunkReader, body
from activities.model.litellm_providers import TEXT_ONLY
from activities.model.litellm_source import Source
from activities.model.port import Endpoint, ModelEvent, ModelFacts, ModelRequest
from activities.model.providers import without_address, without_tools
from activities.model.sendable import Form
from activities.model.wires.http_wire import Prepared
from activities.model.wires.silence import Silence, within
from workflows.domain.errors import UsageError

_SHARED: Final = (
    "module_level_aclient"  # the client that Anthropic is asked by, which litellm also keeps outside of its cache
)
_END: Final = object()  # of an answer; what is `null` in it is no end
_CACHING: Final = ("bedrock/", "vertex_ai/claude")  # cache what is marked; litellm sets the marks
_OPENAI_CLIENT: Final = ("openai", "custom_openai", "aiohttp_openai", "openai_like")
_BY_NAME: Final = ("replicate", "clarifai")  # litellm looks for these in the model's name before the provider's
_SWITCHES: Final = {
    "telemetry": False,
    "suppress_debug_info": True,  # it prints advice to standard output
    "turn_off_message_logging": True,
    "disable_streaming_logging": True,
    "disable_token_counter": True,  # it would load a tokenizer to guess what a provider does not report
    "drop_params": True,  # a parameter that a model does not know is left out
    "num_retries": 0,
}


class LiteLLM:
    """Asks models through litellm. `environment` is that of this process: it is prepared before the import."""

    def __init__(self, environment: MutableMapping[str, str], silence: Silence) -> None:
        self._environment = environment
        self._silence = silence
        self._library: ModuleType | None = None

    async def warm(self) -> None:
        """Import litellm on a thread, where it takes its seconds without holding anybody up."""
        await self._loaded()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelPort.stream`."""
        library = await self._loaded()
        provider = request.endpoint.provider
        reader = ChunkReader(provider)
        limit, source = self._silence.first, None
        try:
            _refuse_strangers(library, request.endpoint)
            opening = library.acompletion(**_arguments(request, self._silence))
            async with aclosing(await self._silence.headers_of(provider, opening)) as wrapper:
                source = Source(wrapper)
                chunks = source.chunks()
                while (chunk := await within(provider, limit, anext(chunks, _END))) is not _END:
                    limit = self._silence.between
                    for event in reader.read(chunk):
                        yield event
        except (ModelError, UsageError):
            raise
        except Exception as error:  # litellm raises whatever a library below it raises
            raise ModelError(told(provider, error)) from error
        finally:
            if source is not None:
                source.let_go()
        if source.cut:
            reader.end = None  # litellm has made it up
        yield reader.finished()

    async def anthropic(self, request: ModelRequest) -> Prepared:
        """The request in the form of Anthropic's Messages."""
        return litellm_shape.anthropic(await self._loaded(), request)

    async def gemini(self, request: ModelRequest) -> Prepared:
        """The request in the form of Gemini."""
        return litellm_shape.gemini(await self._loaded(), request)

    async def facts(self, model: str) -> ModelFacts:
        """See `ModelPort.facts`."""
        return litellm_table.facts((await self._loaded()).model_cost, model)

    async def close(self) -> None:
        """Close the connections that litellm keeps, of all adapters in this process, and have it forget them."""
        if self._library is None:
            return
        await self._library.close_litellm_async_clients()
        self._library.in_memory_llm_clients_cache.flush_cache()
        if shared := vars(self._library).pop(_SHARED, None):
            await shared.close()

    async def _loaded(self) -> ModuleType:
        if self._library is None:
            self._library = await asyncio.to_thread(_load, self._environment)
        return self._library


def _load(environment: MutableMapping[str, str]) -> ModuleType:
    isolate(environment)
    with _nothing_collected():
        # not imported above: 4 s and 160 MB, which only the process that asks models shall pay
        library = import_module("litellm")
        # litellm would import it in the first request, for another second
        import_module("openai.resources.chat.completions.completions")
    library.utils.update_response_metadata = _unmeasured
    for response in (library.ModelResponse, library.ModelResponseStream):
        response()  # builds its classes now: at the first request litellm's filter of warnings may be gone
    for name, value in _SWITCHES.items():
        setattr(library, name, value)
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return library


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Keep the collector of reference cycles away from what only grows: it is a third of the time of an import."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _unmeasured(*_: object, **__: object) -> None:
    """Costs and times that litellm would note at an answer before its first piece: ours are in the ledger."""


def _arguments(request: ModelRequest, silence: Silence) -> Form:
    """What litellm is called with; address and key are always given, so that it looks for none."""
    endpoint = request.endpoint
    asked = body(request)
    if endpoint.model.startswith(_CACHING):
        asked["enable_prompt_caching"] = True
    return {
        **asked,
        "model": endpoint.model,
        "stream": True,
        "base_url": endpoint.base_url,
        "api_key": endpoint.secret,
        "extra_headers": endpoint.headers or None,
        "timeout": silence.headers + silence.first + silence.between,  # ours are shorter
        "num_retries": 0,
        "max_retries": 0,
        "_skip_mcp_handler": True,  # it needs a package that we do not have, and looks for tools that we do not offer
    }


def _refuse_strangers(library: ModuleType, endpoint: Endpoint) -> None:
    """Raises UsageError for a request that litellm would send to another company than the provider."""
    provider, _, name = endpoint.model.partition("/")
    if provider in TEXT_ONLY:
        raise without_tools(provider)
    for other in _BY_NAME:
        if other in name and provider != other:
            raise UsageError(f"{endpoint.model}: litellm sends every model with {other!r} in its name to {other}.")
    by_openais_client = provider in (*library.openai_compatible_providers, *_OPENAI_CLIENT)
    if endpoint.base_url is None and by_openais_client and library.get_llm_provider(endpoint.model)[3] is None:
        raise without_address(provider)
