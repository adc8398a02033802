import asyncio
import os

import pytest

from activities.project.load import PRIMARY
from activities.project.unsupported import MOST_ENTRIES, READ
from tests.activities.project.world import World
from tests.patience import PATIENCE
from workflows.domain.config.snapshot import IgnoredFiles

NAMES = (
    *("agent/a.md", "agents/team/a.md", "mode/m.md", "modes/m.md", "command/c.md", "commands/x/c.md"),
    *("skill/s/SKILL.md", "skills/x/s/SKILL.md", "tool/t.ts", "tools/t.js", "plugin/p.js", "plugins/p.ts"),
)
DENYING = "---\ndescription: reviews\npermission:\n  edit: deny\n---\nYou review."


async def ignored(world: World, directory: str = "", **environ: str) -> list[str]:
    """What is ignored, by kind, folder and name."""
    snapshot = await world.load(directory, PRIMARY, **environ)
    return [f"{each.kind} {each.folder}/{name}" for each in snapshot.ignored for name in each.names]


@pytest.mark.parametrize("name", NAMES)
async def test_files_that_opencode_reads_are_named_in_every_configuration_folder(world: World, name: str) -> None:
    named = world.home / "oc"
    folders = (
        world.config,
        world.home / ".opencode",
        named,
        world.project / "sub/.opencode",
        world.project / ".opencode",
    )
    files = [world.write(name, "", under=folder) for folder in folders]

    found = await ignored(world, "sub", OPENCODE_CONFIG_DIR=str(named))

    assert [each.partition(" ")[2] for each in found] == [str(file) for file in files]


async def test_skills_of_other_agents_are_named_from_the_project_and_from_home(world: World) -> None:
    files = [
        world.write(f"{other}/skills/x/SKILL.md", "", under=folder)
        for folder in (world.home, world.project / "sub", world.project)
        for other in (".claude", ".agents")
    ]

    assert await ignored(world, "sub") == [f"skill {file}" for file in files]
    assert await ignored(world, "sub", OPENCODE_DISABLE_CLAUDE_CODE="1") == [f"skill {each}" for each in files[1::2]]
    assert await ignored(world, "sub", OPENCODE_DISABLE_PROJECT_CONFIG="1") == [f"skill {each}" for each in files[:2]]


@pytest.mark.parametrize(
    ("text", "ruled"),
    [
        (DENYING, True),
        ('---\n"tools":\n  bash: false\n---\n', True),
        ("---\ndescription: permission to look\n---\npermission: none", False),
        ("permission: deny", False),
    ],
)
async def test_an_agents_file_that_sets_permissions_is_known_as_such(world: World, text: str, ruled: bool) -> None:
    folder = world.write(".opencode/agent/reviewer.md", text).parent

    (found,) = (await world.load()).ignored

    names = ("reviewer.md",)
    expected = IgnoredFiles(kind="agent", folder=str(folder), names=names, count=1, ruled=names if ruled else ())
    assert found == expected


async def test_many_files_are_counted_and_the_first_ones_named(world: World) -> None:
    for number in range(12):
        world.write(f".opencode/command/{number:02}.md", "")

    (found,) = (await world.load()).ignored

    assert (found.count, found.names) == (12, ("00.md", "01.md", "02.md", "03.md", "04.md"))


async def test_pipes_and_loops_of_links_hold_nothing_up(world: World) -> None:
    folder = world.write(".opencode/agent/a.md", "").parent
    os.mkfifo(folder / "b.md")
    (folder / "c").symlink_to(folder)
    (folder / "d.md").symlink_to("/dev/zero")

    assert (await world.load()).ignored[0].count == 3


@pytest.mark.parametrize("target", [".", ".."])
async def test_many_links_to_the_folder_they_lie_in_cost_one_look(world: World, target: str) -> None:
    folder = world.write(".opencode/agent/a.md", "").parent
    for number in range(30):
        (folder / f"link{number}").symlink_to(target)

    async with asyncio.timeout(PATIENCE):
        (found, *_) = (await world.load()).ignored

    assert (found.count, found.names) == (1, ("a.md",))


async def test_a_folder_behind_a_link_is_looked_into_once(world: World) -> None:
    shared = world.write("shared/a.md", "", under=world.home).parent
    folder = world.project / ".opencode" / "agent"
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        (folder / name).symlink_to(shared)

    (found,) = (await world.load()).ignored

    assert found.count == 1 and found.names[0].endswith("/a.md")


@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_where_more_entries_lie_than_are_looked_at_the_rest_is_said_to_be_unnamed(
    world: World, more: int
) -> None:
    half = MOST_ENTRIES // 2
    for name, count in {"command": half, "commands": half + more}.items():
        folder = world.project / ".opencode" / name
        folder.mkdir(parents=True)
        for number in range(count):
            (folder / f"{number}.md").touch()

    snapshot = await world.load()

    assert sum(each.count for each in snapshot.ignored) == MOST_ENTRIES + min(more, 0)
    assert len(snapshot.warnings) == (more > 0)
    assert all("hold more than 10,000 entries" in each and str(folder) in each for each in snapshot.warnings)


async def test_files_that_lie_deep_are_named(world: World) -> None:
    deep = "/".join("abcdefgh")
    world.write(f".opencode/agent/{deep}/x.md", DENYING)

    (found,) = (await world.load()).ignored

    assert found.ruled == (f"{deep}/x.md",)


@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_an_agents_file_whose_head_is_too_long_to_be_read_counts_as_one_that_sets_permissions(
    world: World, more: int
) -> None:
    head, tail = "---\ndescription: ", "\n---"
    world.write(".opencode/agent/a.md", f"{head}{'x' * (READ + more - len(head) - len(tail))}{tail}")

    (found,) = (await world.load()).ignored

    assert found.ruled == (("a.md",) if more > 0 else ())


async def test_instructions_on_the_net_are_named(world: World) -> None:
    file = world.write("opencode.json", '{"instructions": ["https://a.test/rules.md", "AGENTS.md"]}')
    world.write("AGENTS.md", "Use tabs.")

    snapshot = await world.load()

    assert [(each.file, each.field) for each in snapshot.not_honoured] == [
        (str(file), "instructions https://a.test/rules.md")
    ]
    assert [each.text for each in snapshot.instructions] == ["Use tabs."]


async def test_organisations_are_named_by_their_address_alone(world: World) -> None:
    entry = (
        '{"https://org.test": {"type": "wellknown", "key": "K", "token": "s3cret"}, "x": {"type": "api", "key": "k"}}'
    )
    file = world.write(".local/share/opencode/auth.json", entry, under=world.home)

    snapshot = await world.load()

    fields = [(each.file, each.field) for each in snapshot.not_honoured]
    assert fields == [(str(file), "https://org.test/.well-known/opencode")]
    assert "s3cret" not in snapshot.model_dump_json()
