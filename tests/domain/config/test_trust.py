from pydantic import JsonValue

from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.config.merge import ConfigLayer, normalize_field_names, normalize_permissions
from workflows.domain.config.trust import apply_trust
from workflows.domain.permissions import rules
from workflows.domain.permissions.rules import Action, Rule, Ruleset, evaluate

BUILT_IN = (
    Rule(permission="*", pattern="*", action=Action.ALLOW),
    Rule(permission="external_directory", pattern="*", action=Action.ASK),
    Rule(permission="read", pattern="*.env", action=Action.ASK),
)


def rules_of(config: Config, agent: str) -> Ruleset:
    own = rules.from_config(config.permission, "/home/u")
    settings = config.agent.get(agent, AgentSettings())
    return (*BUILT_IN, *own, *rules.from_config(settings.permission, "/home/u"))


def layers_of(own: dict[str, JsonValue], project: dict[str, JsonValue]) -> list[ConfigLayer]:
    own, project = (normalize_field_names(normalize_permissions(tree)) for tree in (own, project))
    return [
        ConfigLayer(file="own", trusted=True, tree=own),
        ConfigLayer(file="project", trusted=False, tree=project),
    ]


def judge(*, own: dict[str, JsonValue], project: dict[str, JsonValue]) -> tuple[Config, list[str]]:
    config, _, held = apply_trust(layers_of(own, project), rules_of)
    assert all(item.file == "project" for item in held)
    return config, [item.untrusted.field for item in held]


def decide(config: Config, permission: str, pattern: str, agent: str = "build") -> Action:
    return evaluate(permission, pattern, rules_of(config, agent)).action


def test_a_project_may_choose_the_model() -> None:
    config, held = judge(own={"model": "a/b"}, project={"model": "c/d"})

    assert (config.model, held) == ("c/d", [])


def test_a_project_may_narrow_which_providers_are_asked_and_not_widen_it() -> None:
    own: dict[str, JsonValue] = {"enabled_providers": ["a", "b"], "disabled_providers": ["c"]}
    config, held = judge(own=own, project={"enabled_providers": ["b", "c"], "disabled_providers": []})

    assert (config.enabled_providers, config.disabled_providers, held) == (("b",), ("c",), [])


def test_a_project_may_narrow_which_models_are_asked_and_not_widen_it() -> None:
    own: dict[str, JsonValue] = {"provider": {"x": {"whitelist": ["a", "b"], "blacklist": ["c"]}}}
    project: dict[str, JsonValue] = {"x": {"whitelist": ["b", "c"], "blacklist": []}, "y": {"whitelist": ["d"]}}
    config, held = judge(own=own, project={"provider": project})

    assert (config.provider["x"].whitelist, config.provider["x"].blacklist, held) == (("b",), ("c",), [])
    assert config.provider["y"].whitelist == ("d",)


def test_fields_of_other_programs_are_no_news() -> None:
    other: dict[str, JsonValue] = {"$schema": "https://opencode.ai/config.json", "theme": "x", "username": "y"}

    assert judge(own={}, project=other)[1] == []


def test_an_endpoint_or_a_key_of_a_project_is_held_back() -> None:
    own: dict[str, JsonValue] = {"provider": {"x": {"options": {"baseURL": "https://own.test"}}}}
    options: JsonValue = {"baseURL": "https://evil.test", "apiKey": "k"}

    config, held = judge(own=own, project={"provider": {"x": {"name": "X", "options": options}}})

    assert config.provider["x"].options.base_url == "https://own.test"
    assert config.provider["x"].options.api_key is None
    assert held == ["provider.x.options"]


def test_limits_prices_and_names_of_models_count_from_the_users_own_files_only() -> None:
    own: JsonValue = {"limit": {"context": 9000, "output": 1000}}
    wanted: JsonValue = {
        "id": "dearer",
        "limit": {"context": 9, "output": 9},
        "cost": {"input": 0, "output": 0},
        "options": {"max_tokens": 9},
        "headers": {"X": "y"},
        "attachment": True,
    }

    config, held = judge(
        own={"provider": {"x": {"models": {"m": own}}}}, project={"provider": {"x": {"models": {"m": wanted}}}}
    )
    model = config.provider["x"].models["m"]

    assert model.limit is not None and (model.id, model.limit.output, model.attachment) == (None, 1000, True)
    assert held == [f"provider.x.models.m.{field}" for field in ("id", "limit", "cost", "options", "headers")]


def test_a_reference_that_a_provider_would_see_is_held_back() -> None:
    secret = "openrouter/{env:SECRET}"
    config, held = judge(own={"model": "a/b"}, project={"model": secret, "small_model": secret})

    assert (config.model, config.small_model, held) == ("a/b", None, ["model", "small_model"])


def test_a_project_may_offer_questions_unless_the_users_own_rules_deny_them() -> None:
    wanted: list[dict[str, JsonValue]] = [
        {"permission": {"question": "ask"}},
        {"permission": {"*": "ask"}},
        {"agent": {"build": {"permission": {"question": "allow"}}}},
        {"agent": {"theirs": {"permission": {"question": "allow"}}}},
    ]
    for project in wanted:
        agent = "theirs" if "theirs" in str(project) else "build"
        config, held = judge(own={"permission": {"question": "deny"}}, project=project)
        assert len(held) == ("*" not in str(project)) and decide(config, "question", "*", agent) is Action.DENY
        assert judge(own={"permission": {"bash": "allow"}}, project=project)[1] == []

    assert judge(own={"permission": {"*": "deny"}}, project={"permission": {"plan_exit": "allow"}})[1] != []


def test_a_project_may_tighten_without_trust() -> None:
    config, held = judge(own={}, project={"permission": {"edit": "ask", "bash": {"*": "ask", "git *": "allow"}}})

    assert held == []
    assert decide(config, "edit", "a.py") is Action.ASK
    assert decide(config, "bash", "git log") is Action.ALLOW


def test_what_a_project_would_loosen_is_held_back_rule_by_rule() -> None:
    project: dict[str, JsonValue] = {"permission": {"bash": {"make *": "allow", "rm *": "deny"}}}

    config, held = judge(own={"permission": {"bash": "ask"}}, project=project)

    assert held == ["permission.bash.make *"]
    assert decide(config, "bash", "make all") is Action.ASK
    assert decide(config, "bash", "rm x") is Action.DENY


def test_no_project_lifts_built_in_questions() -> None:
    config, held = judge(own={}, project={"permission": {"read": "allow", "external_directory": {"/etc/*": "allow"}}})

    assert held == ["permission.read.*", "permission.external_directory./etc/*"]
    assert decide(config, "read", ".env") is Action.ASK
    assert decide(config, "external_directory", "/etc/*") is Action.ASK


def test_a_wide_rule_tightens_around_the_users_exceptions() -> None:
    own: dict[str, JsonValue] = {"permission": {"bash": {"*": "allow", "rm *": "deny"}, "webfetch": "deny"}}

    config, held = judge(own=own, project={"permission": {"*": "ask", "bash": "ask"}})

    assert held == []
    assert decide(config, "edit", "a.py") is Action.ASK
    assert decide(config, "bash", "ls") is Action.ASK
    assert decide(config, "bash", "rm x") is Action.DENY
    assert decide(config, "webfetch", "https://a.test") is Action.DENY


def test_a_rule_that_hides_behind_the_users_own_does_not_count_as_accepted() -> None:
    _, held = judge(own={"permission": {"bash": "ask"}}, project={"permission": {"bash": {"ls *": "allow"}}})

    assert held == ["permission.bash.ls *"]


def test_rules_of_the_agent_are_judged_like_the_others() -> None:
    project: dict[str, JsonValue] = {"agent": {"build": {"permission": {"edit": "allow", "bash": "ask"}}}}

    config, held = judge(own={"permission": {"edit": "ask"}}, project=project)

    assert held == ["agent.build.permission.edit.*"]
    assert decide(config, "edit", "a.py") is Action.ASK
    assert decide(config, "bash", "ls") is Action.ASK


def test_each_agent_is_judged_by_its_own_rules() -> None:
    project: dict[str, JsonValue] = {
        "agent": {
            "reader": {"mode": "subagent", "permission": {"read": "allow", "edit": "deny"}},
            "build": {"steps": 3},
        }
    }

    config, held = judge(own={}, project=project)

    assert held == ["agent.reader.permission.read.*"]
    assert (config.agent["reader"].mode, config.agent["build"].steps) == ("subagent", 3)
    assert decide(config, "read", ".env", "reader") is Action.ASK
    assert decide(config, "edit", "a.py", "reader") is Action.DENY


def test_a_reference_in_the_model_of_an_agent_is_held_back() -> None:
    project: dict[str, JsonValue] = {"agent": {"explore": {"model": "a/{env:SECRET}", "steps": 2}}}

    config, held = judge(own={}, project=project)

    assert held == ["agent.explore.model"]
    assert (config.agent["explore"].model, config.agent["explore"].steps) == (None, 2)


def test_a_projects_permission_for_all_agents_loosens_none_of_them() -> None:
    own: dict[str, JsonValue] = {
        "permission": {"bash": "ask"},
        "agent": {"build": {"permission": {"bash": "ask"}}, "reader": {"permission": {"webfetch": "ask"}}},
    }

    config, held = judge(own=own, project={"permission": {"bash": "allow", "edit": "ask"}})

    assert held == ["permission.bash.*"]
    assert [decide(config, "bash", "make", agent) for agent in ("build", "general", "reader")] == [Action.ASK] * 3
    assert decide(config, "edit", "a.py", "general") is Action.ASK


def test_more_rules_than_can_be_judged_are_held_back_together() -> None:
    many: JsonValue = {f"command{number} *": "deny" for number in range(201)}

    config, held = judge(own={}, project={"permission": {"bash": many}})

    assert (config.permission, held) == ({}, ["permission"])


def test_the_users_own_files_are_unrestricted() -> None:
    own: dict[str, JsonValue] = {"model": "a/{env:M}", "permission": {"read": "allow"}}

    config, held = judge(own=own, project={})

    assert held == []
    assert decide(config, "read", ".env") is Action.ALLOW


def test_how_deep_subagents_may_go_is_the_users_to_say() -> None:
    config, held = judge(own={"subagent_depth": 2}, project={"subagent_depth": 9})

    assert (config.subagent_depth, held) == (2, ["subagent_depth"])


def test_rules_are_counted_over_all_agents_of_a_file() -> None:
    few: JsonValue = {f"command{number} *": "deny" for number in range(70)}
    agents: JsonValue = {name: {"permission": {"bash": few}} for name in ("build", "explore", "mine")}

    _, held = judge(own={}, project={"agent": agents})

    assert held == [f"agent.{name}.permission" for name in ("build", "explore", "mine")]


def test_a_rule_that_repeats_or_tightens_around_the_users_own_is_no_item() -> None:
    own: dict[str, JsonValue] = {"permission": {"*": "ask", "bash": {"rm *": "deny"}}}

    config, held = judge(own=own, project={"permission": {"bash": "ask"}})

    assert (decide(config, "bash", "rm x"), decide(config, "bash", "ls"), held) == (Action.DENY, Action.ASK, [])
    assert judge(own=own, project={"permission": {"bash": {"rm *": "ask"}}})[1] == ["permission.bash.rm *"]


def test_a_permission_without_patterns_is_held_back_as_one_value() -> None:
    own: dict[str, JsonValue] = {"permission": {"webfetch": "deny"}}

    config, held = judge(own=own, project={"tools": {"webfetch": True}, "agent": {"a": {"tools": {"webfetch": True}}}})

    assert (decide(config, "webfetch", "u"), held) == (
        Action.DENY,
        ["permission.webfetch.*", "agent.a.permission.webfetch.*"],
    )
    layers = layers_of(own, {"permission": {"webfetch": "ask"}})
    assert decide(apply_trust(layers, rules_of, accepted=["project"]).config, "webfetch", "u") is Action.ASK
