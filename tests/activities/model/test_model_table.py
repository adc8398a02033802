"""Tables of models: the release's, and a fetched one."""

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from activities.model.catalogue import variants_of
from activities.model.model_table import ModelTables
from activities.model.table_fetch import fetch_table
from workflows.domain.errors import UsageError

RATES = {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06}
MODELS_DEV = {
    "anthropic": {
        "npm": "@ai-sdk/anthropic",
        "models": {
            "claude-next": {
                "tool_call": True,
                "reasoning": True,
                "modalities": {"input": ["text", "image"], "output": ["text"]},
                "limit": {"context": 500_000, "output": 64_000},
                "cost": {
                    "input": 3,
                    "output": 15,
                    "cache_read": 0.3,
                    "context_over_200k": {"input": 9, "output": 30},  # models.dev repeats a single tier so
                    "tiers": [{"input": 9, "output": 30, "tier": {"type": "context", "size": 272_000}}],
                },
            },
            "claude-of-before": {"cost": {"input": 3, "output": 15, "context_over_200k": {"input": 6, "output": 22.5}}},
            "claude-free-of-sense": {"cost": {"input": -3, "output": 15}},
            "claude-of-truth": {"cost": {"input": True, "output": 15}},
            "claude-without-size": {"cost": {"tiers": [{"tier": {"type": "context"}}]}},
            "claude-of-numbers": {"modalities": {"input": 5}},
            "claude-of-words": "a model",
        },
    },
    "azure": {"models": {"gpt-5-codex": {"limit": {"context": 1000}}}},
    "a-company-of-next-year": {"models": {"x": {"cost": {"input": 1, "output": 1}}}},
}


class TableServer:
    """Serves tables by path; a text redirects."""

    def __init__(self, url: str, pages: dict[str, Any]) -> None:
        self.url = url
        self.pages = pages


@pytest.fixture
async def tables() -> AsyncIterator[TableServer]:
    pages: dict[str, Any] = {}

    async def answer(request: web.Request) -> web.Response:
        page = pages.get(request.path)
        if isinstance(page, str):
            raise web.HTTPFound(page)
        if isinstance(page, bytes):
            return web.Response(body=page)
        return web.json_response(page) if page is not None else web.Response(status=404)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        yield TableServer(str(server.make_url("/")), pages)


def test_the_release_knows_models_that_litellm_does_not() -> None:
    facts = ModelTables().facts("openrouter/anthropic/claude-sonnet-4.5")

    assert facts.price is not None and facts.price.input == Decimal(3) and facts.price.cache_read == Decimal("0.3")
    assert (facts.context, facts.images, facts.reasoning) == (1_000_000, True, True)


@pytest.mark.parametrize("model", ["openai/nobody-knows-it", "anthropic/claude-sonnet-latest"])
def test_a_model_that_no_table_has_is_guessed_without_a_price(model: str) -> None:
    facts = ModelTables().facts(model)

    assert facts.guessed and facts.images and facts.price is None


async def test_a_fetched_table_of_litellms_form_counts_at_once(tables: TableServer, tmp_path: Path) -> None:
    file = tmp_path / "home" / "models.json"
    found = ModelTables(file)
    before = found.facts("openai/gpt-5"), found.version
    tables.pages["/litellm.json"] = {"gpt-5": {**RATES, "litellm_provider": "openai", "max_input_tokens": 7}}
    fetched = await fetch_table(f"{tables.url}litellm.json", file)

    facts = found.facts("openai/gpt-5")
    assert facts.price is not None and (facts.price.input, facts.context) == (Decimal(1), 7)
    assert before[0].context > 7 and before[1] != found.version
    assert found.facts("anthropic/claude-sonnet-4-5").context >= 200_000
    assert fetched == found.fetched() and fetched.source == f"{tables.url}litellm.json"


async def test_a_fetched_table_of_models_dev_is_read_with_its_tiers(tables: TableServer, tmp_path: Path) -> None:
    tables.pages["/api.json"] = MODELS_DEV
    fetched = await fetch_table(f"{tables.url}api.json", tmp_path / "models.json")

    facts = ModelTables(tmp_path / "models.json").facts("anthropic/claude-next")
    assert list(fetched.models) == ["anthropic/claude-next", "anthropic/claude-of-before", "azure/gpt-5-codex"]
    before = ModelTables(tmp_path / "models.json").facts("anthropic/claude-of-before").price
    assert before is not None and [tier.above for tier in before.tiers] == [200_000]
    assert facts.price is not None and facts.price.cache_read == Decimal("0.3")
    assert {tier.above: (tier.input, tier.output) for tier in facts.price.tiers} == {
        272_000: (Decimal(9), Decimal(30)),
    }
    assert (facts.context, facts.max_output, facts.images, facts.documents, facts.reasoning) == (
        *(500_000, 64_000, True, False, True),
    )


async def test_a_fetched_table_says_how_much_a_model_thinks_and_whether_it_takes_a_temperature(
    tables: TableServer, tmp_path: Path
) -> None:
    options = {
        "named": [{"type": "toggle"}, {"type": "effort", "values": [None, "default", "low", "huge"]}],
        "none": [],
        "switched": [{"type": "toggle"}, {"type": "budget_tokens", "min": 1}],
        "odd": [{"type": "effort", "values": 5}],
    }
    models = {name: {"reasoning": True, "reasoning_options": each} for name, each in options.items()}
    tables.pages["/api.json"] = {"groq": {"models": {**models, "unsaid": {"reasoning": True, "temperature": False}}}}
    await fetch_table(f"{tables.url}api.json", tmp_path / "models.json")
    known = ModelTables(tmp_path / "models.json")

    efforts = {name: known.facts(f"groq/{name}").efforts for name in ("named", "none", "switched", "unsaid")}
    assert efforts == {"named": ("none", "low", "huge"), "none": (), "switched": None, "unsaid": None}
    assert known.facts("groq/odd").guessed
    assert (known.facts("groq/named").sampled, known.facts("groq/unsaid").sampled) == (True, False)
    assert variants_of("groq/named", {}, known) == ("none", "low", "huge")


async def test_the_price_of_a_subscription_is_not_that_of_the_company(tables: TableServer, tmp_path: Path) -> None:
    def offer(**prices: float) -> dict[str, Any]:
        return {"models": {model: {"cost": {"input": price, "output": price}} for model, price in prices.items()}}

    tables.pages["/api.json"] = {
        "zai-coding-plan": offer(glm_next=0, glm_of_the_plan=0),
        "zai": offer(glm_next=2, glm_flash=0),
        "zhipuai-coding-plan": offer(glm_next=0),
        "google-vertex-anthropic": offer(claude_next=3),
        "google-vertex": offer(gemini_next=1),
    }
    await fetch_table(f"{tables.url}api.json", tmp_path / "models.json")

    prices = {
        name: price and price.input
        for name in ("zai/glm_next", "zai/glm_flash", "zai/glm_of_the_plan", "vertex_ai/claude_next")
        for price in [ModelTables(tmp_path / "models.json").facts(name).price]
    }
    assert prices == {
        "zai/glm_next": 2,
        "zai/glm_flash": 0,
        "zai/glm_of_the_plan": None,
        "vertex_ai/claude_next": 3,
    }


@pytest.mark.parametrize(
    ("path", "page", "words"),
    [
        ("missing.json", None, "status 404"),
        ("page.html", b"<html>Sign in</html>", "holds no table of models"),
        ("list.json", [1, 2], "holds no table of models"),
        ("deep.json", b"[" * 100_000, "holds no table of models"),
        ("odd.json", {"gpt-5": {"input_cost_per_token": "cheap", "output_cost_per_token": 1}}, "holds no table"),
        ("moved.json", "http://example.invalid/table.json", "could not be fetched"),
    ],
)
async def test_what_is_no_table_leaves_the_last_one(
    tables: TableServer, tmp_path: Path, path: str, page: object, words: str
) -> None:
    file = tmp_path / "models.json"
    file.write_text("as it was")
    tables.pages[f"/{path}"] = page
    with pytest.raises(UsageError, match=words):
        await fetch_table(f"{tables.url}{path}", file)
    assert file.read_text() == "as it was" and [each.name for each in tmp_path.iterdir()] == ["models.json"]


@pytest.mark.parametrize("address", ["ftp://host/table", "http://example.com/table.json", "anthropic", None])
async def test_an_address_that_is_none_is_refused_before_anything_is_sent(address: str | None, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="address"):
        await fetch_table(address, tmp_path / "models.json")


def test_a_broken_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    file = tmp_path / "models.json"
    file.write_text("{")
    with pytest.raises(UsageError, match="models --refresh"):
        ModelTables(file).facts("openai/gpt-5")


async def test_what_a_fetched_table_does_not_say_of_a_model_is_still_known(tables: TableServer, tmp_path: Path) -> None:
    found = ModelTables(tmp_path / "models.json")
    before = found.facts("azure/gpt-5-codex")
    tables.pages["/api.json"] = MODELS_DEV
    await fetch_table(f"{tables.url}api.json", tmp_path / "models.json")
    after = found.facts("azure/gpt-5-codex")

    assert before.responses and after.responses
    assert (after.context, after.price) == (1000, before.price)


async def test_newer_rates_are_not_mixed_with_older_tiers(tables: TableServer, tmp_path: Path) -> None:
    found = ModelTables(tmp_path / "models.json")
    before = found.facts("gemini/gemini-2.5-pro").price
    tables.pages["/litellm.json"] = {"gemini/gemini-2.5-pro": RATES}
    await fetch_table(f"{tables.url}litellm.json", tmp_path / "models.json")
    after = found.facts("gemini/gemini-2.5-pro").price

    assert before is not None and before.tiers and after is not None and not after.tiers and after.input == 1
    assert found.all()["gemini/gemini-2.5-pro"]["litellm_provider"] == "gemini"


async def test_an_entry_is_listed_by_the_name_that_litellm_has_for_it(tables: TableServer, tmp_path: Path) -> None:
    tables.pages["/api.json"] = {"openai": {"models": {"gpt-5": {"limit": {"context": 77}}}}}
    await fetch_table(f"{tables.url}api.json", tmp_path / "models.json")
    listed = ModelTables(tmp_path / "models.json").all()

    assert listed["gpt-5"]["max_input_tokens"] == 77 and "openai/gpt-5" not in listed
