import json
from pathlib import Path
from typing import Any

import pytest

from activities.project.files import read_layers
from activities.project.references import resolve
from activities.project.sources import read_sources
from tests import cases
from tests.activities.project.world import World
from workflows.domain.config.config import Config
from workflows.domain.config.merge import merged
from workflows.domain.errors import ConfigError
from workflows.domain.permissions import rules


@pytest.mark.parametrize("case", cases.load("config_merge"))
async def test_files_become_one_configuration_as_in_opencode(case: cases.Case, world: World) -> None:
    for folder, key in ((world.project, "files"), (world.home, "home")):
        for name, text in case.input.get(key, {}).items():
            world.write(name, text if isinstance(text, str) else json.dumps(text), under=folder)

    cases.assert_matches(await configured(world, case.input), case.expected)


async def configured(world: World, given: dict[str, Any]) -> dict[str, Any]:
    """What OpenCode's server would answer when it is asked for its configuration."""
    environ = given.get("env", {})
    try:
        layers = read_layers(world.place(given.get("cwd", "")), world.sources(**environ), world.managed)
    except ConfigError as error:
        return {"error": 400, "name": "ConfigJsonError" if "not JSON" in str(error) else "ConfigInvalidError"}
    tree = merged(layer.tree for layer in layers)
    config = Config.model_validate(tree)
    shown = config.model_dump(mode="json")
    order = rules.from_config(config.permission, str(world.home))
    shown["user_rules_in_order"] = [[rule.permission, rule.pattern, str(rule.action)] for rule in order]
    shown["username"] = await resolve(str(tree.get("username", "")), environ)
    return {"foo_bar": None, **shown}


def files_of(world: World, directory: str = "", **environ: str) -> list[tuple[str, bool]]:
    layers = read_layers(world.place(directory), world.sources(**environ), world.managed)
    return [(str(Path(layer.file).relative_to(world.home)), layer.trusted) for layer in layers]


def test_the_users_own_files_come_first_and_in_their_order(world: World) -> None:
    for name in ("opencode.jsonc", "opencode.json", "config.json"):
        world.write(name, "{}", under=world.config)
    world.write("opencode.json", "{}")

    assert files_of(world) == [
        (".config/opencode/config.json", True),
        (".config/opencode/opencode.json", True),
        (".config/opencode/opencode.jsonc", True),
        ("code/project/opencode.json", False),
    ]


def test_project_files_go_from_the_root_of_the_work_tree_down(world: World) -> None:
    for name in ("opencode.json", "opencode.jsonc", "sub/opencode.json", "sub/.opencode/opencode.json", "other/x"):
        world.write(name, "{}")

    assert [name.removeprefix("code/project/") for name, _ in files_of(world, "sub")] == [
        "opencode.json",
        "opencode.jsonc",
        "sub/opencode.json",
        "sub/.opencode/opencode.json",
    ]


def test_nothing_above_the_work_tree_belongs_to_the_project(world: World) -> None:
    world.write("opencode.json", "{}", under=world.project.parent)

    assert files_of(world) == []


def test_without_a_work_tree_only_the_directory_itself_counts(world: World) -> None:
    (world.project / ".git").rmdir()
    for name in ("opencode.json", "sub/opencode.json"):
        world.write(name, "{}")

    assert files_of(world, "sub") == [("code/project/sub/opencode.json", False)]


def test_a_switch_leaves_the_project_out(world: World) -> None:
    world.write("opencode.json", "{}")

    assert files_of(world, OPENCODE_DISABLE_PROJECT_CONFIG="true") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "model": 5\n}', ":2: the field 'model' is wrong: "),
        ('{"permission": {\n  "bash": {\n    "rm *": "maybe"}}}', ":3: the field 'permission.bash.rm *' is wrong: "),
        ('{\n\n  "tool_output": {"max_lines": "10"}}', ":3: the field 'tool_output.max_lines' is wrong: "),
        ('{"agent": {"build":\n {"tools": {"bash": "false"}}}}', ":2: the field 'agent.build.tools.bash' is wrong: "),
    ],
)
def test_a_wrong_type_is_named_with_file_line_and_field(world: World, text: str, message: str) -> None:
    file = world.write("opencode.json", text)

    with pytest.raises(ConfigError) as caught:
        files_of(world)

    assert str(caught.value).startswith(f"{file}{message}")


def test_the_administrators_files_come_last_and_before_them_what_variables_hold(world: World) -> None:
    named = world.write("named.json", "{}", under=world.home / "oc")
    for folder, name in (
        (world.config, "opencode.json"),
        (world.project, "opencode.json"),
        (world.project, ".opencode/opencode.json"),
        (world.home, ".opencode/opencode.json"),
        (named.parent, "opencode.json"),
        (world.managed, "opencode.json"),
    ):
        world.write(name, "{}", under=folder)
    values = {"OPENCODE_CONFIG_CONTENT": "{}", "OPENCODE_PERMISSION": "{}"}
    sources = world.sources(OPENCODE_CONFIG=str(named), OPENCODE_CONFIG_DIR=str(named.parent), **values)

    layers = read_layers(world.place(), sources, world.managed)

    assert [(layer.file, layer.trusted, layer.managed) for layer in layers] == [
        (str(world.config / "opencode.json"), True, False),
        (str(named), True, False),
        (str(world.project / "opencode.json"), False, False),
        (str(world.project / ".opencode" / "opencode.json"), False, False),
        (str(world.home / ".opencode" / "opencode.json"), True, False),
        (str(named.parent / "opencode.json"), True, False),
        ("OPENCODE_CONFIG_CONTENT", True, False),
        ("OPENCODE_PERMISSION", True, False),
        (str(world.managed / "opencode.json"), True, True),
    ]


def test_what_a_variable_names_inside_the_project_is_the_projects(world: World) -> None:
    world.write("ci/oc.json", "{}")
    world.write("ci/opencode.json", "{}")
    (world.home / "link").symlink_to(world.project / "ci")

    for folder in (world.project / "ci", world.home / "link"):
        environ = {"OPENCODE_CONFIG": str(folder / "oc.json"), "OPENCODE_CONFIG_DIR": str(folder)}
        assert [trusted for _, trusted in files_of(world, **environ)] == [False, False]


def test_the_users_own_folder_stays_theirs_where_the_home_directory_is_the_project(world: World) -> None:
    (world.home / ".git").mkdir()
    (world.project / ".git").rmdir()
    world.write("opencode.json", "{}", under=world.config)

    assert files_of(world) == [(".config/opencode/opencode.json", True)]


def test_a_folder_of_the_user_that_was_moved_into_the_project_is_the_projects(world: World) -> None:
    moved = world.write("xdg/opencode/opencode.json", "{}").parent
    sources = read_sources({}, home=world.home, folder=moved)

    assert [layer.trusted for layer in read_layers(world.place(), sources, world.managed)] == [False]


@pytest.mark.parametrize("variable", ["OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"])
def test_what_a_variable_names_has_to_be_there(world: World, variable: str) -> None:
    with pytest.raises(ConfigError, match=f"{variable} names '/nowhere': there is no such"):
        files_of(world, **{variable: "/nowhere"})


def test_a_variable_for_a_directory_names_no_file(world: World) -> None:
    file = world.write("oc.json", "{}", under=world.home)

    with pytest.raises(ConfigError, match="OPENCODE_CONFIG_DIR .* no such directory"):
        files_of(world, OPENCODE_CONFIG_DIR=str(file))
