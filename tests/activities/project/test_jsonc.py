import os
from pathlib import Path

import pytest

from activities.project.jsonc import duplicate_keys, parse, read_text
from workflows.domain.errors import ConfigError

FILE = Path("/p/opencode.json")


def test_comments_and_trailing_commas_are_read_over() -> None:
    assert parse('{ // c\n "model": "a/b", /* d */ }', FILE) == {"model": "a/b"}


@pytest.mark.parametrize("text", ["", "\n", "// nothing yet\n"])
def test_an_empty_file_is_an_empty_configuration(text: str) -> None:
    assert parse(text, FILE) == {}


def test_a_mistake_is_named_with_file_line_and_column() -> None:
    with pytest.raises(ConfigError, match=r"^/p/opencode.json:3:7: this is not JSON: Expected colon\.$"):
        parse('{\n"model": "a/b",\n nope nope }', FILE)


def test_a_missing_mark_is_named_as_it_is_written() -> None:
    with pytest.raises(ConfigError, match=r":1:7: this is not JSON: Expected 'e'"):
        parse('{"a": tru}', FILE)


def test_a_key_that_stands_twice_in_one_object_is_found() -> None:
    text = """// "model": 1, "model": 2
    {"permission": {
      /* "bash": { */ "bash": {"a{b,c}: *": "deny", "git *": "allow"},
      "edit": {"*": "ask", "*": "deny",}, // "bash": no key
      'bash': {"*": "deny"}},
    x: [{"a": 1}, {"a": 2, "a": 3}], "z": [], "x": {}}"""

    assert parse(text, FILE) and [*duplicate_keys(text)] == ["permission.edit.*", "permission.bash", "x.1.a", "x"]


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(ConfigError, match="nesting"):
        parse('{"a":' * 10_000, FILE)


def test_a_configuration_is_an_object() -> None:
    with pytest.raises(ConfigError, match="one object"):
        parse("[1]", FILE)


def test_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_text(tmp_path / "opencode.json") is None


def test_what_cannot_be_read_is_refused_without_waiting_for_it_and_named_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "big").write_text("/" * (1024 * 1024 + 1))
    reasons = {
        "": "it is not a regular file",
        "pipe": "it is not a regular file",
        "loop": "Too many levels of symbolic links",
        "big": "it is larger than 1,048,576 bytes",
    }

    for name, reason in reasons.items():
        with pytest.raises(ConfigError) as caught:
            read_text(tmp_path / name)
        assert str(caught.value) == f"{str(tmp_path / name)!r}: the file cannot be read: {reason}"


def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "opencode.json").write_bytes(b'{"model": "\xff"}')

    with pytest.raises(ConfigError, match="not UTF-8"):
        read_text(tmp_path / "opencode.json")
