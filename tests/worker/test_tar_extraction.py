"""Untrusted tars: what is no backup's is refused before any write, and nothing is written elsewhere."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worker.tar_extraction import extract, read_members


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", **more: int) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, link, more.get("mode", 0o644)
    return made


def tar_of(path: Path, *members: tarfile.TarInfo) -> Path:
    """A tar with these members; files hold their names."""
    with tarfile.open(path, "w") as tar:
        for each in members:
            content = each.name.encode() if each.type == tarfile.REGTYPE else b""
            each.size = len(content)
            tar.addfile(each, io.BytesIO(content))
    return path


def unpacked(file: Path, target: Path) -> None:
    """Check all, then unpack all."""
    target.mkdir()
    with tarfile.open(file, "r:") as tar:
        for each in read_members(tar).values():
            extract(tar, each, target / Path(each.name).name)


OUTPUT, OTHER = "home/tool-output/tool_1", "home/archive/ses_1.jsonl.gz"
HOSTILE: dict[str, list[tarfile.TarInfo]] = {
    "absolute": [member("/tmp/evil")],
    "outside": [member("../evil")],
    "outside in the middle": [member("home/archive/../../evil")],
    "the directory itself": [member("home/archive/.")],
    "its parent": [member("home/archive/..")],
    "another directory of the home": [member("home/run/keys.json")],
    "another file of the home": [member("home/auth.json")],
    "below a directory": [member("home/archive/d/evil")],
    "a directory": [member("home/archive", tarfile.DIRTYPE)],
    "device": [member(OUTPUT, tarfile.CHRTYPE)],
    "block device": [member(OUTPUT, tarfile.BLKTYPE)],
    "pipe": [member(OUTPUT, tarfile.FIFOTYPE)],
    "sparse": [member(OUTPUT, tarfile.GNUTYPE_SPARSE)],
    "twice": [member(OUTPUT), member(OUTPUT)],
    "link": [member(OUTPUT, tarfile.SYMTYPE, "..")],
    "through a link": [member("home/archive", tarfile.SYMTYPE, "/tmp"), member("home/archive/evil")],
    "over a link": [member(OUTPUT, tarfile.SYMTYPE, "../evil"), member(OUTPUT)],
    "hard link": [member(OUTPUT), member(OTHER, tarfile.LNKTYPE, OUTPUT)],
    "hard link outside": [member(OUTPUT, tarfile.LNKTYPE, "../evil")],
    "absolute hard link": [member(OUTPUT, tarfile.LNKTYPE, "/etc/shadow")],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_member_that_no_backup_has_is_refused_before_anything_is_written(
    tmp_path: Path, members: list[tarfile.TarInfo]
) -> None:
    file = tar_of(tmp_path / "hostile.tar", member("backup.json"), *members)

    with pytest.raises(tarfile.TarError):
        unpacked(file, tmp_path / "target")

    assert list((tmp_path / "target").iterdir()) == [] and not (tmp_path / "evil").exists()


def test_files_come_back_private_and_with_their_time(tmp_path: Path) -> None:
    made = member(OUTPUT, mode=0o6777)
    made.mtime = 1_000_000_000

    unpacked(tar_of(tmp_path / "b.tar", made), target := tmp_path / "target")

    (file,) = target.iterdir()
    assert (file.read_text(), file.stat().st_mode & 0o7777, file.stat().st_mtime) == (OUTPUT, 0o600, 1_000_000_000)


def cut(content: bytearray) -> None:
    del content[1024:]


def broken_header(content: bytearray) -> None:
    content[1024:1034] = b"garbage..."


@pytest.mark.parametrize("damage", [cut, broken_header])
def test_a_tar_that_is_damaged_is_refused(tmp_path: Path, damage: Callable[[bytearray], None]) -> None:
    file = tar_of(tmp_path / "whole.tar", member("backup.json"), member(OUTPUT), member(OTHER))
    content = bytearray(file.read_bytes())
    damage(content)
    file.write_bytes(content)

    with pytest.raises(tarfile.TarError):
        unpacked(file, tmp_path / "target")

    assert list((tmp_path / "target").iterdir()) == []


@pytest.mark.parametrize("error", [ValueError("invalid literal"), OverflowError("too large"), RecursionError("deep")])
def test_a_header_over_which_the_library_stumbles_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def stumble(tar: tarfile.TarFile) -> tarfile.TarInfo | None:
        raise error

    file = tar_of(tmp_path / "whole.tar", member("backup.json"))
    with tarfile.open(file, "r:") as tar:
        monkeypatch.setattr(tarfile.TarFile, "next", stumble)
        with pytest.raises(tarfile.TarError, match=str(error)):
            read_members(tar)


@pytest.mark.parametrize(("size", "moves"), [(-1, True), (1, False)], ids=["less than nothing", "does not get on"])
def test_a_member_that_leads_back_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, moves: bool
) -> None:
    def lead_back(tar: tarfile.TarFile) -> tarfile.TarInfo:
        found = member("backup.json")
        found.size, found.offset = size, 0 if moves else -1
        return found

    file = tar_of(tmp_path / "whole.tar", member("backup.json"))
    with tarfile.open(file, "r:") as tar:
        monkeypatch.setattr(tarfile.TarFile, "next", lead_back)
        with pytest.raises(tarfile.TarError, match="impossible size"):
            read_members(tar)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 6143), st.integers(0, 255)), max_size=12))
def test_whatever_is_changed_in_a_tar_is_refused_in_words_or_stays_inside(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    long = member("home/archive/" + "x" * 200)
    content = bytearray(tar_of(tmp_path / "fuzzed.tar", member("backup.json"), long, member(OUTPUT)).read_bytes())
    for at, value in changes:
        content[at] = value
    (tmp_path / "fuzzed.tar").write_bytes(content)

    try:
        with tarfile.open(tmp_path / "fuzzed.tar", "r:") as tar:
            read_members(tar)
    except tarfile.TarError:
        return
