"""Instructions and skills from addresses on the net: fetched by a worker, read from copies."""

import json
from pathlib import Path
from typing import Any

from activities.project.config_loader import LoadedConfig, may_fetch
from activities.project.organisations import parse_organisation
from activities.web.remote_copies import RemoteCopy, RemoteSource, read_copy, write_copy
from activities.web.remote_refresh import RemoteRefresh
from tests.activities.project.project_home import ProjectHome
from tests.activities.web.page_server import PageServer, page_server

RULES = {"/rules.md": "Use tabs."}
SKILL = "---\nname: deploy\ndescription: How we deploy\n---\n"


def configure(home: ProjectHome, *, own: bool = True, **config: Any) -> Path:
    return home.write("opencode.json", json.dumps(config), under=home.config if own else None)


async def renewed(home: ProjectHome) -> LoadedConfig:
    """As a worker loads it."""
    loaded = await home.loaded()
    refresh = RemoteRefresh(
        home.home / "data", {}, lambda url: may_fetch(loaded.turn_config.rules, url), parse_organisation
    )
    await refresh.renew(loaded.wanted)
    return await home.loaded()


def age(home: ProjectHome, url: str) -> None:
    """As if its copy had been looked at long ago."""
    copy = read_copy(home.home / "data", url)
    assert copy is not None
    write_copy(home.home / "data", copy.model_copy(update={"checked_at": 0}))


def texts(loaded: LoadedConfig) -> dict[str, str]:
    return {each.path: each.text for each in loaded.turn_config.instructions}


async def test_instructions_are_fetched_by_a_worker_and_read_from_the_copy(project_home: ProjectHome) -> None:
    project_home.write("AGENTS.md", "Ours")
    async with page_server(RULES) as server:
        url = f"{server.url}/rules.md"
        file = configure(project_home, instructions=[url])
        before = await project_home.loaded()
        asked = list(server.asked)
        after = await renewed(project_home)
        again = await renewed(project_home)
        age(project_home, url)
        await renewed(project_home)
        server.pages["/rules.md"] = "Use blanks."
        age(project_home, url)
        changed = await renewed(project_home)

    assert asked == [] and before.wanted == (RemoteSource(url=url),)
    assert before.turn_config.warnings == (
        f"{file}: {url} is fetched when the next turn begins; `holdfast doctor` says then if that has failed.",
    )
    assert list(texts(after).items()) == [(f"{project_home.project}/AGENTS.md", "Ours"), (url, "Use tabs.")]
    assert after.turn_config.warnings == () and again == after
    assert [status for _, status in server.asked] == [200, 304, 200] and texts(changed)[url] == "Use blanks."


async def test_what_cannot_be_fetched_is_named_and_the_last_copy_stays(project_home: ProjectHome) -> None:
    async with page_server(RULES) as server:
        url, lost = f"{server.url}/rules.md", f"{server.url}/lost.md"
        file = configure(project_home, instructions=[url, lost])
        first = await renewed(project_home)
        server.fails = 503
        age(project_home, url)
        old = await renewed(project_home)
        asked = len(server.asked)
        await renewed(project_home)

    assert texts(first) == texts(old) == {url: "Use tabs."}
    assert first.turn_config.warnings == (
        f"{file}: {lost} is left out: it cannot be fetched: the server answered with 404.",
    )
    assert f"{file}: {url} cannot be fetched: the server answered with 503. The copy of" in old.turn_config.warnings[0]
    assert len(server.asked) == asked


async def test_a_failure_of_any_kind_is_of_one_copy_alone(project_home: ProjectHome) -> None:
    async with page_server(RULES) as server:
        url, broken = f"{server.url}/rules.md", f"{server.url}/broken.md"
        configure(project_home, instructions=[broken, url])
        write_copy(project_home.home / "data", RemoteCopy(url=broken, checked_at=0, text="Ours", etag="\N{SNOWMAN}"))
        loaded = await renewed(project_home)

    assert texts(loaded) == {broken: "Ours", url: "Use tabs."}
    assert f"{broken} cannot be fetched: 'ascii' codec can't encode" in loaded.turn_config.warnings[0]


async def test_a_turn_goes_on_where_no_copy_can_be_written(project_home: ProjectHome) -> None:
    project_home.write("data/web", "in the way", under=project_home.home)
    async with page_server(RULES | {"/index.json": index(listed("1"))}) as server:
        configure(project_home, instructions=[f"{server.url}/rules.md"], skills={"urls": [server.url]})
        config = (await renewed(project_home)).turn_config
    assert config.instructions == () and len(config.warnings) == 2


async def test_a_project_names_no_address_and_rules_deny_them(project_home: ProjectHome) -> None:
    async with page_server(RULES) as server:
        url = f"{server.url}/rules.md"
        names: dict[str, Any] = {"instructions": [url], "skills": {"urls": [server.url]}}
        file = configure(project_home, own=False, **names)
        project = await renewed(project_home)
        own = configure(project_home, permission={"webfetch": "deny"}, **names)
        denied = await renewed(project_home)

    assert {(each.file, each.field) for each in project.turn_config.held} == {
        (str(file), f"instructions {url}"),
        (str(file), f"skills.urls {server.url}"),
    }
    assert project.wanted == denied.wanted == () and server.asked == []
    assert denied.turn_config.warnings == tuple(
        f"{own}: {each} is left out: your rules deny webfetch of it." for each in (url, server.url)
    )


async def test_an_address_that_is_none_is_named(project_home: ProjectHome) -> None:
    configure(project_home, instructions=["https://a:b@c/", "http://[1/"], skills={"urls": ["ftp://x/"]})

    warnings = (await renewed(project_home)).turn_config.warnings

    assert [each.partition("fetched: ")[2] for each in warnings] == [
        "it holds a user's name or a password.",
        "its host or port is none.",
        "it is no address: write http://HOST/PATH or https://HOST/PATH.",
    ]


def index(*skills: dict[str, Any]) -> str:
    return json.dumps({"skills": list(skills)})


def listed(version: str, *files: str) -> dict[str, Any]:
    return {"name": "deploy", "version": version, "files": ["SKILL.md", *files]}


async def files_of_skill(home: ProjectHome, server: PageServer, pages: dict[str, str]) -> dict[str, str]:
    """The files of the only skill, after a renewal from these pages."""
    server.pages |= pages
    if read_copy(home.home / "data", server.url):
        age(home, server.url)
    (skill,) = (await renewed(home)).turn_config.skills
    assert skill.name == "deploy" and skill.trusted and "/web/127.0.0.1-" in skill.file and "/deploy-" in skill.file
    folder = Path(skill.file).parent
    return {str(each.relative_to(folder)): each.read_text() for each in folder.rglob("*") if each.is_file()}


async def test_skills_are_fetched_with_their_files_and_again_with_a_new_version(project_home: ProjectHome) -> None:
    pages = {"/deploy/SKILL.md": f"{SKILL}One", "/deploy/run/a.sh": "echo"}
    async with page_server(pages) as server:
        configure(project_home, skills={"urls": [server.url]})
        first = {"/index.json": index(listed("1", "run/a.sh"), {"name": "no skill", "files": []})}
        found = [
            await files_of_skill(project_home, server, each)
            for each in (
                first,
                {"/deploy/SKILL.md": f"{SKILL}Two"},
                {"/index.json": index(listed("2"))},
                {"/index.json": index(listed("3", "gone.md"))},
            )
        ]
        warnings = (await project_home.load()).warnings

    assert found[0] == found[1] == {"SKILL.md": f"{SKILL}One", "run/a.sh": "echo"}
    assert found[2] == found[3] == {"SKILL.md": f"{SKILL}Two"}
    assert "the skill 'deploy': the server answered with 404. The copy of" in warnings[0]


async def test_a_hostile_index_writes_nothing_elsewhere(project_home: ProjectHome) -> None:
    hostile = [("x", "../y"), ("x", "/etc/x"), ("../x", "y"), ("x", "a\\..\\b"), ("x", "./y"), ("x", "a\ny")]
    async with page_server({}) as server:
        configure(project_home, skills={"urls": [server.url]})
        problems = []
        for text in (*(index({"name": name, "files": ["SKILL.md", file]}) for name, file in hostile), "[" * 100_000):
            server.pages["/index.json"] = text
            await renewed(project_home)
            copy = read_copy(project_home.home / "data", server.url)
            assert copy is not None and copy.skills == ()
            problems.append(copy.problem or "")
            age(project_home, server.url)

    assert all("the skill" in each and "404" not in each for each in problems[:-1])
    assert "is no index of skills" in problems[-1]
    assert server.asked == [("/index.json", 200)] * len(problems)
