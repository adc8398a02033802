"""write gives a file new content as a whole."""

import pytest

from activities.files.place import Place
from activities.tools.tool import Output
from activities.tools.write import Write
from tests.activities.tools.calling import call
from workflows.domain.errors import ToolError


async def written(place: Place, name: str, content: str) -> Output:
    return await call(Write(), place, filePath=name, content=content)


async def test_a_new_file_is_made_with_its_folders(place: Place) -> None:
    output = await written(place, "a/b/new.txt", "hi\n")
    assert (place.directory / "a/b/new.txt").read_text() == "hi\n"
    assert output.metadata["exists"] is False


async def test_a_file_is_overwritten_and_its_byte_order_mark_stays(place: Place) -> None:
    (place.directory / "bom.txt").write_bytes(b"\xef\xbb\xbfold")
    output = await written(place, "bom.txt", "new\r\n")
    assert (place.directory / "bom.txt").read_bytes() == b"\xef\xbb\xbfnew\r\n"
    assert output.metadata["exists"] is True


async def test_a_link_stays_and_its_target_is_written(place: Place) -> None:
    (place.directory / "real.txt").touch()
    (place.directory / "link.txt").symlink_to("real.txt")
    await written(place, "link.txt", "hi")
    assert (place.directory / "link.txt").is_symlink()
    assert (place.directory / "real.txt").read_text() == "hi"


async def test_bytes_of_another_encoding_are_shown_as_such_and_replaced(place: Place) -> None:
    (place.directory / "latin.txt").write_bytes(b"caf\xe9\n")
    output = await written(place, "latin.txt", "café\r\n")
    assert "-caf\ufffd\n+café" in str(output.metadata["diff"])
    assert (place.directory / "latin.txt").read_bytes() == "café\r\n".encode()


async def test_what_utf8_cannot_hold_is_refused(place: Place) -> None:
    with pytest.raises(ToolError, match="lone surrogate"):
        await written(place, "new.txt", "\ud800")
