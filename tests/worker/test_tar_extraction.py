"""Untrusted tars: what is no backup's is refused before any write, and nothing is written elsewhere."""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worker.tar_extraction import read_members, unpack


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


def unpacked(file: Path, target: Path) -> list[str]:
    """Unpack all; what was left out."""
    left_out: list[str] = []
    target.mkdir()
    with tarfile.open(file, "r:") as tar:
        unpack(tar, read_members(tar), target, left_out.append)
    return left_out


HOSTILE: dict[str, list[tarfile.TarInfo]] = {
    "absolute": [member("/tmp/evil")],
    "outside": [member("../evil")],
    "outside in the middle": [member("a/../../evil")],
    "device": [member("null", tarfile.CHRTYPE)],
    "block device": [member("disk", tarfile.BLKTYPE)],
    "pipe": [member("pipe", tarfile.FIFOTYPE)],
    "sparse": [member("sparse", tarfile.GNUTYPE_SPARSE)],
    "through a link": [member("d", tarfile.SYMTYPE, ".."), member("d/evil")],
    "through a link that comes later": [member("d/evil"), member("d", tarfile.SYMTYPE, "..")],
    "over a link": [member("d", tarfile.SYMTYPE, "../evil"), member("d")],
    "below a file": [member("d"), member("d/evil")],
    "hard link outside": [member("shadow", tarfile.LNKTYPE, "../evil")],
    "absolute hard link": [member("shadow", tarfile.LNKTYPE, "/etc/shadow")],
    "hard link to a link": [member("d", tarfile.SYMTYPE, "../evil"), member("e", tarfile.LNKTYPE, "d")],
    "hard link to itself": [member("e", tarfile.LNKTYPE, "e")],
    "hard link from another tree": [
        *(member("workspaces/0/a"), member("workspaces/1/a", tarfile.LNKTYPE, "workspaces/0/a"))
    ],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_member_that_no_backup_has_is_refused_before_anything_is_written(
    tmp_path: Path, members: list[tarfile.TarInfo]
) -> None:
    file = tar_of(tmp_path / "hostile.tar", member("first"), *members)

    with pytest.raises(tarfile.TarError):
        unpacked(file, tmp_path / "target")

    assert list((tmp_path / "target").iterdir()) == [] and not (tmp_path / "evil").exists()


OUTWARD = ("/etc/passwd", "..", "../x", "a/../../x", "", "q/../..", "../p/../../x")


def test_links_that_lead_out_are_left_out_and_the_others_are_made(tmp_path: Path) -> None:
    inward = {"in": "sub/file", "sub/up": "../file", "sub/here": ".", "dangling": "nowhere"}
    absolute = str(tmp_path / "target" / "sub")
    wanted = {**inward, "absolute": absolute, **{f"out{n}": to for n, to in enumerate(OUTWARD)}}
    links = [member(name, tarfile.SYMTYPE, to) for name, to in wanted.items()]
    file = tar_of(tmp_path / "links.tar", member("sub", tarfile.DIRTYPE, mode=0o755), member("sub/file"), *links)

    left_out = unpacked(file, tmp_path / "target")

    made = {str(p.relative_to(tmp_path / "target")) for p in (tmp_path / "target").rglob("*") if p.is_symlink()}
    assert made == {*inward, "absolute"}
    assert len(left_out) == len(OUTWARD) and all("Not made" in each for each in left_out)


def test_links_that_lead_out_only_together_are_left_out(tmp_path: Path) -> None:
    up = member("p/q/r/top", tarfile.SYMTYPE, "../../..")
    for number, order in enumerate(([0, 1], [1, 0])):
        both = [up, member("e", tarfile.SYMTYPE, "p/q/r/top/..")]
        file = tar_of(tmp_path / f"{number}.tar", member("p/q/r/file"), *(both[each] for each in order))

        unpacked(file, target := tmp_path / f"target{number}")

        assert not os.path.lexists(target / "e") and (target / "p/q/r/top").resolve() == target


def test_rights_of_others_and_set_user_id_do_not_come_back(tmp_path: Path) -> None:
    modes = {"suid": 0o6755, "open": 0o777, "private": 0o600, "none": 0, "odd": 0o655}
    file = tar_of(
        tmp_path / "modes.tar",
        member("closed", tarfile.DIRTYPE, mode=0o1700),
        member("closed/file"),
        member("locked", tarfile.DIRTYPE, mode=0),
        member("locked/file"),
        *(member(name, mode=mode) for name, mode in modes.items()),
    )

    unpacked(file, target := tmp_path / "target")

    found = {path.name: path.stat().st_mode & 0o7777 for path in target.iterdir()}
    expected = {"suid": 0o755, "open": 0o755, "private": 0o600, "none": 0o600, "odd": 0o644}
    assert found == {**expected, "closed": 0o700, "locked": 0o700}
    assert (target / "locked/file").read_text() == "locked/file"


def test_other_names_of_a_file_come_back_as_such(tmp_path: Path) -> None:
    names = ("workspaces/0/one", "workspaces/0/two")
    file = tar_of(tmp_path / "hard.tar", member(names[0]), member(names[1], tarfile.LNKTYPE, names[0]))

    unpacked(file, target := tmp_path / "target")

    assert (target / names[0]).samefile(target / names[1])


def cut(content: bytearray) -> None:
    del content[1024:]


def broken_header(content: bytearray) -> None:
    content[1024:1034] = b"garbage..."


def negative_size(content: bytearray) -> None:
    """A negative size leads the standard library back to the same header for ever (CVE-2025-8194)."""
    content[1024 + 124 : 1024 + 136] = (-1024).to_bytes(12, "big", signed=True)
    _sum(content, 1024)


def _sum(content: bytearray, at: int) -> None:
    content[at + 148 : at + 156] = b" " * 8
    content[at + 148 : at + 156] = b"%06o\0 " % sum(content[at : at + 512])


@pytest.mark.parametrize("damage", [cut, broken_header, negative_size])
def test_a_tar_that_is_damaged_is_refused(tmp_path: Path, damage: Callable[[bytearray], None]) -> None:
    file = tar_of(tmp_path / "whole.tar", member("one"), member("two"), member("three"))
    content = bytearray(file.read_bytes())
    damage(content)
    file.write_bytes(content)

    with pytest.raises(tarfile.TarError):
        unpacked(file, tmp_path / "target")

    assert list((tmp_path / "target").iterdir()) == []


def no_numbers(tar: tarfile.TarFile) -> None:
    """A sparse file's map without numbers."""
    broken = member("sparse")
    broken.pax_headers = {"GNU.sparse.map": "a,b", "GNU.sparse.size": "1"}
    tar.addfile(broken)


def huge(tar: tarfile.TarFile) -> None:
    """A size beyond any file's."""
    broken = member("huge")
    broken.pax_headers = {"size": str(2**80)}
    tar.addfile(broken)


def deep(tar: tarfile.TarFile) -> None:
    """Names for names for names: the library reads them recursively."""
    for _ in range(3000):
        tar.addfile(member("long", tarfile.GNUTYPE_LONGNAME))


@pytest.mark.parametrize("add", [no_numbers, huge, deep])
def test_headers_that_the_library_stumbles_over_are_refused(
    tmp_path: Path, add: Callable[[tarfile.TarFile], None]
) -> None:
    with tarfile.open(tmp_path / "broken.tar", "w") as tar:
        tar.addfile(member("one"))
        add(tar)

    with pytest.raises(tarfile.TarError):
        unpacked(tmp_path / "broken.tar", tmp_path / "target")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 6143), st.integers(0, 255)), max_size=12))
def test_whatever_is_changed_in_a_tar_is_refused_in_words_or_stays_inside(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    long = member("d/" + "x" * 200)
    content = bytearray(tar_of(tmp_path / "fuzzed.tar", member("d", tarfile.DIRTYPE), long, member("d/b")).read_bytes())
    for at, value in changes:
        content[at] = value
    (tmp_path / "fuzzed.tar").write_bytes(content)

    try:
        with tarfile.open(tmp_path / "fuzzed.tar", "r:") as tar:
            read_members(tar)
    except tarfile.TarError:
        return
