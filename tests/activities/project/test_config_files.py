import json
import re
from pathlib import Path
from typing import Any

import pytest

from activities.project.config_files import read_layers
from activities.project.config_references import resolve
from activities.project.config_variables import read_sources
from tests import cases
from tests.activities.project.project_home import ProjectHome
from workflows.domain.config.config import Config
from workflows.domain.config.merge import merge_files
from workflows.domain.errors import ConfigError
from workflows.domain.permissions import rules


@pytest.mark.parametrize("case", cases.load("config_merge"))
async def test_files_become_one_configuration_as_in_opencode(case: cases.Case, project_home: ProjectHome) -> None:
    for folder, key in ((project_home.project, "files"), (project_home.home, "home")):
        for name, text in case.input.get(key, {}).items():
            project_home.write(name, text if isinstance(text, str) else json.dumps(text), under=folder)

    cases.assert_matches(await configured(project_home, case.input), case.expected)


async def configured(project_home: ProjectHome, given: dict[str, Any]) -> dict[str, Any]:
    """OpenCode's answer to a request for its configuration."""
    environ = given.get("env", {})
    try:
        layers = read_layers(
            project_home.workspace(given.get("cwd", "")), project_home.sources(**environ), project_home.managed
        )
    except ConfigError as error:
        return {"error": 400, "name": "ConfigJsonError" if "not JSON" in str(error) else "ConfigInvalidError"}
    tree = merge_files(layer.tree for layer in layers)
    config = Config.model_validate(tree)
    shown = config.model_dump(mode="json")
    order = rules.from_config(config.permission, str(project_home.home))
    shown["user_rules_in_order"] = [[rule.permission, rule.pattern, str(rule.action)] for rule in order]
    shown["username"] = await resolve(str(tree.get("username", "")), environ)
    return {"foo_bar": None, **shown}


def files_of(project_home: ProjectHome, directory: str = "", **environ: str) -> list[tuple[str, bool]]:
    layers = read_layers(project_home.workspace(directory), project_home.sources(**environ), project_home.managed)
    return [(str(Path(layer.file).relative_to(project_home.home)), layer.trusted) for layer in layers]


def test_the_users_own_files_come_first_and_in_their_order(project_home: ProjectHome) -> None:
    for name in ("opencode.jsonc", "opencode.json", "config.json"):
        project_home.write(name, "{}", under=project_home.config)
    project_home.write("opencode.json", "{}")

    assert files_of(project_home) == [
        (".config/opencode/config.json", True),
        (".config/opencode/opencode.json", True),
        (".config/opencode/opencode.jsonc", True),
        ("code/project/opencode.json", False),
    ]


def test_project_files_go_from_the_root_of_the_work_tree_down(project_home: ProjectHome) -> None:
    for name in ("opencode.json", "opencode.jsonc", "sub/opencode.json", "sub/.opencode/opencode.json", "other/x"):
        project_home.write(name, "{}")

    assert [name.removeprefix("code/project/") for name, _ in files_of(project_home, "sub")] == [
        "opencode.json",
        "opencode.jsonc",
        "sub/opencode.json",
        "sub/.opencode/opencode.json",
    ]


def test_nothing_above_the_work_tree_belongs_to_the_project(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", "{}", under=project_home.project.parent)

    assert files_of(project_home) == []


def test_without_a_work_tree_only_the_directory_itself_counts(project_home: ProjectHome) -> None:
    (project_home.project / ".git").rmdir()
    for name in ("opencode.json", "sub/opencode.json"):
        project_home.write(name, "{}")

    assert files_of(project_home, "sub") == [("code/project/sub/opencode.json", False)]


def test_a_switch_leaves_the_project_out(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", "{}")

    assert files_of(project_home, OPENCODE_DISABLE_PROJECT_CONFIG="true") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "model": 5\n}', ": the field 'model' is wrong: "),
        ('{"permission": {\n  "bash": {\n    "rm *": "maybe"}}}', ": the field 'permission.bash.rm *' is wrong: "),
        ('{\n\n  "tool_output": {"max_lines": "10"}}', ": the field 'tool_output.max_lines' is wrong: "),
        (
            '{"agent": {"build":\n {"tools": {"bash": "false"}}}}',
            ": the field 'agent.build.tools.bash' is wrong: ",
        ),
        (
            '{"holdfast": {"budget": {"day":\n {"minutes": 5}}}}',
            ": the field 'holdfast.budget.day.minutes' is wrong: there is no such field",
        ),
        *(
            (
                f'{{"holdfast": {{"budget": {{"turn":\n {{"cost": {cost}}}}}}}}}',
                f": the field 'holdfast.budget.turn.cost' is wrong: '{cost}' is no amount of dollars, as in 5 or 0.50; "
                "the least is 0.0001",
            )
            for cost in ("-5.0", "0.0", "9e-05", "1e+300")
        ),
        (
            '{"agent": {"x": {"options": {\n "a": [1,\n NaN]}}}}',
            ": the field 'agent.x.options.a.1' is wrong: a number is neither NaN nor infinite",
        ),
        (
            '{"agent": {"x": {"temperature":\n -Infinity}}}',
            ": the field 'agent.x.temperature' is wrong: a number is",
        ),
    ],
)
def test_a_wrong_type_is_named_with_file_and_field(project_home: ProjectHome, text: str, message: str) -> None:
    file = project_home.write("opencode.json", text)

    with pytest.raises(ConfigError) as caught:
        files_of(project_home)

    assert str(caught.value).startswith(f"{file}{message}")


def test_the_administrators_files_come_last_and_before_them_what_variables_hold(project_home: ProjectHome) -> None:
    named = project_home.write("named.json", "{}", under=project_home.home / "oc")
    for folder, name in (
        (project_home.config, "opencode.json"),
        (project_home.project, "opencode.json"),
        (project_home.project, ".opencode/opencode.json"),
        (project_home.home, ".opencode/opencode.json"),
        (named.parent, "opencode.json"),
        (project_home.managed, "opencode.json"),
    ):
        project_home.write(name, "{}", under=folder)
    values = {"OPENCODE_CONFIG_CONTENT": "{}", "OPENCODE_PERMISSION": "{}"}
    sources = project_home.sources(OPENCODE_CONFIG=str(named), OPENCODE_CONFIG_DIR=str(named.parent), **values)

    layers = read_layers(project_home.workspace(), sources, project_home.managed)

    assert [(layer.file, layer.trusted, layer.managed) for layer in layers] == [
        (str(project_home.config / "opencode.json"), True, False),
        (str(named), True, False),
        (str(project_home.project / "opencode.json"), False, False),
        (str(project_home.project / ".opencode" / "opencode.json"), False, False),
        (str(project_home.home / ".opencode" / "opencode.json"), True, False),
        (str(named.parent / "opencode.json"), True, False),
        ("OPENCODE_CONFIG_CONTENT", True, False),
        ("OPENCODE_PERMISSION", True, False),
        (str(project_home.managed / "opencode.json"), True, True),
    ]


def test_what_a_variable_names_inside_the_project_is_the_projects(project_home: ProjectHome) -> None:
    project_home.write("ci/oc.json", "{}")
    project_home.write("ci/opencode.json", "{}")
    (project_home.home / "link").symlink_to(project_home.project / "ci")

    for folder in (project_home.project / "ci", project_home.home / "link"):
        environ = {"OPENCODE_CONFIG": str(folder / "oc.json"), "OPENCODE_CONFIG_DIR": str(folder)}
        assert [trusted for _, trusted in files_of(project_home, **environ)] == [False, False]


def test_the_users_own_folder_stays_theirs_where_the_home_directory_is_the_project(project_home: ProjectHome) -> None:
    (project_home.home / ".git").mkdir()
    (project_home.project / ".git").rmdir()
    project_home.write("opencode.json", "{}", under=project_home.config)

    assert files_of(project_home) == [(".config/opencode/opencode.json", True)]


def test_a_folder_of_the_user_that_was_moved_into_the_project_is_the_projects(project_home: ProjectHome) -> None:
    moved = project_home.write("xdg/opencode/opencode.json", "{}").parent
    sources = read_sources({}, home=project_home.home, folder=moved)

    assert [layer.trusted for layer in read_layers(project_home.workspace(), sources, project_home.managed)] == [False]


@pytest.mark.parametrize("variable", ["OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"])
def test_a_file_that_a_variable_names_must_exist(project_home: ProjectHome, variable: str) -> None:
    with pytest.raises(ConfigError, match=f"{variable} names '/nowhere': there is no such"):
        files_of(project_home, **{variable: "/nowhere"})


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("code/project/opencode.json", "it is a link to what is not there"),
        ("code/project/.opencode", "it is a link to what is not there"),
        (".config/opencode", "it is a link to what is not there"),
        (".opencode/agent", "this folder of agents cannot be read"),
        (".opencode/agent/team/all", "this folder of agents cannot be read"),
    ],
)
def test_a_link_to_nothing_is_named(project_home: ProjectHome, link: str, words: str) -> None:
    broken = project_home.home / link
    broken.parent.mkdir(exist_ok=True, parents=True)
    broken.symlink_to("/nowhere/opencode")

    with pytest.raises(ConfigError, match=f"^{re.escape(str(broken))}: {words}"):
        files_of(project_home)


def test_nothing_behind_a_link_to_a_folder_that_is_there_is_absent(project_home: ProjectHome) -> None:
    (project_home.project / "dotfiles").mkdir()
    (project_home.project / ".opencode").symlink_to("dotfiles")

    assert files_of(project_home) == []


def test_a_variable_for_a_directory_names_no_file(project_home: ProjectHome) -> None:
    file = project_home.write("oc.json", "{}", under=project_home.home)

    with pytest.raises(ConfigError, match="OPENCODE_CONFIG_DIR .* no such directory"):
        files_of(project_home, OPENCODE_CONFIG_DIR=str(file))


async def test_two_variables_switch_parts_of_compaction_off_over_ones_own_files(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", '{"compaction": {"auto": true, "prune": true}}', under=project_home.config)

    plain = (await project_home.load()).config.compaction
    neither = await project_home.load(OPENCODE_DISABLE_AUTOCOMPACT="1", OPENCODE_DISABLE_PRUNE="true")

    assert (plain.auto, plain.prune) == (True, True)
    assert (neither.config.compaction.auto, neither.config.compaction.prune) == (False, False)
