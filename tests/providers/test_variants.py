"""Options of families, configurations, agents and variants, from the configuration to what each provider gets."""

from pathlib import Path
from typing import Any

import pytest

from activities.credentials.keys import Keys
from activities.model.endpoint import Wire
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.model_options import find_variants
from activities.model.wires.router import WireRouter
from tests.providers import anthropic_messages, google_gemini, ollama_chat, openai_chat, openai_responses
from tests.providers.double_outputs import Answer, Text
from tests.providers.double_requests import GO, READ, collect_answer
from tests.providers.provider_double import ProviderDouble, serve_double
from workflows.domain.agents.agent import Agent
from workflows.domain.config.config import Config
from workflows.domain.config.provider_settings import ProviderModel
from workflows.domain.errors import UsageError

BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
PATHS = {Wire.CHAT: "/v1", Wire.RESPONSES: "/v1", Wire.GEMINI: "/v1beta"}


class Rig:
    """Resolves models of a configuration, and asks them."""

    def __init__(self, port: WireRouter, keys: Path) -> None:
        self.port = port
        self.resolver = EndpointResolver(Keys(keys / "auth.json"), {"KIND": "detailed"}, port)

    async def resolve(
        self, model: str, entry: dict[str, Any] | None = None, url: str | None = None, key: str = "k", **more: Any
    ) -> ResolvedModel:
        provider, _, name = model.partition("/")
        options = {"apiKey": key} | ({"baseURL": url} if url else {})
        package = {"npm": "@ai-sdk/openai-compatible"} if provider == "own" else {}
        written = {**package, "options": options, "models": {name: entry or {}}}
        return await self.resolver.resolve(model, Config.model_validate({"provider": {provider: written}}), **more)

    async def ask(self, double: ProviderDouble, resolved: ResolvedModel) -> dict[str, Any]:
        """The body that the double accepted."""
        endpoint = resolved.endpoint
        async with serve_double(double):
            path = PATHS.get(endpoint.wire, "")
            at = endpoint.model_copy(update={"base_url": f"{double.url}{path}"})
            await collect_answer(self.port, resolved.model_copy(update={"endpoint": at}).request(GO, (READ,)))
        return double.asked[-1]


@pytest.fixture
def rig(port: WireRouter, tmp_path: Path) -> Rig:
    return Rig(port, tmp_path)


def double_of(provider: str) -> tuple[ProviderDouble, str]:
    """A double and its key."""
    match provider:
        case "anthropic":
            service = anthropic_messages.Anthropic(anthropic_messages.Answer((anthropic_messages.Text("OK"),)))
            return service.double, anthropic_messages.KEY
        case "google":
            gemini = google_gemini.Gemini(google_gemini.Answer((google_gemini.Text("OK"),)))
            return gemini.double, google_gemini.KEY
        case "openai" | "opencode":
            openai = openai_responses.OpenAI(openai_responses.Answer((openai_responses.Text("OK"),)))
            return openai.double, openai_responses.KEY
    chat = openai_chat.OpenAIChat(openai_chat.Answer((openai_chat.Text("OK"),)))
    return chat.double, openai_chat.KEY


MODELS = [
    ("anthropic/claude-sonnet-4-5", "high max"),
    ("anthropic/claude-haiku-4-5", "high max"),
    ("anthropic/claude-opus-4-5", "low medium high"),
    ("anthropic/claude-sonnet-4-6", "low medium high max"),
    ("anthropic/claude-opus-5-5", "low medium high xhigh max"),
    ("google/gemini-2.5-pro", "high max"),
    ("google/gemini-2.5-flash", "high max"),
    ("google/gemini-3.1-pro-preview", "low medium high"),
    ("google/gemini-3-flash-preview", "minimal low medium high"),
    ("google/gemini-3.8-flash", "low medium high"),
    ("google/gemini-4-hydrogen", "low medium high"),
    ("openai/gpt-5", "minimal low medium high"),
    ("openai/gpt-5.1", "none low medium high"),
    ("openai/gpt-5.2", "none low medium high xhigh"),
    ("openai/gpt-5.3-codex", "none low medium high xhigh"),
    ("openai/gpt-5-codex", "low medium high"),
    ("openai/gpt-6.1-terra", "none low medium high xhigh max"),
    ("openai/gpt-6-astra", "low medium high xhigh max"),
    ("openai/o3", "low medium high"),
    ("openai/gpt-4o", ""),
    ("own/thinker", "low medium high"),
    ("own/deepseek-v4", "low high max"),
    ("own/qwen3-coder", ""),
    ("own/qwen3.8-max", "low medium xhigh"),
    ("own/glm-5.2", "high max"),
    ("own/glm-5.3", "low high max"),
    ("moonshotai/kimi-k3", "low high max"),
    ("openrouter/anthropic/claude-opus-4.5", "low medium high"),
    ("openrouter/anthropic/claude-opus-5.5", "low medium high xhigh max"),
    ("openrouter/openai/gpt-5.2", "none low medium high xhigh"),
    ("openrouter/openai/gpt-oss-120b", "low medium high"),
    ("openrouter/deepseek/deepseek-v4-pro", "high xhigh"),
    ("mistral/mistral-medium-latest", "none high"),
    ("groq/openai/gpt-oss-120b", "low medium high"),
    ("xai/grok-4", ""),
    ("xai/grok-code-fast-1", ""),
    ("xai/grok-4.20-reasoning", ""),
    ("xai/grok-4.3", "none low medium high"),
    ("xai/grok-4.7", "low medium high xhigh"),
    ("xai/grok-4.20-multi-agent", "low medium high xhigh"),
    ("xai/grok-3-mini", "low high"),
    ("opencode/gpt-5", "minimal low medium high"),
    ("opencode/gpt-5.2", "none low medium high xhigh"),
]


@pytest.mark.parametrize(("model", "names"), MODELS)
async def test_a_model_has_the_variants_of_its_family_and_the_provider_takes_each(
    rig: Rig, model: str, names: str
) -> None:
    provider = model.partition("/")[0]
    entry = {"reasoning": True} if provider not in ("anthropic", "google", "openai") else {}
    url = "http://127.0.0.1:9/v1" if provider == "own" else None
    plain = await rig.resolve(model, entry, url)
    found = find_variants(plain.endpoint, ProviderModel.model_validate(entry), plain.facts)

    assert " ".join(found) == names
    for name in found if provider in ("anthropic", "google", "openai", "own") else ():
        double, key = double_of(provider)
        resolved = await rig.resolve(model, entry, url, key, variant=name)
        assert (await rig.ask(double, resolved))["stream" if provider != "google" else "contents"]
        assert resolved.variant == name


@pytest.mark.parametrize(
    ("model", "variant", "path", "value"),
    [
        ("anthropic/claude-sonnet-4-5", "max", ("thinking",), {"type": "enabled", "budget_tokens": 31_999}),
        ("anthropic/claude-3-haiku-20240307", None, ("thinking",), None),
        ("anthropic/claude-opus-5-5", "max", ("thinking", "display"), "summarized"),
        ("anthropic/claude-opus-5-5", "max", ("output_config", "effort"), "max"),
        ("google/gemini-2.5-pro", "max", ("generationConfig", "thinkingConfig", "thinkingBudget"), 32_768),
        ("google/gemini-3.1-pro-preview", "low", ("generationConfig", "thinkingConfig", "thinkingLevel"), "low"),
        ("google/gemini-3.1-pro-preview", None, ("generationConfig", "thinkingConfig", "thinkingLevel"), "high"),
        ("google/gemini-2.5-pro", None, ("generationConfig", "topK"), 64),
        ("google/gemini-2.5-pro", None, ("generationConfig", "temperature"), 1.0),
        ("openai/gpt-5.1", None, ("reasoning",), {"effort": "medium", "summary": "auto"}),
        ("openai/gpt-5.1", "high", ("reasoning",), {"effort": "high", "summary": "auto"}),
        ("openai/gpt-5.1", None, ("text",), {"verbosity": "low"}),
        ("openai/gpt-5-pro", None, ("reasoning",), None),
        ("opencode/gpt-5.1", None, ("reasoning",), {"effort": "medium", "summary": "auto"}),
        ("opencode/gpt-5.1", None, ("text",), {"verbosity": "low"}),
        ("own/kimi-k2-thinking", None, ("temperature",), 1.0),
        ("own/kimi-k2-0905", None, ("temperature",), 0.6),
        ("own/minimax-m2.1", None, ("top_p",), 0.95),
        ("own/minimax-m2.1", None, ("top_k",), None),
    ],
)
async def test_a_provider_gets_what_the_family_has(
    rig: Rig, model: str, variant: str | None, path: tuple[str, ...], value: Any
) -> None:
    provider = model.partition("/")[0]
    double, key = double_of(provider)
    url = "http://127.0.0.1:9/v1" if provider == "own" else None
    found: Any = await rig.ask(double, await rig.resolve(model, {}, url, key, variant=variant))
    for step in path:
        found = (found or {}).get(step)

    assert found == value


OPENCODE = {
    "reasoningEffort": "high",
    "textVerbosity": "low",
    "promptCacheKey": "mine",
    "serviceTier": "flex",
    "parallelToolCalls": False,
    "safetyIdentifier": "someone",
    "maxOutputTokens": 9000,
}


async def test_options_of_opencode_reach_each_wire_under_its_own_names(rig: Rig) -> None:
    chat, key = double_of("own")
    written = {"options": OPENCODE | {"topP": 0.5}}
    by_chat = await rig.ask(chat, await rig.resolve("own/m", written, "http://127.0.0.1:9", key))
    responses, key = double_of("openai")
    options = OPENCODE | {"reasoningSummary": "{env:KIND}", "include": ["reasoning.encrypted_content"]}
    by_responses = await rig.ask(responses, await rig.resolve("openai/gpt-5", {"options": options}, None, key))
    claude, key = double_of("anthropic")
    sampling = {"topP": 0.5, "topK": 5, "stopSequences": ["x"], "thinking": {"type": "disabled"}}
    by_claude = await rig.ask(
        claude, await rig.resolve("anthropic/claude-sonnet-4-5", {"options": sampling}, None, key)
    )

    assert {name: by_chat[name] for name in ("reasoning_effort", "verbosity", "prompt_cache_key", "service_tier")} == {
        **{"reasoning_effort": "high", "verbosity": "low", "prompt_cache_key": "mine", "service_tier": "flex"}
    }
    assert (by_chat["parallel_tool_calls"], by_chat["max_tokens"], by_chat["top_p"]) == (False, 9000, 0.5)
    assert by_responses["reasoning"] == {"effort": "high", "summary": "detailed"}
    assert (by_responses["text"], by_responses["max_output_tokens"]) == ({"verbosity": "low"}, 9000)
    assert (by_claude["top_p"], by_claude["top_k"], by_claude["stop_sequences"]) == (0.5, 5, ["x"])


async def test_options_replace_no_tools_and_let_no_provider_shorten_a_conversation(rig: Rig) -> None:
    unsent = {"tools": [{"type": "web_search"}], "context_management": {"edits": []}, "contextManagement": {}}

    resolved = await rig.resolve("openai/gpt-6-sol", {"options": unsent, "variants": {"v": unsent}}, variant="v")

    assert resolved.options.keys().isdisjoint(unsent)


async def test_what_only_responses_has_is_left_out_of_chat_and_an_unknown_option_goes_as_written(rig: Rig) -> None:
    options = {"reasoningSummary": "auto", "include": ["x"], "someOption": {"aB": 1}}

    assert (await rig.resolve("own/m", {"options": options}, "http://127.0.0.1:9")).options == {"someOption": {"aB": 1}}


async def test_a_variant_wins_over_the_agents_options_and_these_over_the_models(rig: Rig) -> None:
    entry = {"options": {"topP": 0.1, "seed": 1, **BUDGET}, "variants": {"deep": {"seed": 3, "effort": "high"}}}
    agent = Agent(name="a", temperature=0.2, top_p=0.3, options={"seed": 2, "stop": "x"})
    plain = await rig.resolve("own/m", entry, "http://127.0.0.1:9", agent=agent)
    deep = await rig.resolve("own/m", entry, "http://127.0.0.1:9", agent=agent, variant="deep")

    assert plain.options == {"top_p": 0.3, "seed": 2, **BUDGET, "stop": "x", "temperature": 0.2}
    assert deep.options == {"top_p": 0.3, "seed": 3, "stop": "x", "temperature": 0.2, "effort": "high"}


@pytest.mark.parametrize(("model", "entry"), [("openai/gpt-5.2", {}), ("own/m", {"temperature": False})])
async def test_an_agents_temperature_is_left_out_where_the_model_takes_none(
    rig: Rig, model: str, entry: dict[str, Any]
) -> None:
    url = "http://127.0.0.1:9" if model.startswith("own") else None
    resolved = await rig.resolve(model, entry, url, agent=Agent(name="a", temperature=0.2, top_p=0.3))

    assert not {"temperature", "top_p"} & resolved.options.keys()


async def test_an_agents_variant_counts_where_the_model_has_it(rig: Rig) -> None:
    agent = Agent(name="a", variant="max")
    claude = await rig.resolve("anthropic/claude-opus-5-5", agent=agent)
    gpt = await rig.resolve("openai/gpt-5", agent=agent)
    named = await rig.resolve("anthropic/claude-opus-5-5", agent=agent, variant="low")

    assert (claude.variant, gpt.variant, named.variant) == ("max", None, "low")


async def test_an_unknown_variant_is_refused_with_the_known_ones(rig: Rig) -> None:
    with pytest.raises(UsageError, match="has no variant 'deep'. It has: high, max."):
        await rig.resolve("anthropic/claude-sonnet-4-5", variant="deep")
    with pytest.raises(UsageError, match="has no variants"):
        await rig.resolve("own/m", {}, "http://127.0.0.1:9", variant="deep")


async def test_a_variant_can_be_added_changed_and_switched_off(rig: Rig) -> None:
    variants = {"high": {"thinking": {"budgetTokens": 9000}}, "max": {"disabled": True}, "fast": {"temperature": 0}}
    plain = await rig.resolve("anthropic/claude-sonnet-4-5", {"variants": variants})
    entry = ProviderModel.model_validate({"variants": variants})
    high = await rig.resolve("anthropic/claude-sonnet-4-5", {"variants": variants}, variant="high")

    assert [*find_variants(plain.endpoint, entry, plain.facts)] == ["high", "fast"]
    assert high.options == {"thinking": {"type": "enabled", "budget_tokens": 9000}}


async def test_a_budget_leaves_room_for_an_answer(rig: Rig) -> None:
    entry = {"limit": {"context": 100_000, "output": 8000}, "reasoning": True}
    found = find_variants(
        (resolved := await rig.resolve("anthropic/own-claude", entry)).endpoint,
        ProviderModel.model_validate(entry),
        resolved.facts,
    )

    assert {name: each["thinking"] for name, each in found.items()} == {
        "high": {"type": "enabled", "budget_tokens": 3999},
        "max": {"type": "enabled", "budget_tokens": 7999},
    }


async def test_ollama_gets_its_own_names(rig: Rig) -> None:
    service = ollama_chat.Ollama(Answer((Text("OK"),)))
    entry = {"reasoning": True, "options": {"topP": 0.5, "topK": 5}}
    body = await rig.ask(service.double, await rig.resolve("ollama/gpt-oss", entry, variant="low"))

    assert (body["think"], body["options"]["top_p"], body["options"]["top_k"]) == ("low", 0.5, 5)
