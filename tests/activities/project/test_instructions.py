import json
import os
from typing import Any

import pytest

from activities.project.files import read_layers
from activities.project.instructions import LIMIT, MOST, read_instructions
from tests import cases
from tests.activities.project.world import World


@pytest.mark.parametrize("case", cases.load("instructions"))
def test_instructions_are_found_as_in_opencode(case: cases.Case, world: World) -> None:
    given = case.input
    for folder, key in ((world.project, "files"), (world.home, "home")):
        for name, text in given.get(key, {}).items():
            world.write(name, text, under=folder)
    if config := given.get("config"):
        world.write("opencode.json", json.dumps(config))
    profile = world.home / "profile"
    for folder, key in ((profile, "profile_has_agents_md"), (world.config, "global_has_agents_md")):
        if given.get(key):
            world.write("AGENTS.md", key, under=folder)

    environ = {name: value.replace("<PROFILE>", str(profile)) for name, value in given.get("env", {}).items()}

    cases.assert_matches(found(world, given.get("cwd", ""), environ), case.expected)


def found(world: World, directory: str, environ: dict[str, str]) -> dict[str, Any]:
    place = world.place(directory)
    sources = world.sources(**environ)
    instructions, _ = read_instructions(place, read_layers(place, sources, world.managed), sources)
    names = {str(world.home / "profile"): "<PROFILE>", str(world.project): "<P>", str(world.home): "<H>"}
    paths = [instruction.path for instruction in instructions]
    for folder, name in names.items():
        paths = [path.replace(folder, name) for path in paths]
    return {"system_prompt_files": paths, "read_attachments": []}


def read(world: World, directory: str = "", **environ: str) -> tuple[list[str], list[str]]:
    """The texts that are found, and the fields that are ignored."""
    place = world.place(directory)
    sources = world.sources(**environ)
    instructions, held = read_instructions(place, read_layers(place, sources, world.managed), sources)
    return [instruction.text for instruction in instructions], [item.field for item in held]


def test_the_nearest_file_comes_before_those_above_it(world: World) -> None:
    world.write("AGENTS.md", "root")
    world.write("sub/AGENTS.md", "sub")

    assert read(world, "sub") == (["sub", "root"], [])


def test_a_link_that_leads_out_of_the_project_is_held_back(world: World) -> None:
    secret = world.write("secret", "s3cret", under=world.home)
    (world.project / "AGENTS.md").symlink_to(secret)

    assert read(world) == ([], [f"instructions {world.project}/AGENTS.md"])


def test_a_project_names_files_of_its_own_only(world: World) -> None:
    world.write("rules/a.md", "inside")
    world.write("secret.md", "outside", under=world.project.parent)
    world.write("opencode.json", '{"instructions": ["rules/*.md", "../secret.md", "~/.ssh/id", "/etc/passwd"]}')

    texts, held = read(world)

    assert texts == ["inside"]
    assert len(held) == 3


def test_the_users_own_configuration_may_name_any_file(world: World) -> None:
    world.write("rules.md", "mine", under=world.home)
    world.write("opencode.json", '{"instructions": ["~/rules.md", "~/none.md"]}', under=world.config)

    assert read(world) == (["mine"], [])


def test_a_file_that_is_found_twice_is_told_once(world: World) -> None:
    world.write("AGENTS.md", "once")
    world.write("opencode.json", '{"instructions": ["AGENTS.md", "*.md"]}')

    assert read(world) == (["once"], [])


def test_a_long_file_is_cut_and_says_so(world: World) -> None:
    world.write("AGENTS.md", "é" * LIMIT)

    place = world.place()
    (instruction,), _ = read_instructions(place, (), world.sources())

    assert len(instruction.text) == LIMIT // 2
    assert not instruction.complete


def test_a_pipe_by_the_name_of_instructions_is_no_file(world: World) -> None:
    os.mkfifo(world.project / "AGENTS.md")

    assert read(world) == ([], [])


def test_a_name_that_no_file_can_have_is_held_back(world: World) -> None:
    world.write("opencode.json", r'{"instructions": ["/etc/\u0000"]}')

    assert read(world) == ([], ["instructions /etc/\x00"])


def test_a_switch_leaves_the_files_of_another_agent_out(world: World) -> None:
    world.write("CLAUDE.md", "project")
    world.write(".claude/CLAUDE.md", "own", under=world.home)

    assert read(world)[0] == ["own", "project"]
    assert read(world, OPENCODE_DISABLE_CLAUDE_CODE="1")[0] == []


@pytest.mark.parametrize("count", [MOST - 1, MOST, MOST + 1])
async def test_more_files_than_are_read_are_named(world: World, count: int) -> None:
    for number in range(count):
        world.write(f"rules/{number:03}.md", "Use tabs.")
    world.write("opencode.json", '{"instructions": ["rules/*.md"]}')

    found, held = read(world)

    assert len(found) == min(count, MOST)
    assert held == [f"instructions {world.project}/rules/{MOST:03}.md"] * (count > MOST)


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT, LIMIT + 1])
async def test_a_file_that_is_read_in_part_only_is_named(world: World, size: int) -> None:
    file = world.write("AGENTS.md", "x" * size)

    warnings = (await world.load()).warnings

    expected = f"{file}: only the first 64 KiB are instructions; the model may read the rest."
    assert warnings == ((expected,) if size > LIMIT else ())
