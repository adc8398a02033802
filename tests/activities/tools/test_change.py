"""A change of a file is agreed on to the byte, made once, and reconciled after a crash."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from activities.files.place import Place
from activities.tools.edit.edit import Edit, EditParams
from activities.tools.tool import Plan, Unknown
from activities.tools.write import Write, WriteParams
from tests.activities.tools.calling import surroundings
from workflows.domain.errors import StaleFence, ToolError


@dataclass
class Call:
    """An edit of `a.txt` from one to two, planned; `left` is what an earlier attempt has left behind."""

    place: Place
    params: EditParams
    plan: Plan

    @property
    def file(self) -> Path:
        return self.place.directory / "a.txt"

    @property
    def left(self) -> Path:
        return self.place.directory / ".holdfast-prt_1-1-1-1"


def asked(path: str, old: str = "one", new: str = "two") -> EditParams:
    return EditParams(filePath=path, oldString=old, newString=new)


@pytest.fixture
async def planned(place: Place) -> Call:
    (place.directory / "a.txt").write_text("one\n")
    return Call(place, asked("a.txt"), await Edit().plan(asked("a.txt"), place))


async def test_the_plan_says_exactly_what_will_be_written(planned: Call) -> None:
    (own,) = planned.plan.requests
    assert str(own.metadata["diff"]).endswith("@@ -1,1 +1,1 @@\n-one\n+two\n")
    assert planned.plan.file_key == str(planned.file)
    assert planned.file.read_text() == "one\n"


async def test_another_base_makes_another_record(planned: Call) -> None:
    planned.file.write_text("one\nmore\n")
    assert (await Edit().plan(planned.params, planned.place)).effect.digest != planned.plan.effect.digest


async def test_nothing_is_written_over_what_changed_since_the_plan(planned: Call) -> None:
    planned.file.write_text("one\nmore\n")
    with pytest.raises(ToolError, match="changed meanwhile"):
        await Edit().run(planned.params, planned.plan, surroundings(planned.place))
    assert planned.file.read_text() == "one\nmore\n"


async def test_an_attempt_that_died_before_the_rename_is_finished(planned: Call) -> None:
    planned.left.write_text("tw")
    output = await Edit().recover(planned.params, planned.plan, surroundings(planned.place, attempt="1-1-2"))
    assert output.output == "Edit applied successfully."
    assert planned.file.read_text() == "two\n"
    assert not planned.left.exists()


async def test_an_attempt_that_died_after_the_rename_is_not_repeated(planned: Call) -> None:
    first = await Edit().run(planned.params, planned.plan, surroundings(planned.place))
    written = planned.file.stat().st_ino
    second = await Edit().recover(planned.params, planned.plan, surroundings(planned.place, attempt="1-1-2"))
    assert planned.file.stat().st_ino == written
    assert second == first


async def test_content_that_is_neither_before_nor_after_is_unknown(planned: Call) -> None:
    planned.left.write_text("two\n")
    planned.file.write_text("three\n")
    with pytest.raises(Unknown, match=r"a\.txt[^$]*\+two"):
        await Edit().recover(planned.params, planned.plan, surroundings(planned.place, attempt="1-1-2"))
    assert planned.file.read_text() == "three\n"
    assert not planned.left.exists()


async def test_a_directory_in_the_place_of_the_file_is_unknown(planned: Call) -> None:
    planned.file.unlink()
    planned.file.mkdir()
    with pytest.raises(Unknown):
        await Edit().recover(planned.params, planned.plan, surroundings(planned.place, attempt="1-1-2"))


async def test_an_overtaken_recovery_touches_nothing(planned: Call) -> None:
    planned.left.write_text("of a later attempt")

    async def overtaken() -> None:
        raise StaleFence("a later attempt has taken over")

    with pytest.raises(StaleFence):
        await Edit().recover(planned.params, planned.plan, surroundings(planned.place, fence=overtaken))
    assert planned.left.exists()


async def test_of_two_edits_planned_together_the_second_has_to_be_planned_again(planned: Call) -> None:
    planned.file.write_text("one\nlast\n")
    place, other = planned.place, asked("a.txt", "last", "end")
    first, second = await Edit().plan(planned.params, place), await Edit().plan(other, place)
    await Edit().run(planned.params, first, surroundings(place))
    with pytest.raises(ToolError, match="changed meanwhile"):
        await Edit().run(other, second, surroundings(place))
    await Edit().run(other, await Edit().plan(other, place), surroundings(place))
    assert planned.file.read_text() == "two\nend\n"


async def test_what_is_wrong_inside_the_project_is_said_before_any_question(place: Place) -> None:
    with pytest.raises(ToolError, match="not found"):
        await Edit().plan(asked("gone.txt"), place)


async def test_nothing_is_told_of_a_file_outside_before_a_yes(place: Place) -> None:
    secret = place.directory.parent / "secret.txt"
    secret.write_text("nothing of the kind\n")
    plan = await Edit().plan(asked(str(secret)), place)
    assert [request.permission for request in plan.requests] == ["external_directory", "edit"]
    with pytest.raises(ToolError, match="Could not find oldString"):
        await Edit().run(asked(str(secret)), plan, surroundings(place))


async def test_a_read_only_file_stays_as_it_is(unprivileged: Place) -> None:
    file = unprivileged.directory / "a.txt"
    file.write_text("one\n")
    file.chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        await Edit().plan(asked("a.txt"), unprivileged)


async def test_a_directory_that_may_not_be_written_gets_no_file(unprivileged: Place) -> None:
    file = unprivileged.directory / "a.txt"
    file.write_text("one\n")
    plan = await Edit().plan(asked("a.txt"), unprivileged)
    unprivileged.directory.chmod(0o555)
    with pytest.raises(ToolError, match="Permission denied"):
        await Edit().run(asked("a.txt"), plan, surroundings(unprivileged))
    unprivileged.directory.chmod(0o755)
    assert file.read_text() == "one\n"
    assert not list(unprivileged.directory.glob(".holdfast-*"))


async def test_an_edit_by_a_link_is_judged_and_made_where_it_leads(planned: Call) -> None:
    (planned.place.directory / "link").symlink_to("a.txt")
    plan = await Edit().plan(asked("link"), planned.place)
    await Edit().run(asked("link"), plan, surroundings(planned.place))
    assert (plan.requests[0].patterns, plan.file_key) == (("a.txt",), str(planned.file))
    assert (planned.place.directory / "link").is_symlink()
    assert planned.file.read_text() == "two\n"


async def test_a_huge_file_is_refused_before_it_is_read(place: Place) -> None:
    with (place.directory / "huge").open("wb") as file:
        file.write(b"one\n")
        file.truncate(5 * 1024**3)
    with pytest.raises(ToolError, match="too much for this tool"):
        await Edit().plan(asked("huge"), place)
    with pytest.raises(ToolError, match="too much for this tool"):
        await Write().plan(WriteParams(filePath="huge", content="x"), place)
