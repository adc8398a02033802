"""What a project's files start or redirect is not there until it is accepted; all else counts, limits the tighter."""

from typing import NamedTuple

import pytest
from pydantic import JsonValue

from workflows.domain.config.config import Config
from workflows.domain.config.merge import ConfigLayer, merge_files, normalize_field_names, normalize_permissions
from workflows.domain.config.trust import (
    Choice,
    apply_trust,
    find_rules,
    find_starts,
    never_counting,
    own_rules,
    without_held,
)
from workflows.domain.errors import ConfigError

Tree = dict[str, JsonValue]


class Judged(NamedTuple):
    config: Config
    starts: list[str]
    ignored: list[str]


def layer(tree: Tree, *, trusted: bool = False, file: str = "/p/opencode.json") -> ConfigLayer:
    return ConfigLayer(file=file, trusted=trusted, tree=normalize_field_names(normalize_permissions(tree)))


def judge(*, own: Tree, project: Tree, starts: bool = False, rules: bool = False) -> Judged:
    mine, theirs = layer(own, trusted=True, file="own"), layer(project)
    choice = Choice(Config.model_validate(merge_files([mine.tree])))
    found = [*find_starts(theirs, choice)]
    counting = [mine, without_held(theirs, [] if starts else found)]
    applied = apply_trust(counting, choice.default, rules_accepted=rules)
    ignored = [*never_counting(theirs), *applied.ignored]
    return Judged(applied.config, [each.field for each in found], [each.field for each in ignored])


def test_what_starts_nothing_counts_at_once() -> None:
    project: Tree = {
        "model": "c/d",
        "agent": {"mine": {"prompt": "p", "model": "a/b", "temperature": 0.1, "description": "d"}},
        "command": {"go": {"template": "Go."}},
        "compaction": {"auto": False},
        "permission": {"bash": "allow"},
        "instructions": ["docs/*.md"],
        "theme": "x",
    }
    found = judge(own={"model": "a/b"}, project=project)

    assert (found.starts, found.ignored) == ([], [])
    assert (found.config.model, found.config.agent["mine"].prompt, found.config.compaction.auto) == ("c/d", "p", False)


@pytest.mark.parametrize(
    ("project", "starts", "kept"),
    [
        ({"provider": {"x": {"options": {"baseURL": "https://e.test"}}}}, ["provider.x"], {}),
        ({"provider": {"x": {"models": {"m": {"cost": {"input": 0, "output": 0}}}}}}, ["provider.x"], {}),
        (
            {"provider": {"x": {"name": "X", "whitelist": ["a"]}, "y": {"blacklist": ["b"]}}},
            ["provider.x"],
            {"provider": {"x": {"whitelist": ["a"]}, "y": {"blacklist": ["b"]}}},
        ),
        (
            {"agent": {"a": {"options": {"b": 1}}, "c": {"reasoningEffort": "high"}}},
            ["agent.a.options", "agent.c.options"],
            {"agent": {"a": {}, "c": {}}},
        ),
        ({"model": "a/{env:SECRET}", "small_model": "{file:key}"}, ["model", "small_model"], {}),
        (
            {"agent": {"explore": {"model": "a/{env:SECRET}", "steps": 2}}},
            ["agent.explore.model"],
            {"agent": {"explore": {"steps": 2}}},
        ),
        ({"skills": {"urls": ["https://a.test/s"]}}, ["skills.urls https://a.test/s"], {}),
        ({"default_agent": "bold"}, ["default_agent"], {}),
        ({"default_agent": None}, ["default_agent"], {}),
    ],
)
def test_what_starts_or_redirects_something_is_held(project: Tree, starts: list[str], kept: Tree) -> None:
    own: Tree = {"model": "o/o", "agent": {"bold": {}}, "provider": {"x": {"options": {"baseURL": "https://o.test"}}}}
    found, accepted = judge(own=own, project=project), judge(own=own, project=project, starts=True)

    assert found.starts == starts == accepted.starts
    assert found.config == Config.model_validate(merge_files([own, kept]), by_name=False)
    assert accepted.config == Config.model_validate(merge_files([own, layer(project).tree]), by_name=False)


def test_lists_of_providers_and_models_only_take_away() -> None:
    own: Tree = {"enabled_providers": ["a", "b"], "disabled_providers": ["c"], "provider": {"x": {"whitelist": ["a"]}}}
    project: Tree = {"enabled_providers": ["b", "c"], "disabled_providers": [], "provider": {"x": {"whitelist": ["b"]}}}
    found = judge(own=own, project=project)

    assert (found.config.enabled_providers, found.config.disabled_providers) == (("b",), ("c",))
    assert (found.config.provider["x"].whitelist, found.starts) == ((), [])


def test_prompts_and_patterns_that_look_like_references_are_none() -> None:
    project: Tree = {"agent": {"a": {"prompt": "Say {env:HOME}."}}, "instructions": ["{env:HOME}/x"]}

    assert judge(own={}, project=project).starts == []


@pytest.mark.parametrize("accepted", [False, True])
def test_limits_of_what_a_session_may_use_never_count_from_a_project(accepted: bool) -> None:
    project: Tree = {"holdfast": {"budget": {"day": {"cost": 5}}, "larger_model": "a/b"}}
    found = judge(own={}, project=project, starts=accepted, rules=accepted)

    assert found.ignored == ["holdfast.budget", "holdfast.larger_model"]
    assert (found.config.holdfast, found.starts) == (Config().holdfast, [])


@pytest.mark.parametrize(
    ("own", "allowed"),
    [
        ({}, {"build": True, "plan": True, "theirs": True}),
        ({"agent": {"plan": {"model": "a/b"}}}, {"plan": False}),
        ({"agent": {"build": {"permission": {"bash": "ask"}}}}, {"build": True, "plan": False, "theirs": True}),
        ({"default_agent": "plan"}, {"plan": True, "build": False}),
        ({"agent": {"auto": {}}}, {"auto": False, "plan": True}),
        ({"default_agent": "theirs"}, {"theirs": True, "build": False}),
    ],
)
def test_a_project_chooses_an_agent_that_is_judged_as_ones_own_default(own: Tree, allowed: dict[str, bool]) -> None:
    choice = Choice(Config.model_validate(own))

    assert {name: choice.allows(name) for name in allowed} == allowed


def test_accepted_rules_judge_in_their_place_among_ones_own() -> None:
    """Until then, one's own configuration for judging has none of them."""
    own, project = (
        layer({"permission": {"bash": "ask"}}, trusted=True, file="own"),
        layer({"permission": {"bash": "allow"}}),
    )
    last = layer({"permission": {"bash": {"rm *": "deny"}}}, trusted=True, file="OPENCODE_PERMISSION")
    found = [apply_trust([own, project, last], "build", rules_accepted=each) for each in (False, True)]

    assert [each.own.permission["bash"] for each in found] == [{"rm *": "deny"}, {"rm *": "deny"}]
    assert [each.config.permission for each in found] == [found[0].config.permission] * 2
    plain = [apply_trust([own, project], "build", rules_accepted=each).own.permission for each in (False, True)]
    assert plain == [{"bash": "ask"}, {"bash": "allow"}]


def test_what_an_organisation_publishes_is_not_accepted_with_the_project() -> None:
    published = layer({"permission": {"edit": "allow"}}, file="https://o.test")
    found = apply_trust([published, layer({"permission": {"bash": "allow"}})], "build", rules_accepted=True)

    assert (found.own.permission, set(found.config.permission)) == ({"bash": "allow"}, {"edit", "bash"})


def test_more_than_a_thousand_rules_are_refused_by_name() -> None:
    many: JsonValue = {f"command{number} *": "deny" for number in range(501)}
    project: Tree = {"permission": {"bash": many}, "agent": {"a": {"permission": {"bash": many}}}}

    with pytest.raises(ConfigError, match=r"^/p/opencode.json: .* more than 1,000 rules"):
        judge(own={}, project=project)
    judge(own=project, project={"permission": {"bash": many}})


def test_rules_and_limits_are_accepted_in_their_order() -> None:
    project = layer({"permission": {"bash": {"a": "allow", "*": "ask"}}, "agent": {"a": {"steps": 9, "model": "m/m"}}})

    assert [(each.field, each.value) for each in find_rules(project)] == [
        ("permission", {"bash": {"a": "allow", "*": "ask"}}),
        ("agent.a.steps", 9),
    ]


def test_rules_of_ones_own_files_are_what_an_acceptance_stands_beside() -> None:
    own = layer({"permission": {"bash": "ask"}, "model": "a/b"}, trusted=True, file="/home/u/opencode.json")
    run = layer({"permission": {"edit": "ask"}}, trusted=True, file="OPENCODE_PERMISSION")

    assert own_rules([own, run, layer({"permission": {"bash": "allow"}})]) == [[["permission"], {"bash": "ask"}]]
