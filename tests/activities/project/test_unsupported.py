import pytest

from activities.project.config_loader import PRIMARY_ROLE
from activities.project.folder_scan import MAX_ENTRIES
from tests.activities.project.project_home import ProjectHome

NAMES = (
    "tool/t.ts",
    "tools/t.js",
    "plugin/p.js",
    "plugins/p.ts",
)


async def ignored(project_home: ProjectHome, directory: str = "", **environ: str) -> list[str]:
    """What is ignored, by kind, folder and name."""
    turn_config = await project_home.load(directory, PRIMARY_ROLE, **environ)
    return [f"{each.kind} {each.folder}/{name}" for each in turn_config.ignored for name in each.names]


@pytest.mark.parametrize("name", NAMES)
async def test_files_that_opencode_reads_are_named_in_every_configuration_folder(
    project_home: ProjectHome, name: str
) -> None:
    named = project_home.home / "oc"
    folders = (
        project_home.config,
        project_home.home / ".opencode",
        named,
        project_home.project / "sub/.opencode",
        project_home.project / ".opencode",
    )
    files = [project_home.write(name, "", under=folder) for folder in folders]

    found = await ignored(project_home, "sub", OPENCODE_CONFIG_DIR=str(named))

    assert [each.partition(" ")[2] for each in found] == [str(file) for file in files]


async def test_many_files_are_counted_and_the_first_ones_named(project_home: ProjectHome) -> None:
    for number in range(12):
        project_home.write(f".opencode/tool/{number:02}.ts", "")

    (found,) = (await project_home.load()).ignored

    assert (found.count, found.names) == (12, ("00.ts", "01.ts", "02.ts", "03.ts", "04.ts"))


async def test_a_warning_says_that_entries_beyond_the_limit_are_not_named(project_home: ProjectHome) -> None:
    for name in ("tool", "tools"):
        folder = project_home.project / ".opencode" / name
        folder.mkdir(parents=True)
        for number in range(MAX_ENTRIES // 2):
            (folder / f"{number}.ts").touch()

    full = await project_home.load()
    (folder / "one_more.ts").touch()
    over = await project_home.load()

    assert [sum(files.count for files in each.ignored) for each in (full, over)] == [MAX_ENTRIES, MAX_ENTRIES]
    assert full.warnings == () and len(over.warnings) == 1
    assert "hold more than 10,000 entries" in over.warnings[0] and str(folder) in over.warnings[0]
