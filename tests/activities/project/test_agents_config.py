"""A configuration's agents, case by case: which exist, which is the default, and what each may do."""

import json
import re
from typing import Any

import pytest

from activities.project.config_loader import Role
from tests.activities.project.project_home import ProjectHome
from tests.cases import Case, assert_matches, load
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import BUILT_IN, HIDDEN
from workflows.domain.errors import UsageError

ONLY_READS = "what plan and explore deny of edits stands after the general rules: only their own sections lift it"
NO_OPTION = "an unknown field of an agent goes to no provider: `options` is for that"
BROKEN_FILE = 'the file is refused with an error naming file and line; no agent "bad" exists'


@pytest.mark.parametrize("case", load("agents_config"))
async def test_agents_are_as_in_opencode(case: Case, project_home: ProjectHome) -> None:
    project_home.write("opencode.json", json.dumps(case.input["config"]), under=project_home.config)
    for name, text in case.input["files"].items():
        project_home.write(name, text, under=project_home.home)  # a project's files may set no options
    expected = case.expected
    if case.holdfast == ONLY_READS:
        expected = {"evaluate": [[*each[:-1], "deny"] for each in expected["evaluate"]]}
    elif case.holdfast == NO_OPTION:
        expected = {
            **expected,
            "agents": {
                name: {**each, "options": _written_options(case, name)} for name, each in expected["agents"].items()
            },
        }
    elif case.holdfast is not None:
        assert case.holdfast == BROKEN_FILE
        (refused,) = (await project_home.load()).refused_agents
        assert "/agent/bad.md:3:1: " in refused.why and refused.names == ("bad",)
        expected = {"agents": {**expected["agents"], "bad": None}}
    for key, value in expected.items():
        assert_matches({key: await FOUND[key](case, project_home)}, {key: _wanted(key, value)})


def _written_options(case: Case, name: str) -> dict[str, Any]:
    return dict(case.input["config"].get("agent", {}).get(name, {}).get("options", {}))


async def _agents(case: Case, project_home: ProjectHome) -> dict[str, Any]:
    """The case's agents; None for a missing one."""
    known = {agent.name for agent in (await project_home.load()).delegation.agents}
    return {
        name: _shown((await project_home.load(role=Role(name, ancestors=1))).agent) if name in known else None
        for name in case.expected["agents"]
    }


def _shown(agent: Agent) -> dict[str, Any]:
    provider, _, model = (agent.model or "").partition("/")
    return {
        **agent.model_dump(include={"description", "hidden", "steps", "temperature", "color", "prompt", "options"}),
        "topP": agent.top_p,
        "mode": agent.mode.value,
        "native": agent.name in BUILT_IN,
        "model": {"providerID": provider, "modelID": model},
    }


async def _names(_: Case, project_home: ProjectHome) -> list[str]:
    turn_config = await project_home.load()
    names = sorted([*HIDDEN, *(agent.name for agent in turn_config.delegation.agents)])
    return sorted(names, key=lambda name: name != turn_config.agent.name)


async def _default(case: Case, project_home: ProjectHome) -> str | dict[str, bool]:
    """The default agent; for an error, whether it is the case's."""
    try:
        return (await project_home.load()).agent.name
    except UsageError as error:
        return {"says": case.expected["default_agent"]["error_message_contains"] in str(error)}


async def _evaluated(case: Case, project_home: ProjectHome) -> list[list[str]]:
    found = []
    for agent, permission, pattern in case.input["evaluate"]:
        rules = (await project_home.load(role=Role(agent, ancestors=1))).rules
        subject = re.sub("^/tmp/", f"{project_home.home}/tmp/", pattern).replace(
            "<DATA>", str(project_home.home / "data")
        )
        found.append([agent, permission, pattern, rules.action(permission, subject).value])
    return found


def _wanted(key: str, value: Any) -> Any:
    return {"says": True} if key == "default_agent" and isinstance(value, dict) else value


FOUND = {"agents": _agents, "names_in_order": _names, "default_agent": _default, "evaluate": _evaluated}
