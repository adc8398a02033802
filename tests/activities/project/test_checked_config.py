"""What of a project's files counts once a person has accepted it."""

import json
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.project.checked_config import check_trust
from activities.project.config_loader import Role
from activities.project.config_references import resolve
from activities.project.project_loader import ProjectLoader
from tests.activities.project.project_home import Person, ProjectHome
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import ConfigLayer, normalize_permissions
from workflows.domain.config.provider_settings import ProviderOptions
from workflows.domain.errors import ConfigError, UnknownAgent
from workflows.domain.ids import GrantId
from workflows.domain.permissions.grants import Grant
from workflows.domain.permissions.requests import PermissionRequest

PROVIDER = {"options": {"baseURL": "http://e.test", "apiKey": "{file:key}", "headers": {"A": "plain"}}}


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

    assert held.accepted is None
    assert {each.field for each in held.held} == {
        *("provider.x", "agent.bold.prompt"),
        *(f"instructions {home.home}/rules.md", f"skills.paths {skill}"),
    }
    assert (dict(held.config.provider), held.instructions, held.skills) == ({}, (), ())
    assert held.rules.action("read", ".env") == "ask" and len(held.rules.sets) == 2
    assert counts.accepted is not None and (counts.held, len(counts.rules.sets)) == ((), 1)
    assert counts.config.provider["x"].options.base_url == "http://e.test"
    assert counts.rules.action("read", ".env") == "allow"
    assert [each.text for each in counts.instructions] == ["Outside."] and [each.name for each in counts.skills] == [
        "a"
    ]
    assert (await person.load(Role("bold"))).agent.prompt == "Be bold."
    assert "plain" not in counts.model_dump_json() and "k1" not in counts.model_dump_json()
    for name, text in (("key", "k2"), ("opencode.json", json.dumps(tree).replace("plain", "other"))):
        home.write(name, text)
        changed = await person.load()
        assert [each.field for each in changed.held] == ["provider.x"] and changed.skills != ()
        assert changed.rules.action("read", ".env") == "allow"  # nobody has changed the rules
        home.write("key", "k1")
        home.write("opencode.json", json.dumps(tree))
    home.write("opencode.json", json.dumps(tree | {"username": "u"}))  # it needs no trust
    assert await person.held() == []


async def test_accepted_rules_count_until_they_or_ones_own_change(person: Person) -> None:
    """A rule that a person writes after it must hold, wherever it would stand among the project's."""
    home, theirs = person.home, {"permission": {"bash": {"*": "allow"}}, "agent": {"build": {"steps": 9}}}
    home.write("opencode.json", json.dumps({"permission": {"bash": "ask"}}), under=home.config)
    home.write("opencode.json", json.dumps(theirs))

    async def found() -> tuple[str, int | None, bool]:
        turn_config = await person.load()
        changed = turn_config.accepted is not None and turn_config.accepted.rules_changed
        return turn_config.rules.action("bash", "rm x").value, turn_config.agent.steps, changed

    assert await found() == ("ask", 9, False)
    await person.accept()
    assert await found() == ("allow", 9, False)
    home.write("opencode.json", '{"permission": {"bash": {"*": "ask", "rm *": "deny"}}}', under=home.config)
    assert await found() == ("deny", 9, True)
    home.write("opencode.json", json.dumps({"permission": {"bash": "ask"}, "model": "a/b"}), under=home.config)
    assert await found() == ("allow", 9, False)
    home.write("opencode.json", json.dumps(theirs | {"subagent_depth": 3}))
    assert await found() == ("ask", 9, True)


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
        assert await person.held() == ["provider.x"]
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

    assert [each.effect for each in (await person.content()).starts] == [
        f"has models read what is outside of the project: {link} ({two})"
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
    assert [each.field.split()[0] for each in turn_config.held] == ["instructions", "skills.paths"]


async def test_a_project_may_have_plan_work_which_does_less(person: Person) -> None:
    person.home.write("opencode.json", '{"default_agent": "plan"}')

    turn_config = await person.load()

    assert (turn_config.agent.name, turn_config.held) == ("plan", ())


@pytest.mark.parametrize("where", ["managed", "config"])
async def test_a_managed_or_own_configuration_forbids_to_accept(person: Person, where: str) -> None:
    person.home.write("opencode.json", '{"holdfast": {"trust": "never"}}', under=getattr(person.home, where))
    person.home.write("opencode.json", '{"permission": "allow", "holdfast": {"trust": "ask"}}')
    await person.accept()

    turn_config = await person.load()

    assert turn_config.accepted is None and turn_config.rules.action("read", ".env") == "ask"


async def test_what_is_accepted_stays_below_the_administrators_configuration(person: Person) -> None:
    managed = {"provider": {"x": {"options": {"baseURL": "http://ours"}}}, "permission": {"bash": {"rm *": "deny"}}}
    person.home.write("opencode.json", json.dumps(managed), under=person.home.managed)
    person.home.write("opencode.json", json.dumps({"provider": {"x": PROVIDER}, "permission": {"bash": "allow"}}))
    await person.accept()

    turn_config = await person.load()

    assert turn_config.accepted is not None
    assert turn_config.config.provider["x"].options.base_url == "http://ours"
    assert [turn_config.rules.action("bash", each) for each in ("rm x", "ls")] == ["deny", "allow"]


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
async def test_a_default_agent_that_is_no_agent_without_trust_is_accepted_with_what_makes_it_one(
    person: Person, own: dict[str, object], theirs: dict[str, object]
) -> None:
    user = {"permission": {"bash": "ask"}, "agent": {"yolo": own}}
    person.home.write("opencode.json", json.dumps(user), under=person.home.config)
    person.home.write("opencode.json", json.dumps({"default_agent": "yolo", "agent": {"yolo": theirs}}))

    before = await person.load()
    assert before.agent.name == "build"
    assert [each.field for each in before.held] == ["default_agent"]

    await person.accept()

    assert (await person.load()).agent.name == "yolo"


async def test_an_agent_of_the_project_alone_works_under_the_rules_of_ones_default_agent(person: Person) -> None:
    """And under those of `build` without settings, which may be stricter."""
    user = {"permission": {"bash": "ask"}, "agent": {"build": {"permission": {"bash": "allow", "edit": "ask"}}}}
    theirs = {"mine": {"permission": {"bash": "allow", "edit": "allow", "task": "allow"}}}
    person.home.write("opencode.json", json.dumps(user), under=person.home.config)
    person.home.write("opencode.json", json.dumps({"default_agent": "mine", "agent": theirs}))

    before = await person.load()
    subagent = before.delegation.agent("mine")
    await person.accept()
    accepted = await person.load()

    assert (before.agent.name, before.held, len(before.rules.sets)) == ("mine", (), 3)
    assert [before.rules.action(*each) for each in (("bash", "make"), ("edit", "a.py"))] == ["ask", "ask"]
    assert subagent is not None and not subagent.names_permission("task")
    assert [accepted.rules.action(*each) for each in (("bash", "make"), ("edit", "a.py"))] == ["allow", "allow"]


WORKS: list[dict[str, object]] = [
    {"default_agent": "mine", "agent": {"mine": {}}},
    {"default_agent": "auto"},
    {"agent": {"build": {"disable": True}}},
    {"agent": {"build": {"hidden": True}}},
    {"agent": {"build": {"mode": "subagent"}}},
    {"agent": {"yolo": {"mode": "primary"}}},
    {"command": {"go": {"template": "t", "agent": "auto"}}},
]


@pytest.mark.parametrize("theirs", WORKS, ids=json.dumps)
async def test_no_project_has_another_agent_work_that_asks_less(person: Person, theirs: dict[str, object]) -> None:
    user = {
        "agent": {
            "build": {"permission": {"bash": "ask"}},
            "auto": {"mode": "primary"},
            "yolo": {"mode": "subagent"},
        }
    }
    person.home.write("opencode.json", json.dumps(user), under=person.home.config)
    person.home.write("opencode.json", json.dumps(theirs))

    try:
        turn_config = await person.load()
    except UnknownAgent as error:
        assert "--agent" in str(error) and "build" in str(theirs)
    else:
        assert turn_config.rules.action("bash", "make") == "ask"


async def test_a_projects_narrower_allow_silences_no_question_of_ones_own(person: Person) -> None:
    wide = {"bash": {"*": "ask", "find *": "allow", "git *": "allow"}}
    narrow = {"bash": {"find * -delete*": "allow", "git clean*": "allow", "git push*": "allow"}}
    person.home.write("opencode.json", json.dumps({"permission": wide}), under=person.home.config)
    person.home.write("opencode.json", json.dumps({"permission": narrow}))
    judging = (await person.load()).rules

    for command, word in (("find . -delete", "-delete"), ("git clean -fdx", "clean"), ("git push -f", "push")):
        request = PermissionRequest(permission="bash", patterns=(command,), required_words=((word,),))
        assert judging.finding(request).action == "ask"
        assert "`holdfast trust`" in judging.reasons(request)[-1]


ACTIONS = st.sampled_from(["allow", "ask", "deny"])
TABLES: Final = st.dictionaries(
    st.sampled_from(["*", "bash", "edit", "read", "task"]),
    st.one_of(
        ACTIONS, st.dictionaries(st.sampled_from(["*", "git *", "git push*", "*.env", "a"]), ACTIONS, max_size=3)
    ),
    max_size=4,
)
SETTINGS: Final = st.fixed_dictionaries({"permission": TABLES})


def trees(always: str, *sometimes: str) -> st.SearchStrategy[Any]:
    agents = st.fixed_dictionaries({always: SETTINGS}, optional=dict.fromkeys(sometimes, SETTINGS))
    return st.fixed_dictionaries({"permission": TABLES, "agent": agents})


GRANT: Final = Grant(id=GrantId("g"), permission="bash", patterns=("git *",), author="me", time=datetime.now(UTC))
ASKED: Final = (
    PermissionRequest(permission="bash", patterns=("git push -f",), required_words=(("push",),)),
    PermissionRequest(permission="bash", patterns=("eval $x",), opaque="it is made at run time"),
    PermissionRequest(permission="bash", patterns=("git log",), changes=True),
    PermissionRequest(permission="read", patterns=("A.ENV",)),
    PermissionRequest(permission="edit", patterns=("a",)),
    PermissionRequest(permission="task", patterns=("mine",)),
)


@given(own=trees("build", "plan", "auto"), project=trees("mine", "build", "auto"), granted=st.booleans())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_project_makes_a_finding_looser(
    project_home: ProjectHome, own: JsonObject, project: JsonObject, *, granted: bool
) -> None:
    """Of one's own agents, of built-in ones, and of those that only the project has."""
    mine, theirs = (
        ConfigLayer(file=name, trusted=name == "/own", tree=normalize_permissions(tree))
        for name, tree in (("/own", own), (str(project_home.project / "opencode.json"), project))
    )
    alone, both = (
        check_trust(layers, project_home.workspace(), project_home.sources()) for layers in ((mine,), (mine, theirs))
    )
    live = [GRANT] if granted else []
    for agent in both.agents:
        known = agent in alone.agents
        before = alone.rulesets(agent if known else alone.choice.default)
        after = both.rulesets(agent)
        for request in ASKED:
            found = [each.finding(request, live).action.strictness for each in (before, after)]
            assert found[0] <= found[1], (agent, request)
        assert set(after.denials()) >= set(before.denials())
        assert not any(before.hides(each) and not after.hides(each) for each in ("bash", "edit", "read"))


async def test_what_becomes_easier_with_the_projects_rules_is_listed(person: Person) -> None:
    own = {"bash": {"*": "ask", "git *": "allow"}, "edit": "ask", "read": {"a": "deny"}}
    theirs = {"bash": {"git push*": "allow", "make *": "allow", "rm *": "deny"}, "edit": "deny"}
    person.home.write("opencode.json", json.dumps({"permission": own}), under=person.home.config)
    person.home.write("opencode.json", json.dumps({"permission": theirs}))
    home = person.home
    loader = ProjectLoader(home.home / "data", home.home / "tmp", home.managed, {}, home.sources())

    checked = await loader.check_trust(str(home.project), home.sources())

    assert [(agent, rule.pattern, rule.action.value, before) for agent, rule, before in checked.eased_rules()] == [
        ("build", "git push*", "allow", "allow, but asks about some words"),
        ("build", "make *", "allow", "ask"),
    ]


async def test_a_projects_server_waits_for_trust_and_takes_one_of_ones_own_away_at_once(person: Person) -> None:
    mine = {"type": "local", "command": ["mine"], "environment": {"TOKEN": "plain"}}
    theirs = {"type": "local", "command": ["theirs"]}
    person.home.write("opencode.json", json.dumps({"mcp": {"a": mine, "b": mine}}), under=person.home.config)
    person.home.write("opencode.json", json.dumps({"mcp": {"a": {"enabled": False}, "b": theirs, "c": theirs}}))

    before = await person.load()
    effects = [each.effect for each in (await person.content()).starts]
    await person.accept()
    accepted = await person.load()

    assert [each.field for each in before.held] == ["mcp.b", "mcp.c"]
    assert effects[1] == 'starts or reaches the server c, whose tools agents may use: type: local; command: ["theirs"]'
    assert {name: (each.command, each.enabled) for name, each in before.config.mcp.items()} == {
        "a": (("mine",), False),
        "b": (("mine",), True),
    }
    assert {name: each.command for name, each in accepted.config.mcp.items()} == {
        "a": ("mine",),
        "b": ("theirs",),
        "c": ("theirs",),
    }
    assert accepted.config.mcp["b"].environment == {}  # it is another server, and gets nothing of mine
    assert "plain" not in accepted.model_dump_json()
