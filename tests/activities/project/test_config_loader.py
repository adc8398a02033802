import json

import pytest

from activities.project.config_loader import Role
from tests.activities.project.project_home import ProjectHome
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import ConfigError, UnknownAgent
from workflows.domain.permissions.rules import Action


async def test_a_turn_configuration_holds_the_settings_of_directory_and_user(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", '{"model": "a/b", "permission": {"edit": "ask"}}', under=project_home.config)
    project_home.write("opencode.jsonc", '{"permission": {"bash": "ask"}} // tighter')
    project_home.write("AGENTS.md", "Use tabs.")

    turn_config = await project_home.load("src")

    assert (turn_config.directory, turn_config.worktree) == (
        str(project_home.project / "src"),
        str(project_home.project),
    )
    assert turn_config.config.model == "a/b"
    assert [turn_config.rules.action(name, "x") for name in ("edit", "bash", "glob")] == [
        "ask",
        "ask",
        "allow",
    ]
    assert [instruction.text for instruction in turn_config.instructions] == ["Use tabs."]


async def test_a_snapshot_comes_back_from_its_json_as_it_was(project_home: ProjectHome) -> None:
    project_home.write(
        "opencode.json", '{"provider": {"x": {"options": {"apiKey": "{env:K}"}}}}', under=project_home.config
    )

    turn_config = await project_home.load()

    assert TurnConfig.model_validate_json(turn_config.model_dump_json()) == turn_config


async def test_no_secret_is_in_a_snapshot(project_home: ProjectHome) -> None:
    text = '{"provider": {"x": {"options": {"apiKey": "s3cret-one", "headers": {"A": "{env:TOKEN}"}}}}}'
    project_home.write("opencode.json", text, under=project_home.config)
    project_home.write("opencode.json", text.replace("one", "two"))

    turn_config = await project_home.load(TOKEN="s3cret-three")

    assert "s3cret" not in turn_config.model_dump_json()


async def test_settings_of_a_hostile_project_are_named_and_have_no_effect(project_home: ProjectHome) -> None:
    project_home.write(
        "opencode.json", '{"permission": "allow", "provider": {"x": {"options": {"baseURL": "http://e"}}}}'
    )

    turn_config = await project_home.load()

    assert [item.field for item in turn_config.held] == ["provider.x"]
    assert turn_config.rules.action("read", ".env") is Action.ASK
    assert turn_config.config.provider == {}


async def test_a_project_does_not_free_its_subagents_of_their_bounds(project_home: ProjectHome) -> None:
    project_home.write(
        "opencode.json", '{"agent": {"mine": {"permission": {"task": "allow"}}}}', under=project_home.config
    )
    project_home.write("opencode.json", '{"agent": {"general": {"permission": {"task": "allow", "edit": "ask"}}}}')

    turn_config = await project_home.load()
    permissions = {agent.name: agent.named_permissions for agent in turn_config.delegation.agents}

    assert (permissions["mine"], permissions["general"]) == (("task",), ())


async def test_unsupported_and_unknown_fields_are_named(project_home: ProjectHome) -> None:
    file = project_home.write("opencode.json", '{"lsp": {}, "modle": "a/b"}')

    turn_config = await project_home.load()

    assert [(item.file, item.field) for item in turn_config.unsupported_fields] == [(str(file), "lsp")]
    assert turn_config.warnings == (f"{file}: there is no field 'modle': it has no effect.",)


@pytest.mark.parametrize(
    ("general", "own", "action"),
    [("edit", "{}", Action.DENY), ("*", "{}", Action.DENY), ("edit", '{"edit": "ask"}', Action.ASK)],
)
async def test_only_its_own_section_lets_explore_change_files(
    project_home: ProjectHome, general: str, own: str, action: Action
) -> None:
    text = f'{{"permission": {{"{general}": "allow"}}, "agent": {{"explore": {{"permission": {own}}}}}}}'
    project_home.write("opencode.json", text, under=project_home.config)

    found = (await project_home.load(role=Role("explore", ancestors=1))).rules

    assert found.action("edit", "a.py") is action and found.action("bash", "ls") is Action.ALLOW
    general_rules = (await project_home.load(role=Role("general", ancestors=1))).rules
    assert general_rules.action("edit", "a.py") is Action.ALLOW


WHITE_LIST = '{"permission": {"bash": {"git diff *": "allow", "ls *": "allow", "*": "ask"}}}'
DENIES_ALL = """{"permission": {
  "read": "allow", "bash": {"ls *": "allow"},
  "bash": {"git *": "allow"},
  "*": "deny"}}"""
REVIEWER = '{"agent": {"reviewer": {"permission": {"read": "allow", "grep": "allow", "*": "deny"}}}}'
UNDONE = '{"permission": {"bash": {"rm *": "deny"}}, "agent": {"coder": {"permission": {"bash": "allow"}}}}'


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        (WHITE_LIST, ["permission: bash 'git diff *': allow, bash 'ls *': allow have no effect: bash '*': ask comes"]),
        (
            DENIES_ALL,
            [": the key 'permission.bash' is there twice", "bash 'git *': allow have no effect: * '*': deny"],
        ),
        (REVIEWER, ["agent.reviewer.permission: read '*': allow, grep '*': allow have no effect: * '*': deny comes"]),
        (UNDONE, ["agent.coder.permission: bash '*': allow undoes for this agent bash 'rm *': deny."]),
        ('{"permission": {"bash": {"rm *": "deny", "*": "ask"}}}', ["permission: bash 'rm *': deny has no effect"]),
        ('{"permission": {"*": "ask", "bash": {"*": "ask", "rm *": "deny", "git *": "allow"}}}', []),
    ],
)
async def test_rules_without_effect_and_doubled_keys_are_warned_about(
    project_home: ProjectHome, text: str, warnings: list[str]
) -> None:
    project_home.write("opencode.json", text, under=project_home.config)

    turn_config = await project_home.load()

    assert len(turn_config.warnings) == len(warnings)
    assert [expected in warning for expected, warning in zip(warnings, turn_config.warnings, strict=True)] == [
        True for _ in warnings
    ]


@pytest.mark.parametrize(
    ("patterns", "warned"), [('{"git *": "allow"}', True), ('{"*": "deny", "git *": "ask"}', False)]
)
async def test_a_denial_that_patterns_of_a_later_file_replace_is_warned_about(
    project_home: ProjectHome, patterns: str, warned: bool
) -> None:
    project_home.write("config.json", '{"permission": {"bash": "deny"}}', under=project_home.config)
    file = project_home.write("opencode.json", f'{{"permission": {{"bash": {patterns}}}}}', under=project_home.config)

    warnings = (await project_home.load()).warnings

    wanted = f"{file}: the patterns of permission.bash replace the denial of an earlier file"
    assert [warning.startswith(wanted) for warning in warnings] == [True] * warned


async def test_a_permission_by_the_name_of_a_tool_that_edits_is_about_editing(project_home: ProjectHome) -> None:
    migrator = '{"agent": {"migrator": {"permission": {"edit": "deny", "write": {"migrations/*": "allow"}}}}}'
    project_home.write("opencode.json", migrator, under=project_home.config)

    turn_config = await project_home.load(role=Role("migrator"))

    assert [turn_config.rules.action("edit", file) for file in ("migrations/1.sql", "a.py")] == [
        "allow",
        "deny",
    ]
    assert turn_config.warnings == ()


async def test_a_project_opens_nothing_by_another_name_for_editing(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", '{"permission": {"edit": "ask"}}', under=project_home.config)
    project_home.write("opencode.json", '{"permission": {"write": "allow"}}')

    turn_config = await project_home.load()

    assert turn_config.rules.action("edit", "a.py") is Action.ASK


async def test_the_older_object_of_permissions_and_the_older_names_of_tools_hold(project_home: ProjectHome) -> None:
    older = {"edit": "deny", "bash": {"git *": "ask", "*": "allow"}, "skill": "ask", "webfetch": "deny"}
    older |= {"doom_loop": "deny", "external_directory": "allow"}
    tools = {"todoread": False, "list": False, "codesearch": False, "batch": False, "patch": True, "multiedit": True}
    config = {"permission": older, "agent": {"old": {"tools": tools}}}
    project_home.write("opencode.json", json.dumps(config), under=project_home.config)

    turn_config = await project_home.load()
    old = await project_home.load(role=Role("old"))

    wanted = {"edit": "deny", "bash": "allow", "webfetch": "deny", "doom_loop": "deny", "external_directory": "allow"}
    assert {name: turn_config.rules.action(name, "x") for name in wanted} == wanted
    assert old.rules.action("edit", "x") is Action.ALLOW and turn_config.unsupported_fields == ()


async def test_a_wrong_file_stops_the_loading(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", '{"permission": 5}')

    with pytest.raises(ConfigError, match="permission"):
        await project_home.load()


async def test_an_agent_that_people_may_not_choose_works_below_a_session_only(project_home: ProjectHome) -> None:
    below = await project_home.load(role=Role("explore", ancestors=1))

    assert below.agent.name == "explore"
    for name in ("explore", "title", "nope"):
        with pytest.raises(UnknownAgent, match=name):
            await project_home.load(role=Role(name))


async def test_a_session_can_begin_where_build_is_disabled(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", '{"agent": {"build": {"disable": true}, "coder": {}}}')

    assert (await project_home.load()).agent.name == "coder"


CAREFUL = '{"default_agent": "careful", "agent": {"careful": {"permission": {"bash": "ask"}}, "bold": {}}}'
BOLD = '{"permission": {"bash": "ask"}, "agent": {"bold": {"permission": {"bash": "allow"}}}}'


@pytest.mark.parametrize(
    ("own", "project", "used"),
    [
        (CAREFUL, '{"default_agent": "build"}', "careful"),
        (BOLD, '{"default_agent": "bold"}', "build"),
    ],
)
async def test_a_project_makes_no_default_of_an_agent_that_ones_own_files_know(
    project_home: ProjectHome, own: str, project: str, used: str
) -> None:
    project_home.write("opencode.json", own, under=project_home.config)
    project_home.write("opencode.json", project)

    turn_config = await project_home.load()

    assert (turn_config.agent.name, [each.field for each in turn_config.held]) == (used, ["default_agent"])
    assert (await project_home.load(role=Role("bold"))).agent.name == "bold"


async def test_a_project_that_takes_the_default_agent_away_leaves_none(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", BOLD, under=project_home.config)
    for taken in ('"disable": true', '"hidden": true'):
        project_home.write("opencode.json", f'{{"agent": {{"build": {{{taken}}}}}}}')
        with pytest.raises(UnknownAgent, match="take away 'build', your default agent: .*--agent"):
            await project_home.load()
    assert (await project_home.load(role=Role("bold"))).agent.name == "bold"


async def test_a_project_asks_for_one_agent_and_turns_no_denial_of_another_into_a_question(
    project_home: ProjectHome,
) -> None:
    project_home.write("opencode.json", '{"permission": {"skill": {"x": "ask"}, "edit": "ask"}}')

    decided = {
        name: [
            (await project_home.load(role=Role(name, ancestors=1))).rules.action(permission, "x")
            for permission in ("skill", "edit", "read")
        ]
        for name in ("build", "explore", "general")
    }

    assert decided == {
        "build": ["ask", "ask", "allow"],
        "explore": ["deny", "deny", "allow"],
        "general": ["ask", "ask", "allow"],
    }


async def test_a_project_may_choose_a_default_that_may_do_no_more(project_home: ProjectHome) -> None:
    project_home.write(
        "opencode.json", '{"agent": {"build": {"permission": {"bash": "ask"}}}}', under=project_home.config
    )
    project_home.write(
        "opencode.json", '{"default_agent": "tester", "agent": {"tester": {"permission": {"bash": "deny"}}}}'
    )

    assert (await project_home.load()).agent.name == "tester"


async def test_a_denial_of_the_administrator_holds_against_all_later_rules(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", '{"permission": {"bash": "ask", "*": "allow"}}', under=project_home.config)
    project_home.write("opencode.json", '{"permission": {"bash": "deny"}}', under=project_home.managed)

    turn_config = await project_home.load(OPENCODE_PERMISSION='{"bash": "allow"}')

    assert turn_config.rules.action("bash", "ls") is Action.DENY


async def test_a_model_of_the_administrator_is_known_as_such(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", '{"model": "a/b"}', under=project_home.config)
    own = await project_home.load()
    project_home.write("opencode.json", '{"model": "c/d"}', under=project_home.managed)
    managed = await project_home.load()

    assert (own.config.model, own.model_is_managed) == ("a/b", False)
    assert (managed.config.model, managed.model_is_managed) == ("c/d", True)


@pytest.mark.parametrize("managed", [{"model": "c/d"}, {"model": "x/y", "agent": {"build": {"model": "c/d"}}}])
async def test_a_model_of_the_administrator_overrides_one_for_the_agent(
    project_home: ProjectHome, managed: dict[str, object]
) -> None:
    project_home.write("opencode.json", '{"agent": {"build": {"model": "a/b"}}}')
    project_home.write("opencode.json", json.dumps(managed), under=project_home.managed)

    turn_config = await project_home.load()

    assert (turn_config.agent.model, turn_config.model_is_managed) == ("c/d", True)


@pytest.mark.parametrize(("weaker", "stronger"), [("steps", "maxSteps"), ("maxSteps", "steps")])
async def test_a_later_file_sets_the_steps_by_either_of_their_names(
    project_home: ProjectHome, weaker: str, stronger: str
) -> None:
    def steps(name: str, count: int) -> str:
        return json.dumps({"agent": {"build": {name: count}}})

    project_home.write("opencode.json", steps(weaker, 100), under=project_home.config)
    of_content = (await project_home.load(OPENCODE_CONFIG_CONTENT=steps(stronger, 7))).agent.steps
    project_home.write("opencode.json", steps(stronger, 3), under=project_home.managed)
    of_administrator = (await project_home.load(OPENCODE_CONFIG_CONTENT=steps(weaker, 50))).agent.steps

    assert (of_content, of_administrator) == (7, 3)


async def test_an_agents_model_of_the_administrator_is_its_own_only(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", '{"agent": {"coder": {"model": "c/d"}}}', under=project_home.managed)

    build, coder = await project_home.load(), await project_home.load(role=Role("coder"))

    assert (build.model_is_managed, coder.model_is_managed, coder.agent.model) == (False, True, "c/d")


async def test_an_unresolved_reference_is_named(project_home: ProjectHome) -> None:
    looked_up = {
        "model": "{env:M}",
        "agent": {"build": {"model": "{env:M}"}},
        "provider": {
            "x": {
                "options": {"apiKey": "{env:K}", "baseURL": "{env:U}", "headers": {"A": "{env:H}"}},
                "models": {"m": {"headers": {"A": "{env:H}"}, "options": {"b": ["{env:O}"]}}},
            }
        },
    }
    literal = {
        "permission": {"read": {"{env:SECRETS}/*": "deny"}},
        "default_agent": "{env:AGENT}",
        "provider": {"x": {"models": {"m": {"id": "{file:id}"}}}},
        "keybinds": {"leader": "{env:LEADER}"},
    }
    project_home.write("opencode.json", json.dumps(looked_up), under=project_home.config)
    assert (await project_home.load()).warnings == ()

    file = project_home.write("opencode.jsonc", json.dumps(literal), under=project_home.config)
    warnings = (await project_home.load(role=Role("build"))).warnings

    assert list(warnings) == [
        f"{file}: the reference in {field!r} is not looked up: it counts as it is written."
        for field in ("permission.read.{env:SECRETS}/*", "default_agent", "provider.x.models.m.id")
    ]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"default_agent": "x\nAllowed: y"}, "'default_agent' is wrong: a name has printable characters only"),
        ({"instructions": ["x" * 300]}, "no usable pattern"),
        ({"agent": {"a": {"prompt": "{file:\0}"}}}, "the file cannot be read"),
        ({"agent": {"a": {"prompt": "{file:./loop}"}}}, "the file cannot be read"),
        ({"skills": {"paths": ["x" * 300]}}, None),
    ],
    ids=["name", "instructions", "prompt", "links", "skills"],
)
async def test_what_no_name_or_path_can_be_is_a_mistake_in_its_file(
    project_home: ProjectHome, written: dict[str, object], problem: str | None
) -> None:
    project_home.write("opencode.json", json.dumps(written))
    (project_home.project / "loop").symlink_to("loop")

    if problem is None:
        (warning,) = (await project_home.load()).warnings
        assert "there is no such folder" in warning
        return
    with pytest.raises(ConfigError, match=problem):
        await project_home.load()


async def test_a_negative_price_is_a_mistake_which_a_budget_would_count_down_by(project_home: ProjectHome) -> None:
    tree = {"provider": {"x": {"models": {"m": {"cost": {"input": 1, "output": -2}}}}}}
    project_home.write("opencode.json", json.dumps(tree), under=project_home.config)

    with pytest.raises(ConfigError, match="provider.x.models.m.cost.output' is wrong"):
        await project_home.load()
