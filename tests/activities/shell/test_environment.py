"""The environment of commands: what is on the list, and nothing else."""

from pathlib import Path

import pytest

from activities.files.place import Place
from activities.shell.environment import own_variables, tool_environment

STANDARD = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    return Place(directory=workspace, worktree=None, data=tmp_path, home=tmp_path, temporary=tmp_path)


def path(place: Place, **shell: str) -> str:
    return tool_environment(shell, place, "prt_1")["PATH"]


def test_an_empty_shell_still_gives_commands_what_they_need(place: Place) -> None:
    assert tool_environment({}, place, "prt_1") == {
        "HOME": str(place.home),
        "TMPDIR": str(place.temporary),
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


def test_the_user_the_language_and_the_time_zone_are_passed_on(place: Place) -> None:
    shell = {name: "x" for name in ("USER", "LOGNAME", "LANG", "LC_ALL", "LC_TIME", "TZ")}
    assert shell.items() <= tool_environment(shell, place, "prt_1").items()


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
def test_nothing_else_is_passed_on(place: Place, name: str) -> None:
    assert name not in tool_environment({name: "x"}, place, "prt_1")


def test_the_home_and_the_temporary_directory_are_those_that_commands_were_judged_by(place: Place) -> None:
    given = tool_environment({"HOME": "/elsewhere", "TMPDIR": "/elsewhere"}, place, "prt_1", listed=["HOME", "TMP*"])
    assert own_variables(place).items() <= given.items()


def test_a_name_that_the_user_lists_is_passed_on(place: Place) -> None:
    shell = {"CARGO_HOME": "/c", "DOCKER_HOST": "d", "GITHUB_TOKEN": "t"}
    given = tool_environment(shell, place, "prt_1", listed=["CARGO_HOME", "DOCKER_*"])
    assert (given["CARGO_HOME"], given["DOCKER_HOST"]) == ("/c", "d")
    assert "GITHUB_TOKEN" not in given


def test_a_name_that_must_never_pass_does_not_pass_when_it_is_listed(place: Place) -> None:
    shell = {"LD_PRELOAD": "x", "OPENAI_API_KEY": "x", "HOLDFAST_HOME": "x", "BASH_FUNC_ls%%": "x"}
    given = tool_environment(shell, place, "prt_1", listed=[*shell, "*"], secret=["OPENAI_API_KEY"])
    assert given.keys().isdisjoint(shell)


def test_a_listed_name_does_not_replace_what_is_fixed(place: Place) -> None:
    given = tool_environment({"TERM": "xterm", "HOLDFAST_CALL_ID": "prt_2"}, place, "prt_1", listed=["TERM", "*"])
    assert (given["TERM"], given["HOLDFAST_CALL_ID"]) == ("dumb", "prt_1")


def test_the_search_path_is_that_of_the_shell_without_relative_entries(place: Place) -> None:
    assert path(place, PATH="/opt/bin:.::bin:../x:/usr/bin") == "/opt/bin:/usr/bin"


def test_the_search_path_has_no_entries_of_the_workspace(place: Place) -> None:
    inside = place.directory / "node_modules/.bin"
    entries = [place.directory, inside, f"/{inside}", f"/x/..{inside}", f"{inside}/../../.bin", "/usr/bin"]
    assert path(place, PATH=":".join(map(str, entries))) == "/usr/bin"


def test_a_name_beside_the_workspace_is_not_in_it(place: Place) -> None:
    assert path(place, PATH=f"{place.directory}-tools/bin") == f"{place.directory}-tools/bin"


def test_an_entry_that_leads_into_the_workspace_is_inside(place: Place, tmp_path: Path) -> None:
    (tmp_path / "innocent").symlink_to(place.directory)
    assert path(place, PATH=f"{tmp_path}/innocent:/usr/bin") == "/usr/bin"


@pytest.mark.parametrize("name", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_an_active_virtual_environment_in_the_workspace_stays(place: Place, name: str) -> None:
    root = place.directory / ".venv"
    given = tool_environment({"PATH": f"{root}/bin:{place.directory}/bin:/bin", name: str(root)}, place, "prt_1")
    assert given["PATH"] == f"{root}/bin:/bin"
    assert given[name] == str(root)


def test_an_environment_that_claims_the_workspace_brings_only_its_programs(place: Place) -> None:
    shell = {"PATH": f"{place.directory}:{place.directory}/tools:/bin", "VIRTUAL_ENV": str(place.directory)}
    assert tool_environment(shell, place, "prt_1")["PATH"] == "/bin"


def test_a_search_path_of_which_nothing_is_left_is_the_standard_one(place: Place) -> None:
    assert path(place, PATH=f"{place.directory}/bin:.") == STANDARD


def test_a_workspace_that_is_reached_by_a_link_is_the_same(place: Place, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(place.directory)
    alias = Place(Path(tmp_path / "alias"), None, tmp_path, tmp_path, tmp_path)
    assert path(alias, PATH=f"{place.directory}/bin:{tmp_path}/alias/bin:/bin") == "/bin"
