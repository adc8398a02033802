"""The environment of commands: only what is on the list."""

import os
import stat
from pathlib import Path

import pytest

from activities.files.workspace import Workspace
from activities.shell.environment import own_variables, tool_environment

STANDARD = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    return Workspace(directory=workspace, worktree=None, data=tmp_path, home=tmp_path, temporary=tmp_path)


def path(workspace: Workspace, **shell: str) -> str:
    return tool_environment(shell, workspace, "prt_1")["PATH"]


def test_an_empty_shell_still_gives_commands_what_they_need(workspace: Workspace) -> None:
    assert tool_environment({}, workspace, "prt_1") == {
        "HOME": str(workspace.home),
        "TMPDIR": str(workspace.temporary / "opencode"),
        "PATH": STANDARD,
        "SHELL": "/bin/bash",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "MANPAGER": "cat",
        "LESSSECURE": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "safe.bareRepository",
        "GIT_CONFIG_VALUE_0": "explicit",
        "GIT_CONFIG_KEY_1": "core.fsmonitor",
        "GIT_CONFIG_VALUE_1": "false",
        "HOLDFAST_CALL_ID": "prt_1",
    }


def test_the_user_the_language_and_the_time_zone_are_passed_on(workspace: Workspace) -> None:
    shell = {name: "x" for name in ("USER", "LOGNAME", "LANG", "LC_ALL", "LC_TIME", "TZ")}
    assert shell.items() <= tool_environment(shell, workspace, "prt_1").items()


@pytest.mark.parametrize(
    "name",
    [
        *(
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "DATABASE_URL",
            "PGPASSWORD",
            "TEMPORAL_API_KEY",
            "SSH_AUTH_SOCK",
        ),
        *("HOLDFAST_POSTGRES_URL", "HOLDFAST_FAILPOINTS", "BASH_ENV", "ENV", "SHELLOPTS", "PS4", "CDPATH", "IFS"),
        *("LD_PRELOAD", "GIT_DIR", "GIT_SSH_COMMAND", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "LESSOPEN"),
        *("BASH_FUNC_ls%%", "PROMPT_COMMAND"),
    ],
)
def test_nothing_else_is_passed_on(workspace: Workspace, name: str) -> None:
    assert name not in tool_environment({name: "x"}, workspace, "prt_1")


def test_the_home_and_the_temporary_directory_are_those_that_commands_were_judged_by(workspace: Workspace) -> None:
    given = tool_environment({"HOME": "/elsewhere", "TMPDIR": "/elsewhere"}, workspace, "prt_1")
    assert own_variables(workspace).items() <= given.items()


def test_what_is_only_tried_out_has_a_private_directory_that_is_there(workspace: Workspace) -> None:
    for _ in range(2):
        tryouts = Path(tool_environment({}, workspace, "prt_1")["TMPDIR"])
        assert tryouts == workspace.temporary / "opencode"
        assert stat.S_IMODE(tryouts.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what belongs to another user")
def test_a_directory_of_another_user_is_not_used(workspace: Workspace) -> None:
    (workspace.temporary / "opencode").symlink_to(workspace.home)
    os.lchown(workspace.temporary / "opencode", 12_345, -1)
    assert tool_environment({}, workspace, "prt_1")["TMPDIR"] == str(workspace.temporary)


def test_the_search_path_is_that_of_the_shell_without_relative_entries(workspace: Workspace) -> None:
    assert path(workspace, PATH="/opt/bin:.::bin:../x:/usr/bin") == "/opt/bin:/usr/bin"


def test_the_search_path_has_no_entries_of_the_workspace(workspace: Workspace) -> None:
    inside = workspace.directory / "node_modules/.bin"
    entries = [workspace.directory, inside, f"/{inside}", f"/x/..{inside}", f"{inside}/../../.bin", "/usr/bin"]
    assert path(workspace, PATH=":".join(map(str, entries))) == "/usr/bin"


def test_a_name_beside_the_workspace_is_not_in_it(workspace: Workspace) -> None:
    assert path(workspace, PATH=f"{workspace.directory}-tools/bin") == f"{workspace.directory}-tools/bin"


def test_an_entry_that_leads_into_the_workspace_is_inside(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "innocent").symlink_to(workspace.directory)
    assert path(workspace, PATH=f"{tmp_path}/innocent:/usr/bin") == "/usr/bin"


@pytest.mark.parametrize("name", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_an_active_virtual_environment_in_the_workspace_stays(workspace: Workspace, name: str) -> None:
    root = workspace.directory / ".venv"
    given = tool_environment(
        {"PATH": f"{root}/bin:{workspace.directory}/bin:/bin", name: str(root)}, workspace, "prt_1"
    )
    assert given["PATH"] == f"{root}/bin:/bin"
    assert given[name] == str(root)


def test_an_environment_that_claims_the_workspace_brings_only_its_programs(workspace: Workspace) -> None:
    shell = {"PATH": f"{workspace.directory}:{workspace.directory}/tools:/bin", "VIRTUAL_ENV": str(workspace.directory)}
    assert tool_environment(shell, workspace, "prt_1")["PATH"] == "/bin"


def test_an_empty_search_path_becomes_the_standard_one(workspace: Workspace) -> None:
    assert path(workspace, PATH=f"{workspace.directory}/bin:.") == STANDARD


def test_a_workspace_that_is_reached_by_a_link_is_the_same(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(workspace.directory)
    alias = Workspace(Path(tmp_path / "alias"), None, tmp_path, tmp_path, tmp_path)
    assert path(alias, PATH=f"{workspace.directory}/bin:{tmp_path}/alias/bin:/bin") == "/bin"
