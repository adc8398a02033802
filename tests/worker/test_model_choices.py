"""Which models a limit of cost needs a price for."""

from decimal import Decimal
from typing import Any

import pytest

from worker.model_choices import check_priced
from worker.settings import Settings
from workflows.domain.budgets import BudgetLimits, ChosenLimits
from workflows.domain.config.config import Config
from workflows.domain.errors import UsageError

OWN = {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": "http://127.0.0.1:9/v1"},
    "models": {"priced": {"cost": {"input": 1, "output": 2}}, "bare": {}},
}

BY_FLAG = ChosenLimits(session=BudgetLimits(cost=Decimal(1)))


@pytest.mark.parametrize(
    "config",
    [
        {"small_model": "own/bare"},
        {"agent": {"title": {"model": "own/bare"}}},
        {"agent": {"compaction": {"model": "own/bare"}}},
        {"holdfast": {"larger_model": "own/bare"}},
        {"agent": {"helper": {"mode": "subagent", "model": "own/bare"}}},
    ],
    ids=["small", "title", "compaction", "larger", "subagent"],
)
@pytest.mark.parametrize("scope", [None, "turn", "session", "project", "day"])
def test_each_model_that_a_session_may_ask_needs_a_price(
    settings: Settings, config: dict[str, Any], scope: str | None
) -> None:
    limit: dict[str, Any] = {"cost": 1}
    budget = {} if scope is None else {scope: {"day": limit} if scope == "project" else limit}
    own = {"budget": budget} | config.get("holdfast", {})
    found = Config.model_validate({"provider": {"own": OWN}, **config, "holdfast": own})
    with pytest.raises(UsageError, match=r"provider\.own\.models\.bare\.cost"):
        check_priced(settings, found, "own/priced", BY_FLAG if scope is None else ChosenLimits())
    unlimited = found.model_copy(update={"holdfast": Config().holdfast})
    check_priced(settings, unlimited, "own/bare", ChosenLimits())


@pytest.mark.parametrize(
    "config",
    [
        {"small_model": "own/bare", "agent": {"title": {"disable": True}}},
        {"agent": {"main": {"mode": "primary", "model": "own/bare"}}},
        {"small_model": "nowhere/at-all"},
    ],
    ids=["no titles", "another agent", "unknown"],
)
def test_what_is_not_asked_needs_none(settings: Settings, config: dict[str, Any]) -> None:
    check_priced(settings, Config.model_validate({"provider": {"own": OWN}, **config}), "own/priced", BY_FLAG)


def test_what_a_models_options_ask_for_needs_a_price(settings: Settings) -> None:
    own = {"models": {"priced": {"cost": {"input": 1}, "options": {"serviceTier": "priority", "speed": "fast"}}}}
    found = Config.model_validate({"provider": {"own": {**OWN, **own}}})
    with pytest.raises(UsageError, match=r"own/priced with what its options ask for \(priority, fast\)"):
        check_priced(settings, found, "own/priced", BY_FLAG)
