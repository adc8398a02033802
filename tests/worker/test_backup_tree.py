"""What a backup takes of a directory."""

import json
import os
import socket
import tarfile
from pathlib import Path

from worker.backup_tree import BackupTree, DirectoryEstimate, FixedSizeReader
from worker.tar_extraction import read_members

AUTH = json.dumps({"openai": {"type": "api", "key": "sk-secret"}})
OAUTH = json.dumps({"anthropic": {"type": "oauth", "access": "a", "refresh": "b", "expires": 1}})


def write(path: Path, content: str = "content") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def packed(tree: BackupTree, file: Path, seen: DirectoryEstimate | None = None) -> tuple[set[str], list[str]]:
    """The names in a tar of the tree, and the messages."""
    said: list[str] = []
    with tarfile.open(file, "w") as tar:
        tree.pack(tar, "t", said.append, seen)
    with tarfile.open(file, "r:") as tar:
        return {member.name.removeprefix("t/") for member in read_members(tar)}, said


def test_homes_of_stacks_keys_and_databases_are_left_out_wherever_they_are(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("stack.json", "supervisor.lock", "run/keys.json", "tool-output/a"):
        write(root / "served" / name)
    for name in ("up.lock", "logs/a.log", "temporal/temporal.db", "mine.txt"):
        write(root / "deep/er/begun" / name)
    for name in ("HOME", "data/PG_VERSION"):
        write(root / "cluster" / name)
    write(root / "named/only/here")
    for name, content in (("login/auth.json", AUTH), ("opencode/auth.json", OAUTH), ("x/run/keys.json", '{"A": "k"}')):
        write(root / name, content)
    for name, content in (("i18n/auth.json", '{"title": "Log in"}'), ("keys.json", '{"a": "b"}'), ("src/HOME", "x")):
        write(root / name, content)
    for name in ("holdfast-20261121T030000Z.tar", "earlier.tar", ".s.PGSQL.5432.lock"):
        write(root / name)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
        os.mkfifo(root / "pipe")

        measured = BackupTree(root, frozenset({root / "named"})).estimate()
        names, said = packed(BackupTree(root, frozenset({root / "named"})), tmp_path / "out.tar")

    kept = {"i18n/auth.json", "keys.json", "src/HOME", "earlier.tar"}
    assert {name for name in names if (root / name).is_file()} == kept and measured.files == len(kept)
    assert not any("secret" in line for line in said)
    skipped = {str(Path(path).relative_to(root)): why for path, why in measured.skipped}
    assert skipped == {
        **dict.fromkeys(("served", "deep/er/begun", "named", ".s.PGSQL.5432.lock"), "a stack's own"),
        **dict.fromkeys(("login/auth.json", "opencode/auth.json", "x/run/keys.json"), "keys"),
        **dict.fromkeys(("socket", "pipe"), "no file, directory or link"),
        "cluster": "a stack's database",
        "holdfast-20261121T030000Z.tar": "a backup",
    }
    assert len(said) == len(skipped) and packed(BackupTree(root), tmp_path / "again.tar", measured)[1] == []


def test_what_cannot_be_packed_is_named_and_the_rest_is_there(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root / os.fsdecode(b"name-\xff"))
    first = write(root / "hard/one")
    (root / "hard/two").hardlink_to(first)
    (root / "dangling").symlink_to("nowhere")
    (root / "loop").symlink_to(".")
    (tmp_path / "link").symlink_to(root)

    names, said = packed(BackupTree(tmp_path / "link"), tmp_path / "out.tar")

    assert names == {"t", os.fsdecode(b"name-\xff"), "hard", "hard/one", "hard/two", "dangling", "loop"}
    assert said == [] and BackupTree(root).estimate().files == 3


def test_a_directory_that_is_gone_meanwhile_is_named(tmp_path: Path) -> None:
    names, said = packed(BackupTree(tmp_path / "gone"), tmp_path / "out.tar")

    assert names == set() and len(said) == 1 and "No such file" in said[0]


def test_a_tree_within_a_tree_is_one_of_its_own(tmp_path: Path) -> None:
    outer, inner = write(tmp_path / "root/a").parent, write(tmp_path / "root/inner/b").parent

    names, said = packed(BackupTree(outer, separate=frozenset({inner})), tmp_path / "out.tar")

    assert names == {"t", "a"} and said == []


def test_a_file_that_shrinks_while_it_is_read_is_filled_up_and_named(tmp_path: Path) -> None:
    shrinking = tmp_path / "shrinking"
    shrinking.write_bytes(b"x" * 100_000)
    with shrinking.open("rb") as file:
        content = FixedSizeReader(file, 100_000)
        first = content.read(1000)
        os.truncate(shrinking, 0)
        rest = content.read(1_000_000)
        behind = content.read(10)

    assert first == b"x" * 1000 and content.truncated and behind == b""
    assert len(rest) == 99_000 and rest.endswith(bytes(50_000))
