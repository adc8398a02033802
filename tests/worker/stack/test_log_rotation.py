"""Logs are kept short while they are written and followed."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import settings_of
from worker.cli.log_tail import LogTail
from worker.settings import Settings
from worker.stack.layout import Layout
from worker.stack.log_rotation import rotate, rotate_long_logs, rotated_path

WRITER = """
import sys
for line in sys.stdin:
    for number in range(*map(int, line.split())):
        print(f"line {number}", file=sys.stderr, flush=True)
    print("written", flush=True)
"""


def test_a_program_writes_on_into_the_emptied_log_and_whoever_follows_misses_nothing(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    layout = Layout(home=tmp_path)
    layout.create()
    with layout.log("worker").open("ab") as log:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        writer = subprocess.Popen([sys.executable, "-c", WRITER], stderr=log, **pipes)  # type: ignore[call-overload]  # `text` is among the pipes
    tail, seen = LogTail(settings, ["worker"]), list[str]()
    with writer:
        for begin in (0, 500, 1000, 1500):
            writer.stdin.write(f"{begin} {begin + 500}\n")
            writer.stdin.flush()
            writer.stdout.readline()
            if begin == 500:
                seen += tail.last(3)  # of 1,000 lines, the first 500 of them put aside
            elif begin > 500:
                rotate(layout.log("worker"))
                seen += tail.read_new()
            else:
                rotate(layout.log("worker"))
        writer.stdin.close()

    assert seen == [f"line {number}" for number in range(997, 2000)]
    assert layout.log("worker").stat().st_size == 0


def test_a_log_that_has_just_begun_anew_shows_the_end_of_the_piece_before(tmp_path: Path) -> None:
    layout = Layout(home=tmp_path)
    layout.create()
    rotated_path(layout.log("worker")).write_text("one\ntwo\nthree\n")
    layout.log("worker").write_text("four\n")

    assert list(LogTail(settings_of(tmp_path), ["worker"]).last(3)) == ["two", "three", "four"]


def test_only_what_has_grown_long_is_shortened_and_one_older_piece_is_kept(tmp_path: Path) -> None:
    layout = Layout(home=tmp_path)
    layout.create()
    for text in ("first", "second"):
        layout.log("long").write_text(text * 1000)
        layout.log("short").write_text(text)
        rotate_long_logs(layout, megabytes=0.001)

    assert {path.name for path in layout.logs.iterdir()} == {"long.log", "long.log.old", "short.log"}
    assert rotated_path(layout.log("long")).read_text() == "second" * 1000


def test_the_limit_is_a_setting() -> None:
    assert Settings.read({"HOLDFAST_LOG_MEGABYTES": "0.5"}).log_megabytes == 0.5
