"""A program's commands that need no rule."""

import pytest

from activities.shell.shell_requests import shell_requests
from activities.turn_context import TurnContext
from tests.activities.shell.checker import ALLOW, ASK, DENY, CommandChecker

STRICT = ["-e", "-eu", "-euo pipefail", "-eo pipefail -u", "-o errexit -o nounset", "+e", "+x", "+xo pipefail", "'-e'"]
TRACED = ["-x", "-ex", "-euxo pipefail", "-o xtrace"]
CHANGING = [
    *(
        "-f",
        "-k",
        "-a",
        "-n",
        "-t",
        "-v",
        "-p",
        "-r",
        "-E",
        "-T",
        "-H",
        "+B",
        "-ef",
        "-euf",
        "--",
        "-",
        "a",
        "-o",
        "+o",
        "-eo",
    ),
    *("$X", "-e$X", "-[eu]", "-{e,f}", "-e\\f", "-e\\\nf", '-e "$@"', "-e $(echo -f)"),
    *("-- a", "-e a", "-e --", "-e -", "-e -o", "-o posix", "+o posix", "-eo posix", "-o braceexpand", "-oe pipefail"),
    "-o pipefail posix",
]


@pytest.mark.parametrize("words", STRICT + TRACED)
def test_a_script_that_is_strict_about_failures_is_judged_by_its_commands(checker: CommandChecker, words: str) -> None:
    rules = checker.defaults(bash={"*": "ask", "make *": "allow", "rm *": "deny"})
    assert checker.verdict(f"set {words}; make x\nmake y", rules) is ALLOW
    assert checker.verdict(f"set {words}\nmake x && touch y", rules) is ASK
    assert checker.verdict(f"set {words}; rm x", rules) is DENY
    (request,) = checker.requests(f"set {words}\nmake x")
    assert (request.opaque, request.patterns, request.always) == (None, ("make x",), ("make x *",))


@pytest.mark.parametrize("words", CHANGING)
def test_other_forms_of_set_change_what_words_mean_and_are_asked_about(checker: CommandChecker, words: str) -> None:
    rules = checker.defaults(bash={"*": "ask", "make *": "allow", "set *": "allow"})
    assert checker.verdict(f"set {words}; make x", rules) is ASK
    assert next(each for each in checker.requests(f"set {words}; make x") if each.permission == "bash").always == ()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("set -e; cd sub; rm x", DENY),
        ("set -e > made.txt", ASK),
        ("PATH=. set -e; make", ASK),
        ("/usr/bin/set -e", ASK),
        ("./set -e", ASK),
        ("set() { rm x; }; set -e", DENY),
        ("set -e; eval 'make'", ASK),
        ("set -e\nset -f\nmake", ASK),
        ("set -euo pipefail; make | sh", ASK),
        ("bash -c 'set -e; rm x'", DENY),
        ("for PS4 in '$(rm x)'; do set -x; make; done", ASK),
        ("PS4='$(rm x)' bash -xc 'make'", ASK),
    ],
)
def test_nothing_hides_behind_a_strict_script(checker: CommandChecker, command: str, expected: object) -> None:
    rules = checker.defaults(bash={"*": "ask", "make *": "allow", "rm *": "deny"}, edit="ask")
    assert checker.verdict(command, rules) is expected


def test_git_in_a_strict_script_that_only_reads_runs_with_the_settings_for_reading(checker: CommandChecker) -> None:
    plain, strict = (
        shell_requests(text, checker.workspace.directory, TurnContext(checker.workspace)).environment
        for text in ("git log", "set -e; git log")
    )
    assert strict == plain != {}
