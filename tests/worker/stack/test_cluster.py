"""The cluster's directories: private, without changes to other rights."""

from pathlib import Path

import pytest

from worker.settings import Settings
from worker.stack import accounts, cluster
from worker.stack.layout import Layout
from worker.stack.up import up
from workflows.domain.errors import UsageError


async def test_no_existing_directory_changes_its_rights(home: Settings) -> None:
    home.home.mkdir(mode=0o755)
    existing = [
        path
        for path in (home.home, *home.home.parents, accounts.SYSTEM_STATE, *accounts.SYSTEM_STATE.parents)
        if path.exists()
    ]
    before = [(path, path.stat().st_mode, path.stat().st_uid) for path in existing]

    await up(home, print, worker=False)

    assert [(path, path.stat().st_mode, path.stat().st_uid) for path in existing] == before


async def test_a_directory_that_others_may_enter_is_refused(home: Settings) -> None:
    found = await cluster.locate(home)
    found.root.mkdir(parents=True)
    found.root.chmod(0o755)

    with pytest.raises(UsageError, match="mode 0700"):
        await cluster.create(found, home, print)


@pytest.mark.parametrize("name", ["a\nb", f"{'a' * 200}/{'b' * 200}/{'c' * 200}/{'d' * 200}/{'e' * 100}"])
async def test_a_path_that_postgres_does_not_take_is_refused_before_anything_is_made(home: Settings, name: str) -> None:
    root = home.home / name
    root.parent.mkdir(parents=True)
    odd = (await cluster.locate(home)).model_copy(update={"root": root, "sockets": root / "run"})

    with pytest.raises(UsageError, match="HOLDFAST_HOME"):
        await cluster.create(odd, home, print)

    assert not root.exists()


@pytest.mark.parametrize("name", ["a,b", 'a"b', "a" * 100])
def test_sockets_lie_where_settings_and_addresses_can_name_them(home: Settings, name: str) -> None:
    assert cluster.sockets_of(home, Path("/home") / name).parent == Path("/tmp")
    assert cluster.sockets_of(home, Path("/home/a b%20?#c")) == Path("/home/a b%20?#c/run")


async def test_a_half_made_cluster_is_made_anew(home: Settings) -> None:
    Layout(home=home.home).create()
    found = await cluster.locate(home)
    await cluster.create(found, home, print)
    found.data.rename(found.root / "data.new")
    (found.root / "data.new" / "PG_VERSION").unlink()

    await cluster.create(found, home, print)

    assert cluster.data_version(found.root) == found.binaries.major


async def test_the_data_say_whose_they_are(home: Settings) -> None:
    Layout(home=home.home).create()
    found = await cluster.locate(home)

    await cluster.create(found, home, print)

    assert Path((found.root / "HOME").read_text().strip()) == home.home
