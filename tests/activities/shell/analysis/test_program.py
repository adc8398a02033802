"""Commands of a program: which of them rules need not decide about."""

import pytest

from activities.shell.parse import shell_requests
from tests.activities.shell.world import ALLOW, ASK, DENY, World

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
def test_a_script_that_is_strict_about_failures_is_judged_by_its_commands(world: World, words: str) -> None:
    rules = world.defaults(bash={"*": "ask", "make *": "allow", "rm *": "deny"})
    assert world.verdict(f"set {words}; make x\nmake y", rules) is ALLOW
    assert world.verdict(f"set {words}\nmake x && touch y", rules) is ASK
    assert world.verdict(f"set {words}; rm x", rules) is DENY
    (request,) = world.requests(f"set {words}\nmake x")
    assert (request.opaque, request.patterns, request.always) == (None, ("make x",), ("make x *",))


@pytest.mark.parametrize("words", CHANGING)
def test_other_forms_of_set_change_what_words_mean_and_are_asked_about(world: World, words: str) -> None:
    rules = world.defaults(bash={"*": "ask", "make *": "allow", "set *": "allow"})
    assert world.verdict(f"set {words}; make x", rules) is ASK
    assert next(each for each in world.requests(f"set {words}; make x") if each.permission == "bash").always == ()


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
def test_nothing_hides_behind_a_strict_script(world: World, command: str, expected: object) -> None:
    rules = world.defaults(bash={"*": "ask", "make *": "allow", "rm *": "deny"}, edit="ask")
    assert world.verdict(command, rules) is expected


def test_git_in_a_strict_script_that_only_reads_runs_with_the_settings_for_reading(world: World) -> None:
    plain, strict = (
        shell_requests(text, world.place.directory, world.place).environment for text in ("git log", "set -e; git log")
    )
    assert strict == plain != {}
