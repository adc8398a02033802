import json

import pytest

from activities.project.load import Role
from tests.activities.project.world import World
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.errors import ConfigError, UnknownAgent, UsageError
from workflows.domain.permissions.rules import Action, evaluate


async def test_a_snapshot_holds_what_the_directory_and_its_user_say(world: World) -> None:
    world.write("opencode.json", '{"model": "a/b", "permission": {"edit": "ask"}}', under=world.config)
    world.write("opencode.jsonc", '{"permission": {"bash": "ask"}} // tighter')
    world.write("AGENTS.md", "Use tabs.")

    snapshot = await world.load("src")

    assert (snapshot.directory, snapshot.worktree) == (str(world.project / "src"), str(world.project))
    assert snapshot.config.model == "a/b"
    assert [evaluate(name, "x", snapshot.rules).action for name in ("edit", "bash", "glob")] == ["ask", "ask", "allow"]
    assert [instruction.text for instruction in snapshot.instructions] == ["Use tabs."]


async def test_a_snapshot_comes_back_from_its_json_as_it_was(world: World) -> None:
    world.write("opencode.json", '{"provider": {"x": {"options": {"apiKey": "{env:K}"}}}}', under=world.config)

    snapshot = await world.load()

    assert ProjectSnapshot.model_validate_json(snapshot.model_dump_json()) == snapshot


async def test_no_secret_is_in_a_snapshot(world: World) -> None:
    text = '{"provider": {"x": {"options": {"apiKey": "s3cret-one", "headers": {"A": "{env:TOKEN}"}}}}}'
    world.write("opencode.json", text, under=world.config)
    world.write("opencode.json", text.replace("one", "two"))

    snapshot = await world.load(TOKEN="s3cret-three")

    assert "s3cret" not in snapshot.model_dump_json()


async def test_what_a_hostile_project_wants_is_named_and_has_no_effect(world: World) -> None:
    world.write("opencode.json", '{"permission": "allow", "provider": {"x": {"options": {"baseURL": "http://e"}}}}')

    snapshot = await world.load()

    assert {item.field for item in snapshot.held_back} == {"provider.x.options", "permission.*.*"}
    assert evaluate("read", ".env", snapshot.rules).action is Action.ASK
    assert snapshot.config.provider["x"].options.base_url is None


async def test_a_project_does_not_free_its_subagents_of_their_bounds(world: World) -> None:
    world.write("opencode.json", '{"agent": {"mine": {"permission": {"task": "allow"}}}}', under=world.config)
    world.write("opencode.json", '{"agent": {"general": {"permission": {"task": "allow", "edit": "ask"}}}}')

    snapshot = await world.load()
    permissions = {agent.name: agent.permissions for agent in snapshot.delegation.agents}

    assert (permissions["mine"], permissions["general"]) == (("task",), ("todowrite",))


async def test_fields_that_come_later_and_fields_that_nobody_knows_are_named(world: World) -> None:
    file = world.write("opencode.json", '{"mcp": {}, "modle": "a/b"}')

    snapshot = await world.load()

    assert [(item.file, item.field) for item in snapshot.not_honoured] == [(str(file), "mcp")]
    assert snapshot.warnings == (f"{file}: there is no field 'modle': it has no effect.",)


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
        (DENIES_ALL, [":3: the key 'permission.bash' stands here", "bash 'git *': allow have no effect: * '*': deny"]),
        (REVIEWER, ["agent.reviewer.permission: read '*': allow, grep '*': allow have no effect: * '*': deny comes"]),
        (UNDONE, ["agent.coder.permission: bash '*': allow undoes for this agent bash 'rm *': deny."]),
        ('{"permission": {"bash": {"rm *": "deny", "*": "ask"}}}', ["permission: bash 'rm *': deny has no effect"]),
        ('{"permission": {"*": "ask", "bash": {"*": "ask", "rm *": "deny", "git *": "allow"}}}', []),
    ],
)
async def test_rules_without_effect_and_doubled_keys_are_warned_about(
    world: World, text: str, warnings: list[str]
) -> None:
    world.write("opencode.json", text, under=world.config)

    snapshot = await world.load()

    assert len(snapshot.warnings) == len(warnings)
    assert [expected in warning for expected, warning in zip(warnings, snapshot.warnings, strict=True)] == [
        True for _ in warnings
    ]


@pytest.mark.parametrize(
    ("patterns", "warned"), [('{"git *": "allow"}', True), ('{"*": "deny", "git *": "ask"}', False)]
)
async def test_a_denial_that_patterns_of_a_later_file_replace_is_warned_about(
    world: World, patterns: str, warned: bool
) -> None:
    world.write("config.json", '{"permission": {"bash": "deny"}}', under=world.config)
    file = world.write("opencode.json", f'{{"permission": {{"bash": {patterns}}}}}', under=world.config)

    warnings = (await world.load()).warnings

    wanted = f"{file}: the patterns of permission.bash replace the denial of an earlier file"
    assert [warning.startswith(wanted) for warning in warnings] == [True] * warned


async def test_a_permission_by_the_name_of_a_tool_that_edits_is_about_editing(world: World) -> None:
    migrator = '{"agent": {"migrator": {"permission": {"edit": "deny", "write": {"migrations/*": "allow"}}}}}'
    world.write("opencode.json", migrator, under=world.config)

    snapshot = await world.load(role=Role("migrator"))

    assert [evaluate("edit", file, snapshot.rules).action for file in ("migrations/1.sql", "a.py")] == ["allow", "deny"]
    assert snapshot.warnings == ()


async def test_a_project_opens_nothing_by_another_name_for_editing(world: World) -> None:
    world.write("opencode.json", '{"permission": {"edit": "ask"}}', under=world.config)
    world.write("opencode.json", '{"permission": {"write": "allow"}}')

    snapshot = await world.load()

    assert evaluate("edit", "a.py", snapshot.rules).action is Action.ASK
    assert [held.field for held in snapshot.held_back] == ["permission.write.*"]


async def test_the_older_object_of_permissions_and_the_older_names_of_tools_hold(world: World) -> None:
    older = {"edit": "deny", "bash": {"git *": "ask", "*": "allow"}, "skill": "ask", "webfetch": "deny"}
    older |= {"doom_loop": "deny", "external_directory": "allow"}
    tools = {"todoread": False, "list": False, "codesearch": False, "batch": False, "patch": True, "multiedit": True}
    config = {"permission": older, "agent": {"old": {"tools": tools}}}
    world.write("opencode.json", json.dumps(config), under=world.config)

    snapshot = await world.load()
    old = await world.load(role=Role("old"))

    wanted = {"edit": "deny", "bash": "allow", "webfetch": "deny", "doom_loop": "deny", "external_directory": "allow"}
    assert {name: evaluate(name, "x", snapshot.rules).action for name in wanted} == wanted
    assert evaluate("edit", "x", old.rules).action is Action.ALLOW and snapshot.not_honoured == ()


async def test_a_wrong_file_stops_the_loading(world: World) -> None:
    world.write("opencode.json", '{"permission": 5}')

    with pytest.raises(ConfigError, match="permission"):
        await world.load()


async def test_settings_for_an_agent_that_is_not_supported_are_named_and_make_no_agent(world: World) -> None:
    file = world.write("opencode.json", '{"agent": {"plan": {"model": "a/b", "permission": {"bash": "allow"}}}}')

    snapshot = await world.load()

    assert snapshot.warnings == (f"{file}: the agent 'plan' is not supported yet: its settings are ignored.",)
    assert [agent.name for agent in snapshot.delegation.agents] == ["build", "explore", "general"]
    assert snapshot.held_back == ()


async def test_an_agent_that_people_may_not_choose_works_below_a_session_only(world: World) -> None:
    below = await world.load(role=Role("explore", ancestors=1))

    assert below.agent.name == "explore"
    for name in ("explore", "plan", "nope"):
        with pytest.raises(UnknownAgent, match=name):
            await world.load(role=Role(name))


async def test_a_session_can_begin_where_build_is_disabled(world: World) -> None:
    world.write("opencode.json", '{"agent": {"build": {"disable": true}, "coder": {}}}')

    assert (await world.load()).agent.name == "coder"


CAREFUL = '{"default_agent": "careful", "agent": {"careful": {"permission": {"bash": "ask"}}, "bold": {}}}'
BOLD = '{"permission": {"bash": "ask"}, "agent": {"bold": {"permission": {"bash": "allow"}}}}'


@pytest.mark.parametrize(
    ("own", "project"),
    [
        (CAREFUL, '{"default_agent": "build"}'),
        (BOLD, '{"default_agent": "bold"}'),
        (BOLD, '{"agent": {"build": {"disable": true}}}'),
        (BOLD, '{"agent": {"build": {"hidden": true}}}'),
    ],
)
async def test_a_project_makes_no_default_of_an_agent_that_may_do_more(world: World, own: str, project: str) -> None:
    world.write("opencode.json", own, under=world.config)
    world.write("opencode.json", project)

    with pytest.raises(UsageError, match="may do more than .*--agent"):
        await world.load()
    assert (await world.load(role=Role("bold"))).agent.name == "bold"


async def test_a_project_may_choose_a_default_that_may_do_no_more(world: World) -> None:
    world.write("opencode.json", '{"agent": {"build": {"permission": {"bash": "ask"}}}}', under=world.config)
    world.write("opencode.json", '{"default_agent": "tester", "agent": {"tester": {"permission": {"bash": "deny"}}}}')

    assert (await world.load()).agent.name == "tester"


async def test_a_denial_of_the_administrator_holds_whatever_comes_later(world: World) -> None:
    world.write("opencode.json", '{"permission": {"bash": "ask", "*": "allow"}}', under=world.config)
    world.write("opencode.json", '{"permission": {"bash": "deny"}}', under=world.managed)

    snapshot = await world.load(OPENCODE_PERMISSION='{"bash": "allow"}')

    assert evaluate("bash", "ls", snapshot.rules).action is Action.DENY


async def test_a_model_of_the_administrator_is_known_as_such(world: World) -> None:
    world.write("opencode.json", '{"model": "a/b"}', under=world.config)
    own = await world.load()
    world.write("opencode.json", '{"model": "c/d"}', under=world.managed)
    managed = await world.load()

    assert (own.config.model, own.model_is_managed) == ("a/b", False)
    assert (managed.config.model, managed.model_is_managed) == ("c/d", True)


@pytest.mark.parametrize("managed", [{"model": "c/d"}, {"model": "x/y", "agent": {"build": {"model": "c/d"}}}])
async def test_a_model_of_the_administrator_stands_above_one_for_the_agent(
    world: World, managed: dict[str, object]
) -> None:
    world.write("opencode.json", '{"agent": {"build": {"model": "a/b"}}}')
    world.write("opencode.json", json.dumps(managed), under=world.managed)

    snapshot = await world.load()

    assert (snapshot.agent.model, snapshot.model_is_managed) == ("c/d", True)


@pytest.mark.parametrize(("weaker", "stronger"), [("steps", "maxSteps"), ("maxSteps", "steps")])
async def test_a_later_file_sets_the_steps_by_either_of_their_names(world: World, weaker: str, stronger: str) -> None:
    def steps(name: str, count: int) -> str:
        return json.dumps({"agent": {"build": {name: count}}})

    world.write("opencode.json", steps(weaker, 100), under=world.config)
    of_content = (await world.load(OPENCODE_CONFIG_CONTENT=steps(stronger, 7))).agent.steps
    world.write("opencode.json", steps(stronger, 3), under=world.managed)
    of_administrator = (await world.load(OPENCODE_CONFIG_CONTENT=steps(weaker, 50))).agent.steps

    assert (of_content, of_administrator) == (7, 3)


async def test_an_agents_model_of_the_administrator_is_its_own_only(world: World) -> None:
    world.write("opencode.json", '{"agent": {"coder": {"model": "c/d"}}}', under=world.managed)

    build, coder = await world.load(), await world.load(role=Role("coder"))

    assert (build.model_is_managed, coder.model_is_managed, coder.agent.model) == (False, True, "c/d")


async def test_a_reference_where_none_is_looked_up_is_named(world: World) -> None:
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
    world.write("opencode.json", json.dumps(looked_up), under=world.config)
    assert (await world.load()).warnings == ()

    file = world.write("opencode.jsonc", json.dumps(literal), under=world.config)
    warnings = (await world.load(role=Role("build"))).warnings

    fields = ("permission.read.{env:SECRETS}/*", "default_agent", "provider.x.models.m.id")
    assert list(warnings) == [
        f"{file}: the reference in {field!r} is not looked up: it counts as it is written." for field in fields
    ]
