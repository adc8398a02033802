"""From a command's text to its permission requests. The commands are only ever looked at, never run."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.files.place import Place
from activities.shell.parse import shell_requests
from tests import cases
from workflows.domain.errors import ToolError
from workflows.domain.ids import GrantId
from workflows.domain.permissions.defaults import build
from workflows.domain.permissions.findings import finding
from workflows.domain.permissions.grants import Grant, asked_rules, savable
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Rule, Ruleset, from_config

ALLOW, ASK, DENY = Action.ALLOW, Action.ASK, Action.DENY
FILES = """README.md a.txt big.txt package.json VICTIM.txt .env .env.example sub/x src/a.txt bin/ls evil evil.sh
    evil.awk evil.mk evil.so rgrc magic a.tar pyevil/x gitexec/x evilrepo/.git/config .git/config"""
ABSENT = {  # what a policy does not mention (cases/README.md)
    "bash": {"*": "ask"},
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
    "edit": {"*": "ask"},
    "external_directory": {"*": "ask"},
}
PLAIN = ["ls", "ls -la", "pwd", "git status", "rm -f VICTIM.txt", "cat README.md", "echo hi", "touch new"]


@dataclass(frozen=True)
class World:
    """A project with things beside it, below a scratch directory that the cases call `/`."""

    root: Path
    place: Place

    def requests(self, command: str, workdir: str = ".") -> tuple[PermissionRequest, ...]:
        there = (self.place.directory / workdir).resolve()
        moved = command.replace("/ws/", f"{self.root}/ws/")
        return shell_requests(moved, there, self.place, home=self.place.home).requests

    def shown(self, texts: tuple[str, ...]) -> list[str]:
        return [text.replace(f"{self.root}/", "/") for text in texts]

    def defaults(self, **config: str | Mapping[str, str]) -> Ruleset:
        own = from_config({name: _actions(value) for name, value in config.items()}, str(self.place.home))
        return build(own, data=self.place.data, temporary=self.place.temporary)

    def policy(self, name: str) -> Ruleset:
        written = {key: value for key, value in cases.document("policies")[name].items() if key != "note"}
        entries = {**{key: value for key, value in ABSENT.items() if key not in written}, **written}
        return from_config({key: _actions(value) for key, value in entries.items()}, str(self.place.home))

    def verdict(self, command: str, rules: Ruleset, grants: tuple[Grant, ...] = ()) -> Action:
        try:
            requests = self.requests(command)
        except ToolError:
            return DENY
        found = [finding(request, rules, grants).action for request in requests]
        return max(found, key=lambda action: action.strictness, default=ALLOW)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("world").resolve()
    project, home = root / "ws" / "proj", root / "home" / "u"
    for name in FILES.split():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x\n")
    (project / "link_to_env").symlink_to(".env")
    (root / "ws" / "ext" / "sub").mkdir(parents=True)
    (root / "ws" / "ext" / "f.txt").write_text("x\n")
    home.mkdir(parents=True)
    return World(root, Place(project, project, data=root / "data", home=home, temporary=Path("/tmp")))


@pytest.mark.parametrize("case", cases.load("bash_permission"))
def test_commands_are_asked_about_as_in_opencode_but_by_structure(world: World, case: cases.Case) -> None:
    if case.holdfast is not None:
        _assert_sentence(world, case.input["command"], case.holdfast)
        return
    asked = _asked(world, case.input["command"], case.input.get("workdir", "."))
    assert [
        {
            "permission": request.permission,
            "patterns": world.shown(request.patterns),
            "always": world.shown(request.always),
        }
        for request in asked
    ] == case.expected["requests"]


@pytest.mark.parametrize("case", cases.load("bash_bypass", policies="must_not_be_auto_allowed_under"))
def test_a_trick_is_not_allowed(world: World, case: cases.Case) -> None:
    verdict = world.verdict(case.input["command"], world.policy(str(case.policy)))
    assert verdict is DENY or (verdict, case.expected) == (ASK, "ask")


@pytest.mark.parametrize("case", cases.load("bash_benign"))
def test_ordinary_commands_pass_without_a_question(world: World, case: cases.Case) -> None:
    verdict = world.verdict(case.input["command"], world.policy(case.input["policy"]))
    assert verdict in case.expected.split("|")


@pytest.mark.parametrize("case", cases.load("always_patterns"))
def test_what_was_saved_does_not_cover_something_else(world: World, case: cases.Case) -> None:
    before = re.fullmatch(r"(?:session A: always )?(?!mcp:|webfetch |subagent: )(.*)", case.input["approved"], re.S)
    after = re.fullmatch(r"(session B: )?(.*)", case.input["must_still_ask"], re.S)
    assert before is not None
    assert after is not None
    grants = () if after[1] else _saved(world, before[1])
    assert world.verdict(after[2], world.defaults(bash="ask"), grants) is ASK
    if case.input["may_save"] == "nothing":
        assert not any(grant.patterns for grant in _saved(world, before[1]))


def test_a_saved_command_passes_the_next_time(world: World) -> None:
    rules = world.defaults(bash="ask")
    assert world.verdict("npm run test -- -v", rules, _saved(world, "npm run test")) is ALLOW


@pytest.mark.parametrize(
    "command",
    ["", "  \n", "# only a comment", "ls \0", "ls \ud800", "x" * 33_000, "echo $(" * 70 + ")" * 70, "eval " * 300],
)
def test_what_is_no_command_is_refused(world: World, command: str) -> None:
    with pytest.raises(ToolError):
        world.requests(command)


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q && ruff check .",
        'python -c "print(1)"',
        "export A=1; make $TARGET",
        "for f in *.py; do cat $f; done",
        "npm run build > build.log 2>&1",
        "bash -c 'ls | wc -l'",
        "cd sub && cat ../README.md",
        "git log --format='%h %s' | head -5",
        "cat <<'EOF' > notes.txt\nsome $text\nEOF",
        "sed -n 1,5p README.md",
        "sed -i s/a/b/ README.md",
        'if [ -f a.txt ]; then echo "$(date)"; fi',
        "unterminated 'quote",
    ],
)
def test_the_default_rules_ask_nothing_about_work_inside_the_project(world: World, command: str) -> None:
    assert world.verdict(command, world.defaults()) is ALLOW


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("cat .env", ASK),
        ("cat sub/../.env", ASK),
        ("cat link_to_env", ASK),
        ("cat /ws/ext/f.txt", ASK),
        ("echo x > .git/hooks/pre-commit", ASK),
        ("rm opencode.json", ASK),
        ("cat .env.example", ALLOW),
    ],
)
def test_the_default_rules_ask_about_secrets_protected_files_and_other_places(
    world: World, command: str, action: Action
) -> None:
    assert world.verdict(command, world.defaults()) is action


def test_a_redirection_is_an_edit_or_a_read_of_its_target(world: World) -> None:
    found = {request.permission: request.patterns for request in world.requests("sort < a.txt > out/b.txt 2>/dev/null")}
    assert (found["edit"], found["read"]) == (("out/b.txt",), ("a.txt",))


def test_words_behind_a_redirection_belong_to_the_command(world: World) -> None:
    rules = world.defaults(bash={"*": "ask", "find *": "allow", "find * -delete": "deny"})
    assert world.verdict("find . > /dev/null -delete", rules) is DENY


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("rm -f a.txt src/a.txt", ("a.txt", "src/a.txt")),
        ("cp a.txt b.txt", ("b.txt",)),
        ("chmod +x evil.sh", ("evil.sh",)),
        ("dd if=a.txt of=new.img", ("new.img",)),
        ("sed -i s/x/y/ a.txt", ("a.txt",)),
        ("sed -n p a.txt", ()),
        ("rm *.txt", ("VICTIM.txt", "a.txt", "big.txt")),
    ],
)
def test_the_known_writers_are_edits_of_their_operands(world: World, command: str, written: tuple[str, ...]) -> None:
    edits = (request for request in world.requests(command) if request.permission == "edit")
    assert tuple(pattern for edit in edits for pattern in edit.patterns) == written


def test_a_protected_target_is_a_request_of_its_own_that_nothing_saves(world: World) -> None:
    edits = [request for request in world.requests("cp a.txt .npmrc") if request.permission == "edit"]
    assert [(edit.patterns, edit.guarded, edit.always) for edit in edits] == [((".npmrc",), True, ())]


def test_after_cd_words_are_judged_from_there(world: World) -> None:
    assert _outside(world, "cd sub && cat ../README.md") == ()
    assert _outside(world, "cd sub && cat ../../ext/f.txt") == ("/ws/ext/*",)
    assert _outside(world, "cd /ws/ext && cat f.txt") == ("/ws/ext/*",)
    assert _outside(world, "ls; cd sub || cat ../ext/f.txt") == ("/ws/ext/*",)


def test_a_home_directory_is_shown_but_never_saved(world: World) -> None:
    (request,) = (each for each in world.requests("cat ~/x") if each.permission == "external_directory")
    assert world.shown(request.always) == ["/home/u/*"]
    assert savable(request, world.defaults()) == ()


def test_variables_that_we_set_are_known_unless_the_text_sets_them(world: World) -> None:
    assert world.verdict("cat $PWD/README.md", world.policy("cat*-allow")) is ALLOW
    assert world.verdict("for PWD in /etc; do cat $PWD/x; done", world.policy("cat*-allow")) is ASK


def test_more_commands_than_can_be_judged_are_asked_about_and_still_denied(world: World) -> None:
    many = "ls\n" * 600
    assert world.verdict(many, world.policy("ls*-allow")) is ASK
    assert world.verdict(many + "rm x", world.policy("rm-deny")) is DENY


@given(text=st.text(alphabet=st.sampled_from("ls rm$(){}[]<>|&;'\"\\\n~*?=#!`-ax1/."), max_size=60))
@settings(max_examples=150, deadline=None)
def test_every_text_is_judged_or_refused_and_always_the_same_way(world: World, text: str) -> None:
    def judged() -> object:
        try:
            return world.requests(text)
        except ToolError as error:
            return str(error)

    assert judged() == judged()


@given(
    first=st.sampled_from(PLAIN), second=st.sampled_from(PLAIN), between=st.sampled_from(["; ", " && ", " | ", "\n"])
)
def test_a_list_gets_the_stricter_verdict_of_its_parts(world: World, first: str, second: str, between: str) -> None:
    rules = world.defaults(bash={"*": "ask", "ls *": "allow", "rm *": "deny", "echo *": "allow"})
    verdicts = [world.verdict(command, rules) for command in (first, second)]
    assert world.verdict(first + between + second, rules) is max(verdicts, key=lambda each: each.strictness)


@given(
    command=st.sampled_from(PLAIN),
    form=st.sampled_from(
        ["true && {}", "timeout 5 {}", "({})", "{{ {}; }}", "env {}", "bash -c '{}'", "\\{}", "sudo -u x {}", "! {}"]
    ),
    name=st.sampled_from(["rm-deny", "ls*-allow", "readonly-allowlist"]),
)
def test_no_dress_lowers_a_verdict(world: World, command: str, form: str, name: str) -> None:
    rules = world.policy(name)
    plain, dressed = world.verdict(command, rules), world.verdict(form.format(command), rules)
    assert dressed.strictness >= plain.strictness


def _asked(world: World, command: str, workdir: str = ".") -> list[PermissionRequest]:
    rules = world.defaults(bash="ask", external_directory="ask")
    return [request for request in world.requests(command, workdir) if finding(request, rules).action is ASK]


def _outside(world: World, command: str) -> tuple[str, ...]:
    found = (request for request in world.requests(command) if request.permission == "external_directory")
    return tuple(pattern for request in found for pattern in world.shown(request.patterns))


def _saved(world: World, command: str) -> tuple[Grant, ...]:
    rules, time = world.defaults(bash="ask"), datetime(2026, 1, 1, tzinfo=UTC)
    return tuple(
        Grant(
            id=GrantId("gra_1"),
            permission=request.permission,
            patterns=savable(request, rules),
            author="ada",
            time=time,
            asked=asked_rules(request, rules),
        )
        for request in world.requests(command)
        if finding(request, rules).action is ASK
    )


def _actions(value: Any) -> Action | dict[str, Action]:
    return Action(value) if isinstance(value, str) else {key: Action(each) for key, each in value.items()}


def _assert_sentence(world: World, command: str, sentence: str) -> None:
    if sentence.startswith("refused"):
        with pytest.raises(ToolError):
            world.requests(command)
        return
    checks = [check for phrase, check in SENTENCES.items() if phrase in sentence]
    assert checks, f"the sentence {sentence!r} says nothing that can be checked"
    assert all(check(world, command) for check in checks)


def _bash(world: World, command: str) -> PermissionRequest:
    return next(request for request in _asked(world, command) if request.permission == "bash")


def _saves_nothing(world: World, command: str) -> bool:
    return not any(savable(request, world.defaults(bash="ask")) for request in [_bash(world, command)])


def _asks_outside(world: World, command: str) -> bool:
    return any(request.permission == "external_directory" for request in _asked(world, command))


def _asks_as_a_whole(world: World, command: str) -> bool:
    request = _bash(world, command)
    return world.shown(request.patterns) == [command] and request.always == ()


def _judges_inside(world: World, command: str) -> bool:
    request = _bash(world, command)
    return bool(request.spellings) or request.opaque is not None


def _judges_the_file(world: World, command: str) -> bool:
    return any(request.permission == "edit" for request in world.requests(command))


def _is_denied_as_rm(world: World, command: str) -> bool:
    rm = Rule(permission="bash", pattern="rm *", action=DENY)
    return world.verdict(command, (*world.defaults(bash="ask"), rm)) is DENY


def _saves_no_root(world: World, command: str) -> bool:
    return not any(savable(request, world.defaults(bash="ask")) for request in _asked(world, command))


SENTENCES: dict[str, Callable[[World, str], bool]] = {
    "the inner command is judged too": _judges_inside,
    "nothing is saved for": _saves_nothing,
    "the written file is judged by the edit rules": _judges_the_file,
    "external_directory is asked": _asks_outside,
    "external_directory for the home directory, or the whole text": lambda world, command: (
        _asks_outside(world, command) or _asks_as_a_whole(world, command)
    ),
    "the whole text is asked about": _asks_as_a_whole,
    'a rule for "rm *" applies': _is_denied_as_rm,
    "neither /* nor rm * is saved": _saves_no_root,
}
