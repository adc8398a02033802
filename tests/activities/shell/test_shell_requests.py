"""From a command's text to its permission requests. The commands never run."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import cases
from tests.activities.shell.checker import ALLOW, ASK, DENY, CommandChecker
from workflows.domain.errors import ToolError
from workflows.domain.permissions.findings import evaluate_request
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets

ORDINARY = (Path(__file__).parents[2] / "data" / "ordinary_commands.txt").read_text("utf-8").splitlines()
READING = """ls cat head tail sed nl wc find grep rg awk cut sort uniq tr diff tree stat file du which jq echo date
    printf test [ basename pwd"""
WORKING = "pytest python python3 ruff mypy npm node cargo go make true timeout time"
GIT = "status diff log show branch rev-parse ls-files blame stash remote tag describe grep shortlog add commit fetch"
UNKNOWN_TARGETS = [
    f"echo x {operator} {target}"
    for operator in (">", "2>", "&>", ">&", ">|", ">>", "&>>", "<", "{fd}>")
    for target in (
        '"/dev/tcp/$H/80"',
        "/etc/$F",
        '"$F"',
        "$F",
        "src/$F",
        '"${F:-/dev/sda}"',
        "${F[0]}",
        "/dev/sd{a..b}",
    )
]
PLAIN = ["ls", "ls -la", "pwd", "git status", "rm -f VICTIM.txt", "cat README.md", "echo hi", "touch new"]


@pytest.mark.parametrize("case", cases.load("bash_permission"))
def test_commands_are_asked_about_as_in_opencode_but_by_structure(checker: CommandChecker, case: cases.Case) -> None:
    if case.holdfast is not None:
        _assert_sentence(checker, case.input["command"], case.holdfast)
        return
    asked = _asked(checker, case.input["command"], case.input.get("workdir", "."))
    assert [
        {
            "permission": request.permission,
            "patterns": checker.shown(request.patterns),
            "always": checker.shown(request.always),
        }
        for request in asked
    ] == case.expected["requests"]


@pytest.mark.parametrize("case", cases.load("bash_bypass", policies="must_not_be_auto_allowed_under"))
def test_a_trick_is_not_allowed(checker: CommandChecker, case: cases.Case) -> None:
    verdict = checker.verdict(case.input["command"], checker.policy(str(case.policy)))
    assert verdict is DENY or (verdict, case.expected) == (ASK, "ask")


@pytest.mark.parametrize("case", cases.load("bash_benign"))
def test_ordinary_commands_pass_without_a_question(checker: CommandChecker, case: cases.Case) -> None:
    verdict = checker.verdict(case.input["command"], checker.policy(case.input["policy"]))
    assert verdict in case.expected.split("|")


@pytest.mark.parametrize(
    "command",
    ["", "  \n", "# only a comment", "ls \0", "ls \ud800", "x" * 33_000, "echo $(" * 70 + ")" * 70, "eval " * 300],
)
def test_text_that_is_no_command_is_refused(checker: CommandChecker, command: str) -> None:
    with pytest.raises(ToolError):
        checker.requests(command)


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
def test_the_default_rules_ask_nothing_about_work_inside_the_project(checker: CommandChecker, command: str) -> None:
    assert checker.verdict(command, checker.defaults()) is ALLOW


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
    checker: CommandChecker, command: str, action: Action
) -> None:
    assert checker.verdict(command, checker.defaults()) is action


@pytest.mark.parametrize(
    "command",
    [
        "echo x > /dev/sda",
        "echo x > /dev/tcp/127.0.0.1/9",
        "cd /dev && echo x > sda",
        "cat < /dev/mem",
        "tee /dev/sda < a.txt",
        "echo x > /proc/self/oom_score_adj",
        "echo x > /proc/sysrq-trigger",
        "cat /proc/1/environ",
        "cat <> .git/config",
        "echo x 3<> a.txt",
        "if true; then cat <\\\n> a.txt; fi",
        "bash -c 'cat <> a.txt'",
        *UNKNOWN_TARGETS,
        'echo x > "/proc/$P/oom_score_adj"',
        'wc -c < "/proc/$P/environ"',
        'git log > ".git/hooks/$N"',
        'for d in sda; do echo x > "/dev/$d"; done',
        'for F in src/a; do git log > "$F"; done',
        "for F in ../../.bashrc; do git log --format=evil > $F; done",
        "F=.git/config; echo x > src/../$F",
        'while read -r line; do echo "$line"; done < "$F"',
        'exec > "$F"',
        'cat <<EOF > "$F"\nx\nEOF',
        "f() { date > $F; }; f",
        "echo x > .[[:alpha:]]it/config",
        "cat < *.txt",
        "echo x > ~root/.bashrc",
        "echo x > ~+/config",
        'echo x > $"a.txt"',
        "echo x > /dev/sd$((1))",
        'echo x > "$(date)"',
        "bash -c 'echo x > \"/dev/$D\"'",
        'bash -c "echo x > /dev/$D"',
        'bash -c "echo $D > /dev/sda"',
        'eval "echo x > /dev/$D"',
        "find . -exec sh -c 'date > $1' _ {} ;",
        'cd "$D" && echo x > sda',
        "cd .g?t && echo x > config",
        'cd "$D" && echo x > $PWD/sda',
        "cd \"$D\" && bash -c 'echo x > sda'",
        "for i in 1 2; do echo x > config; cd .git; done",
        "for i in 1 2; do echo x > $PWD/config; cd .git; done",
        "cd .git && pushd .. && popd && echo x > config",
        "command cd .git && echo x > config",
        "eval 'cd .git' && echo x > config",
        "f() { echo x > config; cd .git; }; f; f",
        "trap 'cd .git' DEBUG; echo evil > config",
        "source <(echo cd .git); echo evil > config",
        "time cd .git; echo evil > config",
        "cd=cd; $cd .git; echo evil > config",
        "shopt -s cdable_vars; d=$PWD/.git; cd d; echo evil > config",
        "shopt -s extglob\necho evil > ./@(.git)/config",
        "[ a > .git/config ]",
        "env -C .git bash -c 'echo evil > config'",
        "env -u X --chdir=.git tee config",
        'env -C "$D" bash -c "echo evil > config"',
        "env -iC .git bash -c 'echo evil > config'",
        "env --chd=.git bash -c 'echo evil > config'",
        """timeout 5 sh -c 'echo x > f'; cd "$X"; timeout 5 sh -c 'echo x > f'""",
        "CDPATH=.git; cd hooks && echo x > pre-commit",
        "HOME=/dev; echo x > ~/sda",
        "HOME=.git; cd && echo x > config",
        'cp a.txt "/dev/$X"',
        'tee "/dev/$X"',
        'tee "/d${x}ev/sda"',
        'tee "/d$X"',
        "tee ../../../../../../../../../../dev/$X",
        'cat "/proc/$P/environ"',
        "cat /proc/$((1))/environ",
        "cat /proc/{1..2}/environ",
        'cat "/proc/${P:-1}/environ"',
        'dd "of=/dev/$X"',
        'sort --output="/dev/$X" a.txt',
        'timeout 5 tee "/dev/$X"',
        'cp a.txt ".git/hooks/$N"',
        'cp a.txt ".git${x}/hooks/post-merge"',
        'cp a.txt ".gi$t/hooks/post-merge"',
        'cp a.txt "$d/AGENTS.md"',
        "cp a.txt {.git,.git}/hooks/$((1))",
        "rm -rf ./x # \x1b[2K harmless",
        "echo a\rrm -rf ./x",
        "echo \u202eharmless",
        "echo zero\u200bwidth",
        "ls\n" * 600,
        "( " * 30 + "ls" + " )" * 30,
        " ".join(f"[ -d s{number} ] && cd s{number};" for number in range(14)) + " make",
        "; ".join(f"cat n{number} " + "{a,b}" * 9 for number in range(50)),
    ],
)
@pytest.mark.parametrize("rules", ["the built-in rules", "everything is allowed"])
def test_no_configuration_overrides_what_must_always_ask(checker: CommandChecker, command: str, rules: str) -> None:
    allowing = checker.defaults() if rules == "the built-in rules" else checker.defaults(**{"*": "allow"})
    assert checker.verdict(command, allowing) is ASK
    request = next(each for each in checker.requests(command) if each.guarded)
    assert request.opaque is not None or request.permission == "edit"
    assert Rulesets.of(allowing).savable_patterns(request) == ()
    assert checker.verdict(command, allowing, checker.saved(command)) is ASK


@pytest.mark.parametrize(
    "command",
    [
        'cd "$D" && make > /dev/null 2>&1',
        '(cd "$D" && make); date > log',
        'd=$(cd "$D" && pwd); date > log',
        "for f in a b; do make $f > log 2>&1; done",
        "cd sub && date > log",
        "echo $x > a.txt",
        'cat "src/$f"',
        'sed -i "/$x/d" a.txt',
        'grep "/$x" a.txt',
        'mkdir -p "build/$x"',
        'for f in a b; do mv "$f" "$f.bak"; done',
    ],
)
def test_unknown_text_asks_nothing_where_everything_is_allowed(checker: CommandChecker, command: str) -> None:
    assert checker.verdict(command, checker.defaults(**{"*": "allow"})) is ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "echo x > /dev/stderr",
        "ls > /dev/null 2>&1",
        "date | tee /dev/stderr",
        "head -c 32 /dev/urandom | base64",
        "head -c 32 < /dev/random",
        "dd if=/dev/zero of=a.txt bs=1 count=1",
        "date | tee /dev/tty > /dev/full",
        "curl -so/dev/null http://example.test",
    ],
)
def test_streams_and_devices_that_hold_nothing_are_asked_about_by_nobody(checker: CommandChecker, command: str) -> None:
    assert checker.verdict(command, checker.defaults()) is ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "cat /dev/zero",
        "mv a.txt /dev/zero",
        "ln -sf a.txt /dev/null",
        "unlink /dev/null",
        "shred --remove /dev/full",
        "find /dev/tty -delete",
        "head -c 1 /dev/urandom2 /dev/zero/x",
        "echo x > /dev/tty1",
    ],
)
def test_whatever_could_replace_them_is_asked_about(checker: CommandChecker, command: str) -> None:
    assert checker.verdict(command, checker.defaults()) is ASK


def test_a_joiner_inside_an_emoji_is_seen_and_one_elsewhere_is_not(checker: CommandChecker) -> None:
    allowing = checker.defaults(bash="allow")
    assert checker.verdict("echo 👩\u200d👩\u200d👧", allowing) is ALLOW
    assert checker.verdict("echo 👩\u200dx", allowing) is ASK
    assert checker.verdict("r\u200dm x", allowing) is ASK


def test_a_file_opened_for_reading_and_writing_counts_as_written(checker: CommandChecker) -> None:
    assert checker.verdict("cat <> a.txt", checker.defaults(bash="allow", edit={"*": "allow", "a.txt": "deny"})) is DENY


@pytest.mark.parametrize(
    "command",
    [
        "cd .git && echo x > config",
        "true && cd .git && echo x > config",
        "cd .git && date | tee log > config",
        "cd sub && cat < ../.env",
        "if true; then cd .git && echo x > config; fi",
    ],
)
def test_a_redirection_behind_a_change_of_directory_leads_from_there(checker: CommandChecker, command: str) -> None:
    assert checker.verdict(command, checker.defaults()) is ASK


def test_a_process_is_asked_about_under_the_name_that_the_command_gives_it(checker: CommandChecker) -> None:
    assert checker.outside("cat /proc/self/environ") == ("/proc/self/*",)


@pytest.mark.parametrize(
    ("command", "bash", "reason"),
    [
        ("git checkout main", {"*": "ask", "git *": "allow"}, "no rule that allows it names 'checkout'"),
        ("git push", {"*": "allow", "git push *": "ask"}, "the rule 'bash: git push *' says ask"),
        ("touch x", "allow", "it may change something, and a rule denies edits"),
        ("head -c 3 /dev/sda", {"*": "allow"}, "it cannot be checked, whatever rules allow"),
    ],
)
def test_an_ask_states_its_reason(checker: CommandChecker, command: str, bash: Any, reason: str) -> None:
    rules = checker.defaults(bash=bash, edit={"*": "deny"} if bash == "allow" else "allow")
    request = next(each for each in checker.requests(command) if each.permission == "bash")
    assert evaluate_request(request, rules).action is ASK
    assert Rulesets.of(rules).reasons(request) == (reason,)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo $(date)", "It uses command substitution, so it cannot be checked."),
        ("A=1", "It sets variables, so it cannot be checked."),
        ("eval ls", "'eval' changes the shell; 'eval' runs other commands, so it cannot be checked."),
        ("make $X", "An argument of 'make' is only known at run time, so it cannot be checked."),
        ("echo zero\u200bwidth", "It contains invisible characters (U+200B), so it cannot be checked."),
        (
            "cd -; A=1",
            "It changes to a directory that is only known at run time; it sets variables, so it cannot be checked.",
        ),
    ],
)
def test_a_command_that_cannot_be_checked_states_why_in_a_plain_sentence(
    checker: CommandChecker, command: str, why: str
) -> None:
    assert [each.opaque for each in checker.requests(command) if each.permission == "bash"] == [why]


@pytest.mark.parametrize("policy", ["plan", "readonly-allowlist", "git*-allow", "env-deny", "the built-in rules"])
def test_every_question_has_a_reason(checker: CommandChecker, policy: str) -> None:
    rules = checker.defaults() if policy == "the built-in rules" else checker.policy(policy)
    tricks = [case.input["command"] for case in cases.entries("bash_bypass")]
    for command in (*ORDINARY, *tricks):
        for request in _requested(checker, command):
            if evaluate_request(request, rules).action is ASK:
                assert Rulesets.of(rules).reasons(request), (command, request)


def test_ordinary_work_asks_nothing_neither_by_default_nor_under_a_careful_table(checker: CommandChecker) -> None:
    patterns = [f"{name} *" for name in (READING + " " + WORKING).split()] + [f"git {name} *" for name in GIT.split()]
    bash = {"*": "ask", **dict.fromkeys(patterns, "allow")}
    careful = checker.defaults(bash=bash, read={"*": "allow", "*.env": "deny", "*.env.example": "allow"})
    assert [command for command in ORDINARY if checker.verdict(command, checker.defaults()) is not ALLOW] == []
    assert [command for command in ORDINARY if checker.verdict(command, careful) is not ALLOW] == []


def test_words_behind_a_redirection_belong_to_the_command(checker: CommandChecker) -> None:
    rules = checker.defaults(bash={"*": "ask", "find *": "allow", "find * -delete": "deny"})
    assert checker.verdict("find . > /dev/null -delete", rules) is DENY


def test_a_rule_that_names_it_allows_what_a_broad_one_does_not(checker: CommandChecker) -> None:
    broad = {"*": "ask", "git *": "allow", "find *": "allow"}
    named = {**broad, "git clean *": "allow", "find * -delete": "allow"}
    for command in ("git clean -fd", "find . -delete"):
        assert checker.verdict(command, checker.defaults(bash=broad)) is ASK
        assert checker.verdict(command, checker.defaults(bash=named)) is ALLOW


@pytest.mark.parametrize("command", ["touch x", "make", "npm test", "git commit -m x", "unknown-program"])
def test_an_agent_that_may_edit_nothing_asks_for_what_is_not_known_as_reading(
    checker: CommandChecker, command: str
) -> None:
    rules = checker.defaults(bash="allow", edit={"*": "deny", "plans/*": "allow"})
    assert checker.verdict(command, rules) is not ALLOW
    assert checker.verdict("git log -3 | head", rules) is ALLOW


def test_a_home_directory_is_shown_but_never_saved(checker: CommandChecker) -> None:
    (request,) = (each for each in checker.requests("cat ~/x") if each.permission == "external_directory")
    assert checker.shown(request.always) == ["/home/u/*"]
    assert Rulesets.of(checker.defaults()).savable_patterns(request) == ()


@pytest.mark.parametrize(
    "command",
    [
        "cat > $TMPDIR/try.py <<'END'\nprint(1)\nEND\npython3 $TMPDIR/try.py",
        'cd "$TMPDIR" && mkdir -p a/b && echo x > a/b/c && ls -la . && rm -r a',
        "ls $TMPDIR; diff $TMPDIR/a README.md",
        "cat ${TMPDIR}/*.log",
    ],
)
def test_what_is_only_tried_out_asks_nothing(checker: CommandChecker, command: str) -> None:
    assert checker.verdict(command, checker.defaults()) is ALLOW


def test_variables_that_we_set_are_known_unless_the_text_sets_them(checker: CommandChecker) -> None:
    assert checker.verdict("cat $PWD/README.md", checker.policy("cat*-allow")) is ALLOW
    assert checker.outside("cat $TMPDIR/no-such-file") == ("/tmp/opencode/*",)
    assert checker.verdict("TMPDIR=/etc; cat $TMPDIR/x", checker.policy("cat*-allow")) is ASK
    assert checker.verdict("for PWD in /etc; do cat $PWD/x; done", checker.policy("cat*-allow")) is ASK


def test_more_commands_than_can_be_judged_are_asked_about_and_still_denied(checker: CommandChecker) -> None:
    many = "ls\n" * 600
    assert checker.verdict(many, checker.policy("ls*-allow")) is ASK
    assert checker.verdict(many + "rm x", checker.policy("rm-deny")) is DENY


@given(text=st.text(alphabet=st.sampled_from("ls rm$(){}[]<>|&;'\"\\\n~*?=#!`-ax1/."), max_size=60))
@settings(max_examples=150, deadline=None)
def test_every_text_is_judged_or_refused_and_always_the_same_way(checker: CommandChecker, text: str) -> None:
    def judged() -> object:
        try:
            return checker.requests(text)
        except ToolError as error:
            return str(error)

    assert judged() == judged()


@given(
    first=st.sampled_from(PLAIN), second=st.sampled_from(PLAIN), between=st.sampled_from(["; ", " && ", " | ", "\n"])
)
def test_a_list_gets_the_stricter_verdict_of_its_parts(
    checker: CommandChecker, first: str, second: str, between: str
) -> None:
    rules = checker.defaults(bash={"*": "ask", "ls *": "allow", "rm *": "deny", "echo *": "allow"})
    verdicts = [checker.verdict(command, rules) for command in (first, second)]
    assert checker.verdict(first + between + second, rules) is max(verdicts, key=lambda each: each.strictness)


@given(
    command=st.sampled_from(PLAIN),
    form=st.sampled_from(
        ["true && {}", "timeout 5 {}", "({})", "{{ {}; }}", "env {}", "bash -c '{}'", "\\{}", "sudo -u x {}", "! {}"]
    ),
    name=st.sampled_from(["rm-deny", "ls*-allow", "readonly-allowlist"]),
)
def test_no_dress_lowers_a_verdict(checker: CommandChecker, command: str, form: str, name: str) -> None:
    rules = checker.policy(name)
    plain, dressed = checker.verdict(command, rules), checker.verdict(form.format(command), rules)
    assert dressed.strictness >= plain.strictness


def _requested(checker: CommandChecker, command: str) -> tuple[PermissionRequest, ...]:
    try:
        return checker.requests(command)
    except ToolError:
        return ()


def _asked(checker: CommandChecker, command: str, workdir: str = ".") -> list[PermissionRequest]:
    rules = checker.defaults(bash="ask", external_directory="ask")
    return [request for request in checker.requests(command, workdir) if evaluate_request(request, rules).action is ASK]


def _assert_sentence(checker: CommandChecker, command: str, sentence: str) -> None:
    if sentence.startswith("refused"):
        with pytest.raises(ToolError):
            checker.requests(command)
        return
    checks = [check for phrase, check in SENTENCES.items() if phrase in sentence]
    assert checks, f"the sentence {sentence!r} says nothing that can be checked"
    assert all(check(checker, command) for check in checks)


def _bash(checker: CommandChecker, command: str) -> PermissionRequest:
    return next(request for request in _asked(checker, command) if request.permission == "bash")


def _saves_nothing(checker: CommandChecker, command: str) -> bool:
    return not any(
        Rulesets.of(checker.defaults(bash="ask")).savable_patterns(request) for request in [_bash(checker, command)]
    )


def _asks_outside(checker: CommandChecker, command: str) -> bool:
    return any(request.permission == "external_directory" for request in _asked(checker, command))


def _asks_as_a_whole(checker: CommandChecker, command: str) -> bool:
    request = _bash(checker, command)
    return checker.shown(request.patterns) == [command] and request.always == ()


def _judges_inside(checker: CommandChecker, command: str) -> bool:
    request = _bash(checker, command)
    return bool(request.spellings) or request.opaque is not None


def _judges_the_file(checker: CommandChecker, command: str) -> bool:
    return any(request.permission == "edit" for request in checker.requests(command))


def _is_denied_as_rm(checker: CommandChecker, command: str) -> bool:
    rm = Rule(permission="bash", pattern="rm *", action=DENY)
    return checker.verdict(command, (*checker.defaults(bash="ask"), rm)) is DENY


def _saves_no_root(checker: CommandChecker, command: str) -> bool:
    return not any(
        Rulesets.of(checker.defaults(bash="ask")).savable_patterns(request) for request in _asked(checker, command)
    )


COMMANDS = [each for each in cases.load("always_patterns") if "'approved': 'webfetch" not in str(each.values)]

SENTENCES: dict[str, Callable[[CommandChecker, str], bool]] = {
    "the inner command is judged too": _judges_inside,
    "nothing is saved for": _saves_nothing,
    "the written file is judged by the edit rules": _judges_the_file,
    "external_directory is asked": _asks_outside,
    "external_directory for the home directory, or the whole text": lambda checker, command: (
        _asks_outside(checker, command) or _asks_as_a_whole(checker, command)
    ),
    "the whole text is asked about": _asks_as_a_whole,
    'a rule for "rm *" applies': _is_denied_as_rm,
    "neither /* nor rm * is saved": _saves_no_root,
}


@pytest.mark.parametrize("case", COMMANDS)
def test_what_was_saved_does_not_cover_something_else(checker: CommandChecker, case: cases.Case) -> None:
    before = re.fullmatch(r"(?:(?:session A|subagent): always )?(?!mcp:)(.*)", case.input["approved"], re.S)
    after = re.fullmatch(r"(session B: |parent: )?(.*)", case.input["must_still_ask"], re.S)
    assert before is not None
    assert after is not None
    grants = () if after[1] else checker.saved(before[1])
    assert checker.verdict(after[2], checker.defaults(bash="ask"), grants) is ASK
    if case.input["may_save"] == "nothing":
        assert not any(grant.patterns for grant in checker.saved(before[1]))


def test_a_saved_command_passes_the_next_time(checker: CommandChecker) -> None:
    rules = checker.defaults(bash="ask")
    assert checker.verdict("npm run test -- -v", rules, checker.saved("npm run test")) is ALLOW


def test_always_saves_the_required_words_and_covers_no_other_form(checker: CommandChecker) -> None:
    rules = checker.defaults(bash="ask")
    assert checker.verdict("grep --strange x a.txt", rules, checker.saved("grep x a.txt")) is ASK
    assert checker.verdict("grep --strange x a.txt", rules, checker.saved("grep --strange x a.txt")) is ALLOW
    assert checker.verdict("git push other", rules, checker.saved("git push origin")) is ALLOW
