"""The file of keys."""

import multiprocessing
import os
import stat
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from activities.credentials.keys import Keys
from workflows.domain.errors import UsageError


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path / "data" / "auth.json")


def test_a_key_is_kept_listed_and_forgotten(keys: Keys) -> None:
    keys.set("openai", "sk-1")
    keys.set("anthropic", "sk-2")

    assert keys.list() == ("anthropic", "openai")
    assert secret(keys, "openai") == "sk-1"
    assert keys.remove("openai")
    assert not keys.remove("openai")
    assert keys.list() == ("anthropic",)


def test_an_empty_name_forgets_no_key(keys: Keys) -> None:
    keys.set("anthropic", "sk-1")
    with pytest.raises(UsageError, match="A key's name"):
        keys.remove("anthropic", "")
    assert keys.list() == ("anthropic",)


def test_parallel_logins_lose_no_key(keys: Keys) -> None:
    names = [f"provider-{number}" for number in range(20)]
    with ProcessPoolExecutor(4, multiprocessing.get_context("spawn")) as programs:
        list(programs.map(Keys.set, [keys] * len(names), names, names))
    assert set(keys.list()) == set(names)


def test_without_a_file_there_are_no_keys(keys: Keys) -> None:
    assert keys.list() == ()
    assert keys.get("openai") is None


def test_only_the_owner_can_read_the_file_under_any_umask(keys: Keys) -> None:
    before = os.umask(0)
    try:
        keys.set("openai", "sk-1")
    finally:
        os.umask(before)

    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(keys.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o644, 0o620])
def test_a_file_that_others_may_open_is_refused_with_the_way_out(keys: Keys, mode: int) -> None:
    keys.set("openai", "sk-1")
    keys.path.chmod(mode)

    with pytest.raises(UsageError, match=r"chmod 600"):
        keys.get("openai")


def test_a_pipe_in_place_of_the_file_is_refused_at_once(keys: Keys) -> None:
    keys.path.parent.mkdir(parents=True)
    os.mkfifo(keys.path, 0o600)

    with pytest.raises(UsageError, match="not a regular file"):
        keys.get("openai")


@pytest.mark.parametrize("content", ["{", '{"openai": "sk-secret"}', '{"openai": {"type": "api"}}'])
def test_a_damaged_file_is_refused_without_showing_it(keys: Keys, content: str) -> None:
    keys.set("openai", "sk-1")
    keys.path.write_text(content)

    with pytest.raises(UsageError, match="damaged") as caught:
        keys.list()
    assert "secret" not in str(caught.value)


def test_a_write_leaves_nothing_but_the_file(keys: Keys) -> None:
    keys.set("openai", "sk-1")

    assert [path.name for path in keys.path.parent.iterdir()] == ["auth.json"]


def test_a_key_does_not_show_in_the_text_of_a_value(keys: Keys) -> None:
    keys.set("openai", "sk-1")

    assert "sk-1" not in repr(keys.get("openai"))


def test_a_key_with_a_name_is_apart_from_the_others(keys: Keys) -> None:
    keys.set("anthropic", "sk-1")
    keys.set("anthropic", "sk-2", "work")

    assert keys.list() == ("anthropic",) and keys.entries() == (("anthropic", None), ("anthropic", "work"))
    assert (secret(keys, "anthropic"), {*keys.values()}) == ("sk-1", {"sk-1", "sk-2"})
    assert keys.remove("anthropic") and keys.entries() == (("anthropic", "work"),)


def secret(keys: Keys, provider: str) -> str | None:
    found = keys.get(provider)
    return found.get_secret_value() if found else None
