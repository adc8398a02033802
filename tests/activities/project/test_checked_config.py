"""What of a project's files counts once a person has accepted it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from activities.project.config_loader import PRIMARY_ROLE, Role, load_turn_config
from activities.project.config_references import resolve
from activities.project.project_loader import ProjectLoader
from tests.activities.project.project_home import ProjectHome
from workflows.domain.config.accepted_trust import AcceptedTrust
from workflows.domain.config.provider_settings import ProviderOptions
from workflows.domain.config.trust_items import TrustContent
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import ConfigError
from workflows.domain.permissions.rules import evaluate

PROVIDER = {"options": {"baseURL": "http://e.test", "apiKey": "{file:key}", "headers": {"A": "plain"}}}


class Person:
    """Who accepts contents, by their digests."""

    def __init__(self, project_home: ProjectHome) -> None:
        self.home = project_home
        self.digests: set[str] = set()
        self.before_reading: Callable[[], None] = lambda: None

    async def content(self) -> TrustContent:
        home = self.home
        loader = ProjectLoader(home.home / "data", home.home / "tmp", home.managed, {}, home.sources())
        return (await loader.check_trust(str(home.project), home.sources())).content

    async def accept(self) -> None:
        self.digests.add((await self.content()).digest)

    async def load(self, role: Role = PRIMARY_ROLE) -> TurnConfig:
        home = self.home

        async def find_accepted(worktree: str, digest: str) -> AcceptedTrust | None:
            assert worktree == str(home.project)
            known = digest in self.digests
            self.before_reading()
            return AcceptedTrust(record=1, digest=digest, author="me", at=datetime.now(UTC)) if known else None

        loaded = await load_turn_config(home.workspace(), home.sources(), home.managed, role, find_accepted)
        return loaded.turn_config


@pytest.fixture
def person(project_home: ProjectHome) -> Person:
    return Person(project_home)


async def test_what_is_accepted_counts_until_any_of_it_changes(person: Person) -> None:
    home = person.home
    home.write("key", "k1")
    home.write("rules.md", "Outside.", under=home.home)
    skill = home.write("skills/a/SKILL.md", "---\nname: a\n---\n", under=home.home).parent.parent
    home.write("told.md", "Be bold.", under=home.home)
    tree = {
        "provider": {"x": PROVIDER},
        "permission": {"read": "allow"},
        "instructions": ["~/rules.md"],
        "skills": {"paths": [str(skill)]},
        "agent": {"bold": {"prompt": "{file:~/told.md}"}},
    }
    home.write("opencode.json", json.dumps(tree))

    held = await person.load()
    await person.accept()
    counts = await person.load()

    assert (held.accepted, held.held_content) == (None, (await person.content()).digest)
    assert {each.field for each in held.untrusted_fields} == {
        *("provider.x.options", "permission.read.*", "agent.bold.prompt"),
        *(f"instructions {home.home}/rules.md", f"skills.paths {skill}"),
    }
    assert (held.config.provider["x"].options.base_url, held.instructions, held.skills) == (None, (), ())
    assert counts.accepted is not None and (counts.held_content, counts.untrusted_fields) == (None, ())
    assert counts.config.provider["x"].options.base_url == "http://e.test"
    assert evaluate("read", ".env", counts.rules).action == "allow"
    assert [each.text for each in counts.instructions] == ["Outside."] and [each.name for each in counts.skills] == [
        "a"
    ]
    assert (await person.load(Role("bold"))).agent.prompt == "Be bold."
    assert "plain" not in counts.model_dump_json() and "k1" not in counts.model_dump_json()
    changes = (
        ("key", "k2"),
        ("opencode.json", json.dumps(tree | {"subagent_depth": 3})),
        ("opencode.json", json.dumps(tree).replace("plain", "other")),
    )
    for name, text in changes:
        home.write("key", "k1")
        home.write("opencode.json", json.dumps(tree))
        assert (await person.load()).accepted is not None
        home.write(name, text)
        assert (await person.load()).accepted is None
    home.write("opencode.json", json.dumps(tree | {"username": "u"}))  # it needs no trust
    home.write("key", "k1")
    assert (await person.load()).accepted is not None


async def test_a_file_that_changes_after_the_turn_began_is_not_used(person: Person) -> None:
    key = person.home.write("key", "k1")
    agents = {"build": {"options": {"prompt": "{file:key}"}}}
    person.home.write("opencode.json", json.dumps({"provider": {"x": PROVIDER}, "agent": agents}))
    await person.accept()
    config = (await person.load()).config
    options, option = config.provider["x"].options, config.agent["build"].options["prompt"]
    assert options.api_key is not None and isinstance(option, str)

    assert await resolve(options.api_key, {}) == await resolve(option, {}) == "k1"
    assert await resolve(options.headers["A"], {}) == "plain"
    key.write_text("k2")
    for each in (options.api_key, option):
        with pytest.raises(ConfigError, match="key: its content is not what was accepted: `holdfast trust`"):
            await resolve(each, {})


@pytest.mark.parametrize("folder", ["{project}", "~/code/project", "~//code/project", "~"])
async def test_a_file_of_certificates_or_credentials_is_accepted_with_its_content(person: Person, folder: str) -> None:
    """Unless it lies outside of the project."""
    named = folder.format(project=person.home.project)
    files = [
        person.home.write(name, name, under=person.home.home if folder == "~" else None) for name in ("ca.pem", "key")
    ]
    written = {"caFile": f"{named}/ca.pem", "googleAuthOptions": {"keyFilename": f"{named}/key"}}
    person.home.write("opencode.json", json.dumps({"provider": {"x": {"options": written}}}))
    await person.accept()
    options = (await person.load()).config.provider["x"].options
    texts = [options.ca_file or "", options.google_auth_options.key_filename or ""]

    if folder == "~":
        assert texts == ["~/ca.pem", "~/key"]
        return
    assert [await resolve(each, {}) for each in texts] == ["ca.pem", "key"]
    for file, text in zip(files, texts, strict=True):
        file.write_text("other")
        assert (await person.load()).accepted is None
        with pytest.raises(ConfigError, match=f"^{file}: its content is not what was accepted"):
            await resolve(text, {})
        file.write_text(file.name)


@pytest.mark.parametrize(("path", "is_read"), [("{env:CA}", True), ("{env:HOME}/code/project/ca.pem", False)])
async def test_a_path_of_a_file_that_is_made_of_references_is_not_read(
    person: Person, path: str, is_read: bool
) -> None:
    file = person.home.write("ca.pem", "ca")
    person.home.write("opencode.json", json.dumps({"provider": {"x": {"options": {"caFile": path}}}}))
    await person.accept()
    text = (await person.load()).config.provider["x"].options.ca_file or ""
    environ = {"CA": str(file), "HOME": str(person.home.home)}

    if is_read:
        assert await resolve(text, environ) == str(file)
    else:
        with pytest.raises(ConfigError, match=r"\{env:HOME\}/code/project/ca.pem: there is no such file"):
            await resolve(text, environ)


async def test_an_option_has_only_the_name_under_which_it_is_judged(person: Person) -> None:
    named = {"ca_file": "~/ca.pem", "google_auth_options": {"key_filename": "~/key"}, "base_url": "http://e.test"}
    person.home.write("opencode.json", json.dumps({"provider": {"x": {"options": named}}}))
    await person.accept()

    assert (await person.load()).config.provider["x"].options == ProviderOptions()


async def test_a_link_out_of_the_project_is_accepted_with_where_it_leads(person: Person) -> None:
    one, two = (person.home.write(name, name, under=person.home.home) for name in ("one", "two"))
    link = person.home.project / "AGENTS.md"
    link.symlink_to(one)
    await person.accept()
    assert [each.text for each in (await person.load()).instructions] == ["one"]

    link.unlink()
    link.symlink_to(two)

    assert [leaf.effect for leaf in (await person.content()).leaves()] == [
        f"has models read {link} ({two}), which is outside of the project"
    ]
    assert (await person.load()).instructions == ()


async def test_a_link_that_is_changed_after_the_comparison_leads_nowhere(person: Person) -> None:
    home = person.home
    for name in ("one", "two"):
        home.write(f"{name}/SKILL.md", f"---\nname: {name}\n---\n", under=home.home)
    links = {"AGENTS.md": "SKILL.md", "told.md": "SKILL.md", "skills": ""}

    def lead_to(folder: str) -> None:
        for link, name in links.items():
            (home.project / link).unlink(missing_ok=True)
            (home.project / link).symlink_to(home.home / folder / name)

    tree = {"skills": {"paths": ["./skills"]}, "agent": {"bold": {"prompt": "{file:./told.md}"}}}
    home.write("opencode.json", json.dumps(tree))
    lead_to("one")
    await person.accept()
    assert (await person.load()).instructions[0].text and (await person.load()).skills[0].name == "one"

    person.before_reading = lambda: lead_to("two")
    with pytest.raises(ConfigError, match=r"told\.md: its content is not what was accepted"):
        await person.load()
    lead_to("one")
    links.pop("told.md")
    turn_config = await person.load()

    assert (turn_config.instructions, turn_config.skills) == ((), ())
    assert [each.field.split()[0] for each in turn_config.untrusted_fields] == ["instructions", "skills.paths"]


async def test_a_default_agent_of_the_project_takes_no_more_steps_than_the_users_own(person: Person) -> None:
    own = {"default_agent": "careful", "agent": {"careful": {"steps": 5}}}
    person.home.write("opencode.json", json.dumps(own), under=person.home.config)
    project: dict[str, object] = {"default_agent": "build"}
    person.home.write("opencode.json", json.dumps(project))
    assert (await person.load()).agent.name == "careful"

    person.home.write("opencode.json", json.dumps(project | {"agent": {"build": {"steps": 5}}}))

    assert (await person.load()).agent.name == "build"


async def test_a_project_may_have_plan_work_which_does_less(person: Person) -> None:
    person.home.write("opencode.json", '{"default_agent": "plan"}')

    turn_config = await person.load()

    assert (turn_config.agent.name, turn_config.untrusted_fields) == ("plan", ())


@pytest.mark.parametrize("where", ["managed", "config"])
async def test_a_managed_or_own_configuration_forbids_to_accept(person: Person, where: str) -> None:
    person.home.write("opencode.json", '{"holdfast": {"trust": "never"}}', under=getattr(person.home, where))
    person.home.write("opencode.json", '{"permission": "allow", "holdfast": {"trust": "ask"}}')
    await person.accept()

    turn_config = await person.load()

    assert (turn_config.accepted, turn_config.held_content) == (None, None)
    assert evaluate("read", ".env", turn_config.rules).action == "ask"


async def test_what_is_accepted_stays_below_the_administrators_configuration(person: Person) -> None:
    managed = {"provider": {"x": {"options": {"baseURL": "http://ours"}}}, "permission": {"bash": {"rm *": "deny"}}}
    person.home.write("opencode.json", json.dumps(managed), under=person.home.managed)
    person.home.write("opencode.json", json.dumps({"provider": {"x": PROVIDER}, "permission": {"bash": "allow"}}))
    await person.accept()

    turn_config = await person.load()

    assert turn_config.accepted is not None
    assert turn_config.config.provider["x"].options.base_url == "http://ours"
    assert [evaluate("bash", each, turn_config.rules).action for each in ("rm x", "ls")] == ["deny", "allow"]


async def test_an_accepted_default_agent_works(person: Person) -> None:
    own = {"default_agent": "careful", "agent": {"careful": {"permission": {"bash": "ask"}}}}
    person.home.write("opencode.json", json.dumps(own), under=person.home.config)
    person.home.write("opencode.json", '{"default_agent": "build"}')
    assert (await person.load()).agent.name == "careful"

    await person.accept()

    assert (await person.load()).agent.name == "build"


@pytest.mark.parametrize(
    ("own", "theirs"),
    [
        ({"mode": "subagent", "permission": {"bash": "allow"}}, {"mode": "primary"}),
        ({"disable": True, "permission": {"bash": "allow"}}, {"disable": False}),
        ({"mode": "subagent"}, {"mode": "primary"}),
    ],
)
async def test_a_default_agent_that_follows_from_what_is_held_is_accepted_with_it(
    person: Person, own: dict[str, object], theirs: dict[str, object]
) -> None:
    user = {"permission": {"bash": "ask"}, "agent": {"yolo": own}}
    person.home.write("opencode.json", json.dumps(user), under=person.home.config)
    person.home.write("opencode.json", json.dumps({"default_agent": "yolo", "agent": {"yolo": theirs}}))

    before = await person.load()
    assert before.agent.name == "build"
    assert "default_agent" in [each.field for each in before.untrusted_fields]
    assert ("default_agent",) in [item.path for item in (await person.content()).items]

    await person.accept()

    assert (await person.load()).agent.name == "yolo"


async def test_a_looser_default_agent_and_a_freed_subagent_are_shown_with_what_makes_them_so(person: Person) -> None:
    user = {"permission": {"bash": "ask"}, "agent": {"r": {"mode": "primary"}}}
    theirs = {"e": {"permission": {"bash": "allow"}}, "r": {"mode": "all", "permission": {"task": "allow"}}}
    person.home.write("opencode.json", json.dumps(user), under=person.home.config)
    person.home.write("opencode.json", json.dumps({"default_agent": "e", "agent": theirs}))

    fields = [item.untrusted.field for item in (await person.content()).items]

    assert {"default_agent", "agent.r.permission.task"} <= {*fields} and (await person.load()).agent.name == "e"
