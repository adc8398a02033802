"""read shows files of any size and kind, directories, and nothing before it is permitted."""

import pytest

from activities.files.place import Place
from activities.tools.read import LARGEST_ATTACHMENT, Read, ReadParams
from activities.tools.tool import Output
from tests.activities.tools.calling import call
from workflows.domain.errors import ToolError


async def read(place: Place, path: str, **more: int) -> Output:
    return await call(Read(), place, filePath=path, **more)


async def test_a_directory_is_listed_page_by_page(place: Place) -> None:
    for name in ("b", "a", "c"):
        (place.directory / "src" / name).mkdir(parents=True)
    whole, part = await read(place, "src"), await read(place, "src", offset=2, limit=1)
    folder = f"<path>{place.directory}/src</path>\n<type>directory</type>\n<entries>"
    assert whole.output == f"{folder}\na/\nb/\nc/\n\n(3 entries)\n</entries>"
    beyond = "Use 'offset' parameter to read beyond entry 2"
    assert part.output == f"{folder}\nb/\n\n(Showing 1 of 3 entries. {beyond})\n</entries>"
    assert (whole.title, whole.truncated, part.truncated) == ("src", False, True)


async def test_the_metadata_says_what_is_displayed(place: Place) -> None:
    (place.directory / "a.txt").write_text("\n".join(str(n) for n in range(1, 31)))
    output = await read(place, "a.txt", offset=3, limit=25)
    assert output.metadata["preview"] == "\n".join(str(n) for n in range(3, 23))
    assert output.metadata["display"] == {
        "type": "file",
        "path": str(place.directory / "a.txt"),
        "text": "\n".join(str(n) for n in range(3, 28)),
        "lineStart": 3,
        "lineEnd": 27,
        "totalLines": 30,
        "truncated": True,
    }


async def test_a_file_too_large_to_count_is_shown_without_a_total(place: Place) -> None:
    with (place.directory / "huge.log").open("wb") as file:
        file.write(b"first\nsecond\n" + b"x" * 5000)
        file.truncate(5 * 1024**3)
    output = await read(place, "huge.log", limit=1)
    assert "(Showing lines 1-1. Use offset=2 to continue.)" in output.output
    with pytest.raises(ToolError, match="very large file"):
        await read(place, "huge.log", offset=9)


async def test_an_empty_file_has_no_lines(place: Place) -> None:
    (place.directory / "empty").touch()
    assert "(End of file - total 0 lines)" in (await read(place, "empty")).output
    with pytest.raises(ToolError, match=r"Offset 2 is out of range for this file \(0 lines\)"):
        await read(place, "empty", offset=2)


async def test_an_offset_behind_the_last_entry_is_an_error(place: Place) -> None:
    with pytest.raises(ToolError, match=r"out of range for this directory \(1 entries\)"):
        await read(place, ".", offset=2)


async def test_a_picture_too_large_is_refused(place: Place) -> None:
    with (place.directory / "photo.png").open("wb") as file:
        file.truncate(LARGEST_ATTACHMENT + 1)
    with pytest.raises(ToolError, match="too much to be shown"):
        await read(place, "photo.png")


async def test_a_file_that_may_not_be_read_is_an_error(unprivileged: Place) -> None:
    (unprivileged.directory / "a.txt").write_text("secret")
    (unprivileged.directory / "a.txt").chmod(0)
    with pytest.raises(ToolError, match="Permission denied"):
        await read(unprivileged, "a.txt")


async def test_whether_a_file_exists_is_told_only_when_reading_is_permitted(place: Place) -> None:
    plan = await Read().plan(ReadParams(filePath="../gone/secret.txt"), place)
    assert [request.permission for request in plan.requests] == ["external_directory", "read"]


async def test_the_record_changes_when_a_link_leads_elsewhere(place: Place) -> None:
    link, params = place.directory / "link", ReadParams(filePath="link")
    link.symlink_to("a.txt")
    (place.directory / "a.txt").touch()
    (place.directory / "b.txt").touch()
    before = await Read().plan(params, place)
    link.unlink()
    link.symlink_to("b.txt")
    assert (await Read().plan(params, place)).effect.digest != before.effect.digest
