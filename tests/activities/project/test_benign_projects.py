"""Projects as people write them, by shape: who works, with which model, and what their calls come to, before and after
acceptance, beside what OpenCode's order of rules makes of all files."""

import json
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

import pytest

from tests.activities.project.project_home import Person
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rulesets import Rulesets

_STRICTNESS: Final = ("allow", "ask", "deny")
_DEFAULTS: Final = {
    "*": {"*": "allow"},
    "external_directory": {"*": "ask"},
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
}
_REQUESTS: Final = (
    *(("bash", each) for each in ("npm test", "git diff", "git push", "make", "rm -rf build")),
    *(("edit", each) for each in ("src/a.py", "docs/a.md", ".github/ci.yml")),
    *(("read", each) for each in ("src/a.py", ".env", "key.pem")),
    *(("external_directory", each) for each in ("/srv/shared/*", "/srv/other/*")),
    *((each, "*") for each in ("webfetch", "websearch", "todowrite")),
    ("skill", "release"),
    ("task", "review"),
)
_PEOPLE: Final[dict[str, dict[str, Any]]] = {
    "without rules": {},
    "who is asked": {"permission": {"bash": {"*": "ask", "git diff*": "allow", "rm *": "deny"}, "edit": {"*": "ask"}}},
    "with rules for build": {"agent": {"build": {"permission": {"bash": {"*": "ask"}, "webfetch": "deny"}}}},
}


class Shape(NamedTuple):
    """A project's configuration; `agent`: who works on its requests; `easier`: what a person without rules is still
    asked before acceptance, and OpenCode would not ask."""

    tree: dict[str, Any]
    agent: str = "build"
    easier: tuple[str, ...] = ()


_REVIEWER: Final = {"edit": {"*": "deny"}, "bash": {"*": "deny", "git diff*": "allow"}}
_SHAPES: Final = {
    "a model": Shape({"model": "acme/large", "small_model": "acme/small"}),
    "commands that need no question": Shape({"permission": {"bash": {"npm test": "allow", "git push*": "ask"}}}),
    "files that are left alone": Shape(
        {"permission": {"edit": {".github/*": "deny"}, "read": {"*.pem": "deny", "*.env": "deny"}}}
    ),
    "secrets that are read": Shape({"permission": {"read": {"*.env": "allow"}}}, easier=("read .env",)),
    "a directory beside it": Shape(
        {"permission": {"external_directory": {"/srv/shared/*": "allow"}}}, easier=("external_directory /srv/shared/*",)
    ),
    "tools that it does without": Shape({"tools": {"webfetch": False, "todowrite": False}}),
    "a reviewer": Shape({"agent": {"review": {"mode": "subagent", "model": "acme/small", "permission": _REVIEWER}}}),
    "a writer that works": Shape(
        {"default_agent": "docs", "agent": {"docs": {"permission": {"edit": {"*": "deny", "docs/*": "allow"}}}}},
        agent="docs",
    ),
    "an agent of a few permissions": Shape(
        {"default_agent": "scout", "agent": {"scout": {"permission": {"*": "deny", "read": "allow", "bash": "ask"}}}},
        agent="scout",
        easier=("read .env",),
    ),
    "a careful build": Shape({"agent": {"build": {"temperature": 0.1, "permission": {"bash": {"rm *": "deny"}}}}}),
    "commands": Shape({"command": {"ship": {"template": "Ship $ARGUMENTS", "agent": "build"}}}),
    "texts": Shape({"instructions": ["rules.md"], "agent": {"build": {"prompt": "Be brief."}}}),
}


@pytest.mark.parametrize("who", _PEOPLE)
@pytest.mark.parametrize("name", _SHAPES)
async def test_a_benign_project_works_at_once_and_as_in_opencode_once_it_is_accepted(
    person: Person, name: str, who: str
) -> None:
    shape, own = _SHAPES[name], _PEOPLE[who]
    person.home.write("rules.md", "Write tests.")
    person.home.write("opencode.json", json.dumps({"model": "acme/own", **own}), under=person.home.config)
    person.home.write("opencode.json", json.dumps(shape.tree))

    before = await person.load()
    await person.accept()
    accepted = await person.load()

    reference = _verdicts(own, shape.tree, shape.agent)
    known = shape.agent == "build"
    alone = [_verdicts(own, {}, "build"), *([] if known else [_verdicts({**own, "agent": {}}, {}, "build")])]
    stricter = {
        each: max((reference, *alone), key=lambda found: _STRICTNESS.index(found[each]))[each] for each in reference
    }
    assert before.held == () and _agents(before) == _agents(accepted) and before.config.model == accepted.config.model
    assert (before.agent.name, before.config.model) == (shape.agent, shape.tree.get("model", "acme/own"))
    assert [each.text for each in before.instructions] == [each.text for each in accepted.instructions]
    assert _judged(accepted.rules) == reference
    assert _judged(before.rules) == stricter
    if not own:
        assert tuple(each for each in reference if stricter[each] != reference[each]) == shape.easier


def _agents(turn_config: TurnConfig) -> list[tuple[str, str | None, str | None, float | None]]:
    agents = (turn_config.agent, *turn_config.delegation.agents)
    return [(each.name, each.model, each.prompt, each.temperature) for each in agents]


def _judged(rules: Rulesets) -> dict[str, str]:
    asked = (PermissionRequest(permission=permission, patterns=(subject,)) for permission, subject in _REQUESTS)
    return {f"{each.permission} {each.patterns[0]}": rules.finding(each).action.value for each in asked}


def _verdicts(own: dict[str, Any], theirs: dict[str, Any], agent: str) -> dict[str, str]:
    """By OpenCode's order: defaults, rules of all files merged, the agent's merged; the last that matches decides."""
    tables = [_DEFAULTS, _merged(*(_permissions(each) for each in (own, theirs)))]
    tables.append(_merged(*(_permissions(each.get("agent", {}).get(agent, {})) for each in (own, theirs))))
    rules = [
        (key, pattern, action) for table in tables for key, row in table.items() for pattern, action in row.items()
    ]
    return {
        f"{permission} {subject}": [
            action for key, pattern, action in rules if fnmatchcase(permission, key) and fnmatchcase(subject, pattern)
        ][-1]
        for permission, subject in _REQUESTS
    }


def _permissions(tree: dict[str, Any]) -> dict[str, dict[str, str]]:
    tools = {name: {"*": "allow" if on else "deny"} for name, on in tree.get("tools", {}).items()}
    given = {key: {"*": row} if isinstance(row, str) else row for key, row in tree.get("permission", {}).items()}
    return tools | given


def _merged(*tables: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Keys keep the place where they came first, as objects of JavaScript do."""
    found: dict[str, dict[str, str]] = {}
    for table in tables:
        for key, row in table.items():
            found[key] = found.get(key, {}) | row
    return found
