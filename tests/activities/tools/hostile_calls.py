"""Hostile calls: odd, huge or harmful paths, commands and arguments."""

import json
import os
from pathlib import Path
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from activities.files.workspace import Workspace

_LONG: Final = "a" * 300
PATHS: Final = (
    *(
        ".",
        "..",
        "/",
        "",
        "a.txt",
        "sub",
        "sub/b.txt",
        "missing/deep/x",
        "~",
        "~/x",
        "~root/x",
        "$HOME/x",
        "*",
        "[",
        "]",
    ),
    *("**/*", "*/*/*/*", "[a-", "{a,b}{c,d}", "a\nb", "a\tb", "-rf", "--", " ", "'", '"', "\\", "a.txt/x", "sub/"),
    *(_LONG, f"sub/{_LONG}", f"{_LONG}/x", f"/{_LONG}/{_LONG}", "d/" * 3_000 + "x", "../" * 2_000 + "etc/passwd"),
    *("locked", "locked/x", "locked/x/y", "locked/*", "loop", "loop/x", "dangling", "dangling/x", "pipe", "up/a.txt"),
    *("/proc/self/fd/0", "/proc/1/root/x", "/proc/1/cwd", "/proc/self/exe", "/dev/tcp/h/1", "/dev/null", "/dev/sda"),
    *("/root/x", "/root/.ssh/id", "/lost+found/x", "/var/lib/private/x", "a\0b", "\ud800", "é", "e\u0301", "\u202etxt"),
)
_PROGRAMS: Final = (
    "rm cat ls cd pushd cp mv git find xargs sed awk python ./a.txt sub/b.txt bash sh env timeout tar grep tee chmod dd"
    " source . eval make [ test echo printf locked/run sudo ssh"
)
_WORDS: Final = (
    "-rf -c -exec ; + {} && || | & > < >> 2>&1 <<< <<E ( ) { } if then else fi for in do done while case esac ! [[ ]]"
    " $( ) ` ' \" \\ $x ${x} $HOME $'\\x41' -- -n of=x --x= @ E \\\n"
)


def furnish(workspace: Workspace) -> None:
    """Make what the paths lead to: a locked directory, circular and dead links, a pipe."""
    root = workspace.directory
    (root / "sub").mkdir()
    (root / "a.txt").write_text("hello\n")
    (root / "sub" / "b.txt").write_text("one\ntwo\n")
    (root / "locked").mkdir(mode=0)
    (root / "loop").symlink_to("loop")
    (root / "dangling").symlink_to("nowhere")
    (root / "up").symlink_to("..")
    os.mkfifo(root / "pipe")


def release(workspace: Workspace) -> None:
    """Make the locked directory removable again."""
    Path(workspace.directory, "locked").chmod(0o700)


def paths() -> SearchStrategy[str]:
    return st.one_of(
        st.sampled_from(PATHS),
        st.lists(st.sampled_from(PATHS), min_size=1, max_size=4).map("/".join),
        st.text(max_size=40),
        st.text(alphabet=st.characters(categories=("Cs", "Cc", "Cf", "L")), max_size=10),
    )


def commands() -> SearchStrategy[str]:
    words = st.one_of(st.sampled_from(_PROGRAMS.split()), st.sampled_from(_WORDS.split(" ")), paths())
    line = st.lists(words, max_size=20).map(" ".join)
    moves = st.sampled_from(
        ("cd {0};", "[ -d {0} ] && cd {0};", "if x; then cd {0}; else cd ..; fi;", "( {0}", "$({0}")
    )
    many = st.tuples(moves, st.sampled_from(PATHS), st.integers(1, 60)).map(
        lambda of: " ".join(of[0].format(f"{of[1]}{number}") for number in range(of[2]))
    )
    lists = st.integers(1, 40).map(lambda count: "echo " + "{a,b}" * count)
    return st.one_of(
        line,
        st.tuples(many, line).map(" ".join),
        lists,
        st.tuples(st.sampled_from(_PROGRAMS.split()), paths()).map(" ".join),
    )


def calls() -> SearchStrategy[tuple[str, str]]:
    """A tool and its arguments, as a model sends them."""
    path, number = paths(), st.one_of(st.integers(), st.integers(1, 5))
    files = {"filePath": path, "path": path, "workdir": path, "pattern": paths(), "command": commands()}
    texts = {
        "content": st.text(max_size=200),
        "oldString": st.sampled_from(("one", "", "x" * 5_000, "one\ntwo")),
        "newString": st.text(max_size=20),
    }
    odd = st.recursive(
        st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=5), number),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
        max_leaves=10,
    )
    usual = st.fixed_dictionaries({}, optional={**files, **texts, "limit": number, "offset": number, "timeout": number})
    shell = st.fixed_dictionaries({"command": commands()}, optional={"workdir": path})
    change = st.fixed_dictionaries({"filePath": path, **texts})
    return st.one_of(
        st.tuples(st.just("bash"), shell.map(json.dumps)),
        st.tuples(st.sampled_from(("edit", "write", "read")), change.map(json.dumps)),
        st.tuples(
            st.sampled_from(("glob", "grep", "read", "task", "todowrite", "invalid", "bash", "BASH", "fly")),
            usual.map(json.dumps),
        ),
        st.tuples(
            st.sampled_from(("bash", "edit", "read", "todowrite", "task")),
            st.one_of(
                odd.map(json.dumps),
                st.text(max_size=20),
                st.sampled_from(("[" * 100_000, '{"a":' * 200 + "1" + "}" * 200, '{"limit": ' + "9" * 5_000 + "}")),
            ),
        ),
    )
