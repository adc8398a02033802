import json
import os
import time
from typing import Any

import pytest

from activities.project.config_files import read_layers
from activities.project.instructions import MAX_INSTRUCTION_BYTES, MAX_INSTRUCTION_FILES, MAX_PLACES, read_instructions
from activities.project.pattern_walk import MAX_SECONDS, MAX_STEPS, MAX_WALKED
from tests import cases
from tests.activities.project.project_home import ProjectHome
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.trust_items import TrustContent
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import ConfigError


@pytest.mark.parametrize("case", cases.load("instructions"))
def test_instructions_are_found_as_in_opencode(case: cases.Case, project_home: ProjectHome) -> None:
    given = case.input
    for folder, key in ((project_home.project, "files"), (project_home.home, "home")):
        for name, text in given.get(key, {}).items():
            project_home.write(name, text, under=folder)
    if config := given.get("config"):
        project_home.write("opencode.json", json.dumps(config))
    profile = project_home.home / "profile"
    for folder, key in ((profile, "profile_has_agents_md"), (project_home.config, "global_has_agents_md")):
        if given.get(key):
            project_home.write("AGENTS.md", key, under=folder)

    environ = {name: value.replace("<PROFILE>", str(profile)) for name, value in given.get("env", {}).items()}

    expected = {key: value for key, value in case.expected.items() if key.startswith("system_prompt_files")}
    cases.assert_matches(found(project_home, given.get("cwd", ""), environ), expected)


def found(project_home: ProjectHome, directory: str, environ: dict[str, str]) -> dict[str, Any]:
    workspace = project_home.workspace(directory)
    sources = project_home.sources(**environ)
    instructions, *_ = read_instructions(workspace, read_layers(workspace, sources, project_home.managed), sources)
    names = {
        str(project_home.home / "profile"): "<PROFILE>",
        str(project_home.project): "<P>",
        str(project_home.home): "<H>",
    }
    paths = [instruction.path for instruction in instructions]
    for folder, name in names.items():
        paths = [path.replace(folder, name) for path in paths]
    return {"system_prompt_files": paths}


def read(project_home: ProjectHome, directory: str = "", **environ: str) -> tuple[list[str], list[str]]:
    """The found texts, and the ignored fields."""
    workspace = project_home.workspace(directory)
    sources = project_home.sources(**environ)
    found = read_instructions(workspace, read_layers(workspace, sources, project_home.managed), sources)
    held = [*(item.untrusted for item in found.items), *found.ignored]
    return [instruction.text for instruction in found.instructions], [item.field for item in held]


def test_lines_that_name_files_are_further_instructions_behind_their_own(project_home: ProjectHome) -> None:
    text = "@docs/rules.md\n- @docs/more.md\n@alice knows\n@gone.md\n```\n@docs/code.md\n```\nsee @docs/code.md"
    project_home.write("CLAUDE.md", text)
    project_home.write("docs/rules.md", "R\n@more.md\n@../CLAUDE.md")
    project_home.write("docs/more.md", "M")
    project_home.write("docs/code.md", "code")
    project_home.write("CONTEXT.md", "context")

    texts, held = read(project_home)

    assert [each.partition("\n")[0] for each in texts] == ["@docs/rules.md", "R", "M"]
    assert held == [f"instructions {project_home.project}/gone.md"]


def test_ones_own_file_may_name_any_and_a_projects_only_its_own(project_home: ProjectHome) -> None:
    own = project_home.write("own.md", "own", under=project_home.home)
    project_home.write(".claude/CLAUDE.md", "mine\n@~/own.md", under=project_home.home)
    project_home.write("AGENTS.md", f"theirs\n@{own}\n@a.md")
    (project_home.project / "a.md").symlink_to(own)

    texts, held = read(project_home)
    project_home.write(".claude/CLAUDE.md", "alone", under=project_home.home)

    assert texts == ["mine\n@~/own.md", "own", f"theirs\n@{own}\n@a.md"]
    assert held == [f"instructions {own}"]  # a.md leads to the same file
    assert read(project_home)[0] == ["alone", f"theirs\n@{own}\n@a.md"]


def test_files_that_name_the_next_are_followed_four_deep_and_up_to_a_number(project_home: ProjectHome) -> None:
    project_home.write("AGENTS.md", "0\n@1.md")
    for number in range(1, 7):
        project_home.write(f"{number}.md", f"{number}\n@{number + 1}.md")
    deep = [text.partition("\n")[0] for text in read(project_home)[0]]

    project_home.write("AGENTS.md", "\n".join(f"@x{number}.md" for number in range(1000)))
    for number in range(1000):
        project_home.write(f"x{number}.md", f"x\n@x{number + 1}.md\n@x{number + 7}.md")

    assert deep == ["0", "1", "2", "3", "4"]
    assert len(read(project_home)[0]) == MAX_INSTRUCTION_FILES


def test_the_file_of_claudes_folder_is_read_beside_the_one_above_it(project_home: ProjectHome) -> None:
    project_home.write(".claude/CLAUDE.md", "inner")
    project_home.write("sub/CLAUDE.md", "sub")
    with_both = read(project_home, "sub")[0]
    project_home.write("AGENTS.md", "agents")

    assert with_both == ["sub", "inner"]
    assert read(project_home, "sub")[0] == ["agents"]
    assert read(project_home, OPENCODE_DISABLE_CLAUDE_CODE_PROMPT="1")[0] == ["agents"]


def test_the_nearest_file_comes_before_those_above_it(project_home: ProjectHome) -> None:
    project_home.write("AGENTS.md", "root")
    project_home.write("sub/AGENTS.md", "sub")

    assert read(project_home, "sub") == (["sub", "root"], [])


def test_a_link_that_leads_out_of_the_project_is_ignored(project_home: ProjectHome) -> None:
    secret = project_home.write("secret", "s3cret", under=project_home.home)
    (project_home.project / "AGENTS.md").symlink_to(secret)

    assert read(project_home) == ([], [f"instructions {project_home.project}/AGENTS.md"])


def test_a_project_names_files_of_its_own_only(project_home: ProjectHome) -> None:
    project_home.write("rules/a.md", "inside")
    project_home.write("secret.md", "outside", under=project_home.project.parent)
    project_home.write("opencode.json", '{"instructions": ["rules/*.md", "../secret.md", "~/.ssh/id", "/etc/passwd"]}')

    texts, held = read(project_home)

    assert texts == ["inside"]
    assert len(held) == 3


@pytest.mark.parametrize("name", ["", "/", "/rules/a.md", "/rules/*.md", "/**/a.md", "/../project/rules/*.md"])
@pytest.mark.parametrize("before", ["", "/"])
def test_a_project_may_be_named_by_its_absolute_path(project_home: ProjectHome, name: str, before: str) -> None:
    project_home.write("rules/a.md", "inside")
    project_home.write("opencode.json", json.dumps({"instructions": [f"{before}{project_home.project}{name}"]}))

    assert read(project_home, "sub") == (["inside"] if len(name) > 1 else [], [])


def test_a_projects_patterns_do_not_leave_it(project_home: ProjectHome) -> None:
    outside = project_home.write("rules/a.md", "outside", under=project_home.home).parent
    project_home.write("rules/b.md", "inside")
    project_home.write("sub/c.md", "below")
    (project_home.project / "link").symlink_to(outside)
    (project_home.project / "sub" / "up").symlink_to(project_home.project)
    entries = [
        "../../rules/**/*.md",
        "l*/*.md",
        "link/**/*.md",
        f"{project_home.project}/../../rules/*.md",
        "su?/../../*/x.md",
    ]
    config = project_home.write("opencode.json", json.dumps({"instructions": [*entries, "../none/*.md", "**/*.md"]}))

    begun = time.monotonic()
    assert read(project_home) == (["inside", "below"], [f"instructions {each}" for each in entries])
    assert read(project_home, "sub")[0] == ["below", "inside"]  # nearest first
    config.write_text(json.dumps({"instructions": ["../" * 9 + "**/*.md", "link/../../**/*.md"]}))
    assert len(read(project_home)[1]) == 2 and time.monotonic() - begun < MAX_SECONDS


async def test_no_name_of_a_file_breaks_a_turn(project_home: ProjectHome) -> None:
    odd, skill = os.fsdecode(b"\xff"), "---\nname: a\n---\nB"
    for name in (f"rules/{odd}.md", "rules/b\nc.md", f".opencode/plugin/{odd}.js", f".opencode/skills/{odd}/SKILL.md"):
        project_home.write(name, skill)
    (project_home.home / ".claude" / "skills").mkdir(parents=True)
    own = project_home.write(f"{odd}/SKILL.md", skill, under=project_home.home).parent
    (project_home.home / ".claude" / "skills" / "a").symlink_to(own)
    project_home.write("opencode.json", '{"instructions": ["rules/*.md"]}')

    turn_config = TurnConfig.model_validate_json((await project_home.load()).model_dump_json())

    held = [f"instructions {project_home.project}/rules/{each}.md" for each in ("b\\nc", "\\xff")]
    assert [each.field for each in turn_config.untrusted_fields] == held
    assert turn_config.ignored[0].names == ("\\xff.js",) and [each.name for each in turn_config.skills] == ["a"]
    with pytest.raises(ConfigError, match=r"\\xff: the path of this directory is no UTF-8 text"):
        await project_home.load(odd)


@pytest.mark.parametrize(
    ("pattern", "count"), [("many/x*", MAX_WALKED // 300 + 1), ("many/**/x", MAX_STEPS // 300 + 1)]
)
def test_what_is_looked_at_for_patterns_is_bounded_and_said(
    project_home: ProjectHome, pattern: str, count: int
) -> None:
    project_home.write("style.md", "ours")
    for number in range(300):
        (project_home.project / "many" / str(number)).mkdir(parents=True)
    project_home.write("opencode.json", json.dumps({"instructions": [*[pattern] * count, "style.md"]}))

    begun = time.monotonic()
    assert read(project_home) == (["ours"], [f"instructions {pattern}"])
    assert time.monotonic() - begun < MAX_SECONDS


@pytest.mark.parametrize("pattern", ["**/" * 60 + "*.md", "**/?/" * 6 + "*.md"])
def test_no_pattern_takes_more_steps_than_there_are_folders_for_its_parts(
    project_home: ProjectHome, pattern: str
) -> None:
    project_home.write("a/b/c/d/e/f/g/h/deep.md", "deep")
    project_home.write("opencode.json", json.dumps({"instructions": [pattern]}))

    begun = time.monotonic()
    assert read(project_home) == (["deep"], [])
    assert time.monotonic() - begun < MAX_SECONDS


def test_the_users_own_configuration_may_name_any_file(project_home: ProjectHome) -> None:
    project_home.write("rules.md", "mine", under=project_home.home)
    project_home.write("opencode.json", '{"instructions": ["~/rules.md", "~/none.md"]}', under=project_home.config)

    assert read(project_home) == (["mine"], [])


def test_a_file_that_is_found_twice_is_reported_once(project_home: ProjectHome) -> None:
    file = project_home.write("AGENTS.md", "once")
    (project_home.project / "link.md").symlink_to(file)
    project_home.write("opencode.json", '{"instructions": ["AGENTS.md", "*.md", "sub/../AGENTS.md"]}')
    project_home.write("opencode.json", json.dumps({"instructions": [str(file)]}), under=project_home.config)

    assert read(project_home, "sub") == (["once"], [])


def test_the_users_come_first_then_the_projects_then_those_that_are_named(project_home: ProjectHome) -> None:
    for folder in (".", "sub"):
        project_home.write(f"{folder}/AGENTS.md", f"found in {folder}")
        project_home.write(f"{folder}/rules/1.md", f"named by the project in {folder}")
    project_home.write("opencode.json", '{"instructions": ["rules/*.md"]}')
    project_home.write("AGENTS.md", "yours", under=project_home.config)
    project_home.write("style.md", "named by you", under=project_home.home)
    project_home.write("opencode.json", '{"instructions": ["~/style.md"]}', under=project_home.config)

    assert read(project_home, "sub")[0] == [
        "yours",
        "found in sub",
        "found in .",
        "named by you",
        "named by the project in sub",
        "named by the project in .",
    ]


def test_a_file_of_yours_counts_though_a_project_links_to_it(project_home: ProjectHome) -> None:
    file = project_home.write("style.md", "named by you", under=project_home.home)
    (project_home.project / "AGENTS.md").symlink_to(file)
    project_home.write("opencode.json", '{"instructions": ["~/style.md"]}', under=project_home.config)

    assert read(project_home) == (["named by you"], [f"instructions {project_home.project}/AGENTS.md"])


def test_a_long_file_is_cut_and_reported_as_incomplete(project_home: ProjectHome) -> None:
    project_home.write("AGENTS.md", "é" * MAX_INSTRUCTION_BYTES)

    workspace = project_home.workspace()
    (instruction,), *_ = read_instructions(workspace, (), project_home.sources())

    assert len(instruction.text) == MAX_INSTRUCTION_BYTES // 2
    assert not instruction.complete


def test_a_pipe_by_the_name_of_instructions_is_no_file(project_home: ProjectHome) -> None:
    os.mkfifo(project_home.project / "AGENTS.md")

    assert read(project_home) == ([], [])


def test_an_impossible_file_name_is_ignored(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", r'{"instructions": ["/etc/\u0000"]}')

    assert read(project_home) == ([], [r"instructions /etc/\x00"])


def test_an_accepted_folder_is_no_file(project_home: ProjectHome) -> None:
    (project_home.home / "rules").mkdir()
    project_home.write("opencode.json", '{"instructions": ["~/rules"]}')
    workspace, sources = project_home.workspace(), project_home.sources()
    layers = read_layers(workspace, sources, project_home.managed)
    shown = TrustContent(starts=read_instructions(workspace, layers, sources).items)

    (ignored,) = read_instructions(workspace, layers, sources, shown).ignored

    assert ignored.why == "it is not a regular file"


def test_a_switch_leaves_the_files_of_another_agent_out(project_home: ProjectHome) -> None:
    project_home.write("CLAUDE.md", "project")
    project_home.write(".claude/CLAUDE.md", "own", under=project_home.home)

    assert read(project_home)[0] == ["own", "project"]
    assert read(project_home, OPENCODE_DISABLE_CLAUDE_CODE="1")[0] == []


@pytest.mark.parametrize("count", [MAX_INSTRUCTION_FILES - 1, MAX_INSTRUCTION_FILES, MAX_INSTRUCTION_FILES + 1])
async def test_more_files_than_are_read_are_named(project_home: ProjectHome, count: int) -> None:
    for number in range(count):
        project_home.write(f"rules/{number:03}.md", "Use tabs.")
    project_home.write("opencode.json", '{"instructions": ["rules/*.md"]}')

    found, held = read(project_home)

    assert len(found) == min(count, MAX_INSTRUCTION_FILES)
    assert held == [f"instructions {project_home.project}/rules/{MAX_INSTRUCTION_FILES:03}.md"] * (
        count > MAX_INSTRUCTION_FILES
    )


def test_a_projects_files_do_not_crowd_out_those_of_others(project_home: ProjectHome) -> None:
    for number in range(MAX_INSTRUCTION_FILES + 1):
        project_home.write(f"rules/{number:03}.md", f"the project's {number}")
        project_home.write(f"own/{number:03}.md", f"own {number}", under=project_home.home)
    last = f"{project_home.project}/rules/{MAX_INSTRUCTION_FILES:03}.md"
    project_home.write("opencode.json", '{"instructions": ["rules/*.md"]}')
    managed = json.dumps({"instructions": [last, "~/own/*.md"]})
    project_home.write("opencode.json", managed, under=project_home.managed)

    found, held = read(project_home)

    projects = [f"the project's {number}" for number in range(MAX_INSTRUCTION_FILES + 1)]
    assert found == [*projects, *(f"own {number}" for number in range(MAX_INSTRUCTION_FILES - 1))]
    assert held == [f"instructions {project_home.home}/own/{MAX_INSTRUCTION_FILES - 1:03}.md"]


@pytest.mark.parametrize("size", [MAX_INSTRUCTION_BYTES - 1, MAX_INSTRUCTION_BYTES, MAX_INSTRUCTION_BYTES + 1])
async def test_a_file_that_is_read_in_part_only_is_named(project_home: ProjectHome, size: int) -> None:
    file = project_home.write("AGENTS.md", "x" * size)

    warnings = (await project_home.load()).warnings

    expected = f"{file}: only the first 64 KiB are read as instructions."
    assert warnings == ((expected,) if size > MAX_INSTRUCTION_BYTES else ())


def test_only_what_is_accepted_is_read_from_outside(project_home: ProjectHome) -> None:
    """Whatever has changed between the comparison and the reading: another entry, a link, the first 50."""
    outside = [project_home.write(f"{number:02}.md", str(number), under=project_home.home) for number in range(52)]
    extra = project_home.write("rules/a.md", "inside")
    names = ["rules/*.md", *(f"~/{file.name}" for file in outside)]
    project_home.write("opencode.json", json.dumps({"instructions": names}))
    (project_home.project / "AGENTS.md").symlink_to(project_home.write("linked", "linked", under=project_home.home))
    workspace, sources = project_home.workspace(), project_home.sources()
    foreign = ConfigLayer(file="https://o.test", trusted=False, tree={"instructions": ["~/foreign.md"]})
    project_home.write("foreign.md", "an organisation's", under=project_home.home)
    layers = (foreign, *read_layers(workspace, sources, project_home.managed))

    found = read_instructions(workspace, layers, sources).items
    shown = TrustContent(starts=found[2:])  # but the link, the foreign one
    extra.unlink()
    read = read_instructions(workspace, layers, sources, shown)

    assert [each.text for each in read.instructions] == [str(number) for number in range(47)]
    assert [item.path[1] for item in read.items][-1] == f"{project_home.home}/47.md"  # moved up, unseen


def test_a_pattern_for_files_outside_is_accepted_as_one(project_home: ProjectHome) -> None:
    project_home.write("more/a.md", "a", under=project_home.home)
    (project_home.project / "linked").symlink_to(project_home.write("other/b.md", "b", under=project_home.home).parent)
    project_home.write("opencode.json", '{"instructions": ["~/more/*.md", "linked/*.md"]}')
    workspace, sources = project_home.workspace(), project_home.sources()
    layers = read_layers(workspace, sources, project_home.managed)

    shown = TrustContent(starts=read_instructions(workspace, layers, sources).items)

    assert [each.text for each in read_instructions(workspace, layers, sources, shown).instructions] == ["a", "b"]


def test_an_accepted_pattern_reads_only_places_that_were_shown(project_home: ProjectHome) -> None:
    for name in ("shared/a.md", "private/b.md", "private/c.md"):
        project_home.write(name, name, under=project_home.home)
    links, root = project_home.project / "links", project_home.project
    project_home.write("sub/links/x", "")
    links.mkdir()
    (links / "z").symlink_to(project_home.home / "shared")
    project_home.write("opencode.json", '{"instructions": ["links/*/*.md", "../*/links/n.md"]}')
    workspace, sources = project_home.workspace("sub"), project_home.sources()
    layers = read_layers(workspace, sources, project_home.managed)
    shown = TrustContent(starts=read_instructions(workspace, layers, sources).items)

    assert [each.text for each in read_instructions(workspace, layers, sources, shown).instructions] == ["shared/a.md"]

    (links / "a").symlink_to(project_home.home / "private")
    (links / "n.md").symlink_to(project_home.home / "private" / "c.md")
    (root / "sub" / "links" / "b").symlink_to(project_home.home / "private")
    found = read_instructions(workspace, layers, sources, shown)

    assert found.instructions == () and TrustContent(starts=found.items).digest != shown.digest
    assert str(project_home.home / "private") in str(found.items[0].value)


def test_a_link_in_an_accepted_place_is_named_with_what_to_do_and_then_accepted(project_home: ProjectHome) -> None:
    for name in ("shared/near/a.md", "private/b.md"):
        project_home.write(name, name, under=project_home.home)
    (project_home.home / "shared" / "link").symlink_to(project_home.home / "private")
    workspace, sources = project_home.workspace(), project_home.sources()

    def read(*entries: str) -> tuple[list[str], list[str]]:
        project_home.write("opencode.json", json.dumps({"instructions": entries}))
        layers = read_layers(workspace, sources, project_home.managed)
        shown = TrustContent(starts=read_instructions(workspace, layers, sources).items)
        found = read_instructions(workspace, layers, sources, shown)
        assert found.items == ()
        return [each.text for each in found.instructions], [each.field for each in found.ignored]

    assert read("~/shared/*/*.md") == (["shared/near/a.md"], [f"instructions {project_home.home}/private"])
    assert read("~/shared/*/*.md", "~/private/*.md")[0] == ["shared/near/a.md", "private/b.md"]


def test_a_pattern_that_leads_to_too_many_places_cannot_be_accepted(project_home: ProjectHome) -> None:
    (project_home.project / "links").mkdir()
    for number in range(MAX_PLACES + 1):
        folder = project_home.write(f"{number}/a.md", "a", under=project_home.home).parent
        (project_home.project / "links" / folder.name).symlink_to(folder)
    project_home.write("opencode.json", '{"instructions": ["links/*/*.md"]}')
    workspace, sources = project_home.workspace(), project_home.sources()
    found = read_instructions(workspace, read_layers(workspace, sources, project_home.managed), sources)

    assert (found.items, found.instructions) == ((), ())
    assert [each.field for each in found.ignored] == ["instructions links/*/*.md"]
