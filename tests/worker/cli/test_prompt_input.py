"""Prompts from arguments and pipes, refused before anything starts or kept as they came; and `--id`."""

import io
import random
import re
import time
from pathlib import Path

import pytest

from tests.worker.cli.conftest import CommandRunner, OpenHarness, shell
from worker.cli.prompt_input import parse_prompt_id, read_prompt, read_system
from worker.scripted.script import ScriptedAnswer
from workflows.domain.errors import UsageError
from workflows.domain.ids import Prefix, mint
from workflows.domain.messages import UserMessage

DOORS = [("run", "-m", "scripted/model", "-"), ("send", "last", "-")]
ODD = "NUL \0, no UTF-8 \udcff\udc80, escape \x1b[2K\x1b]0;title\x07, \x9b, a line's\r\n end and \u202e."
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door[0])
@pytest.mark.parametrize(
    ("megabytes", "said"),
    [
        (10, "The prompt has 10,000,000 characters; at most 1,000,000 are allowed"),
        (70, "Standard input has more than 64 MB: write it into a file"),
    ],
)
async def test_a_prompt_that_is_far_too_long_is_refused_and_starts_nothing(
    bare: CommandRunner, door: tuple[str, ...], megabytes: int, said: str
) -> None:
    ended = await bare.run(*door, typed="x" * megabytes * 1_000_000)
    assert ended.code == 2 and said in ended.err
    assert len(ended.err) < 500 and "Starting the stack" not in ended.err


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door[0])
async def test_nothing_on_standard_input_is_no_prompt(bare: CommandRunner, door: tuple[str, ...]) -> None:
    ended = await bare.run(*door, typed="\n")
    assert ended.code == 2 and "The prompt is empty" in ended.err


async def test_odd_bytes_are_kept_as_they_came_and_shown_so_that_they_do_no_harm(open_harness: OpenHarness) -> None:
    async with open_harness(ScriptedAnswer(text=f"You said: {ODD}")) as harness, harness.running_worker():
        followed = await shell(harness).run("run", "-m", "scripted/model", "-", typed=ODD)
        (overview,) = await harness.client.sessions.list_recent()
        shown = [await shell(harness).run(*words) for words in (("sessions",), ("log", overview.id))]
        said, _ = await harness.client.records.transcript(overview.id)
    assert isinstance(said, UserMessage) and said.text == ODD
    assert followed.code == 0 and "You said: NUL" in followed.out
    assert not [found for each in (followed, *shown) for found in UNSAFE.findall(each.out + each.err)]


def test_it_is_known_what_of_a_prompt_came_through_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"see @explore\n")))
    text, piped_at = read_prompt(("what of @a.txt:", "-", "and @b.txt?"), edit=False)
    assert text == "what of @a.txt: see @explore\n and @b.txt?" and piped_at is not None
    assert [text[start:end] for start, end in piped_at] == ["see @explore\n"]
    assert read_prompt(("see", "@a.txt"), edit=False) == ("see @a.txt", None)


def test_an_id_of_a_prompt_is_taken_and_none_is_none() -> None:
    assert parse_prompt_id("msg_1ff569784001NVQodmYbLJBt4v") == "msg_1ff569784001NVQodmYbLJBt4v"
    assert parse_prompt_id(None) is None


@pytest.mark.parametrize("moment", [10 * 60_000, None])
def test_an_id_that_sorts_behind_those_made_now_is_refused(moment: int | None) -> None:
    now = time.time_ns() // 1_000_000
    near, far = (mint(Prefix.MESSAGE, now + ahead, 0, random.Random(1)) for ahead in (60_000, moment or 0))
    assert parse_prompt_id(near) == near
    with pytest.raises(UsageError, match="sorts behind those that are made now.*leave it out"):
        parse_prompt_id(far if moment else "msg_ffffffffffff" + "0" * 14)


@pytest.mark.parametrize("typed", ["", "mine", "ses_1ff569784001NVQodmYbLJBt4v", "msg_1FF569784001NVQodmYbLJBt4v"])
def test_anything_else_is_refused_with_the_form_that_is_wanted(typed: str) -> None:
    with pytest.raises(UsageError, match=r"is no id of a prompt: write msg_, 12 hex digits"):
        parse_prompt_id(typed)


def test_instructions_come_as_text_or_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.md"
    file.write_bytes(b"Be brief.\xff")
    assert read_system(None) is None and read_system("Be @brief.") == "Be @brief."
    assert read_system(f"@{file}") == "Be brief.\udcff"


@pytest.mark.parametrize(
    ("typed", "said"), [("", "are empty"), ("@nowhere.md", "'nowhere.md' cannot be read: No such")]
)
def test_instructions_that_say_nothing_or_are_not_there_are_refused(typed: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_system(typed)
