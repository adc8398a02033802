"""The agents of a configuration, case by case: what there is, who is the default, and what each may do."""

import json
import re
from typing import Any

import pytest

from activities.project.load import Role
from tests.activities.project.world import World
from tests.cases import Case, assert_matches, load
from workflows.domain.agents import Agent
from workflows.domain.errors import ConfigError, UsageError
from workflows.domain.permissions.rules import evaluate

BROKEN_FILE = 'the file is refused with an error naming file and line; no agent "bad" exists'


@pytest.mark.parametrize("case", load("agents_config"))
async def test_agents_are_as_in_opencode(case: Case, world: World) -> None:
    world.write("opencode.json", json.dumps(case.input["config"]), under=world.config)
    for name, text in case.input["files"].items():
        world.write(name, text)
    if case.holdfast is not None:
        assert case.holdfast == BROKEN_FILE
        with pytest.raises(ConfigError, match=r"bad\.md:\d+"):
            await world.load()
        return
    for key, value in case.expected.items():
        assert_matches({key: await FOUND[key](case, world)}, {key: _wanted(key, value)})


async def _agents(case: Case, world: World) -> dict[str, Any]:
    """The agents that the case speaks of; None for one that is not there."""
    known = {agent.name: agent for agent in (await world.load()).delegation.agents}
    return {name: _shown(known[name]) if name in known else None for name in case.expected["agents"]}


def _shown(agent: Agent) -> dict[str, Any]:
    provider, _, model = (agent.model or "").partition("/")
    return {
        "mode": agent.mode.value,
        "description": agent.description,
        "hidden": agent.hidden,
        "steps": agent.steps,
        "model": {"providerID": provider, "modelID": model},
    }


async def _names(_: Case, world: World) -> list[str]:
    snapshot = await world.load()
    names = sorted(agent.name for agent in snapshot.delegation.agents)
    return sorted(names, key=lambda name: name != snapshot.agent.name)


async def _default(case: Case, world: World) -> str | dict[str, bool]:
    """The default agent; for an error, whether it says what the case wants."""
    try:
        return (await world.load()).agent.name
    except UsageError as error:
        return {"says": case.expected["default_agent"]["error_message_contains"] in str(error)}


async def _evaluated(case: Case, world: World) -> list[list[str]]:
    found = []
    for agent, permission, pattern in case.input["evaluate"]:
        rules = (await world.load(role=Role(agent, ancestors=1))).rules
        subject = re.sub("^/tmp/", f"{world.home}/tmp/", pattern).replace("<DATA>", str(world.home / "data"))
        found.append([agent, permission, pattern, evaluate(permission, subject, rules).action.value])
    return found


def _wanted(key: str, value: Any) -> Any:
    return {"says": True} if key == "default_agent" and isinstance(value, dict) else value


FOUND = {"agents": _agents, "names_in_order": _names, "default_agent": _default, "evaluate": _evaluated}
