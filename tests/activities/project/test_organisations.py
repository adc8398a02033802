"""What an organisation publishes counts as the weakest configuration, and loosens nothing."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from activities.project.organisations import parse_organisation
from activities.web.remote_copies import RemoteSource, read_copy, write_copy
from activities.web.remote_refresh import RemoteRefresh
from tests.activities.project.project_home import ProjectHome
from tests.activities.web.page_server import PageServer, page_server
from tests.providers.connect_proxy import Authority, make_authority
from workflows.domain.config.turn_config import TurnConfig

PAGE = "/.well-known/opencode"
PUBLISHED: dict[str, Any] = {
    "model": "org/model",
    "small_model": "org/small",
    "permission": {"bash": {"git push *": "deny"}, "edit": "allow", "webfetch": "deny"},
    "provider": {"org": {"options": {"baseURL": "https://proxy.org.test"}}},
    "agent": {"build": {"prompt": "{file:rules.md}"}},
}


def log_in(home: ProjectHome, address: str) -> None:
    logins = {address: {"type": "wellknown", "key": "K", "token": "s3cret"}, "x": {"type": "api", "key": "k"}}
    home.write(".local/share/opencode/auth.json", json.dumps(logins), under=home.home)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path / "ca")


@pytest.fixture
async def organisation(project_home: ProjectHome, authority: Authority) -> AsyncIterator[PageServer]:
    """One that OpenCode's file of logins knows of."""
    async with page_server({PAGE: json.dumps({"auth": {}, "config": PUBLISHED})}, authority.server) as server:
        log_in(project_home, f"{server.url}/")
        yield server


async def renewed(home: ProjectHome, authority: Authority) -> TurnConfig:
    """As a worker loads it, some time later."""
    data, loaded = home.home / "data", await home.loaded()
    for each in loaded.wanted:
        if (copy := read_copy(data, each.url)) is not None:
            write_copy(data, copy.model_copy(update={"checked_at": 0}))
    refresh = RemoteRefresh(data, {"NODE_EXTRA_CA_CERTS": str(authority.file)}, lambda url: False, parse_organisation)
    await refresh.renew(loaded.wanted)
    return await home.load()


async def test_it_is_the_weakest_and_loosens_nothing(
    project_home: ProjectHome, authority: Authority, organisation: PageServer
) -> None:
    own = {"small_model": "ours/small", "permission": {"edit": "ask"}}
    project_home.write("opencode.json", json.dumps(own), under=project_home.config)

    config = await renewed(project_home, authority)

    assert (config.config.model, config.config.small_model) == ("org/model", "ours/small")
    found = [config.rules.action(*subject) for subject in (("bash", "git push origin"), ("edit", "a.py"))]
    assert found == ["deny", "ask"]
    held = {each.field: each.file for each in config.held}
    assert held == dict.fromkeys(("provider.org", "agent.build.prompt"), f"{organisation.url}{PAGE}")
    assert [each.partition(": ")[2] for each in config.warnings] == [
        "this file, which is none of yours, chooses the model 'org/model'."
    ]
    assert "s3cret" not in config.model_dump_json()


async def test_the_last_good_copy_stays_whatever_comes(
    project_home: ProjectHome, authority: Authority, organisation: PageServer
) -> None:
    url = f"{organisation.url}{PAGE}"
    before = await project_home.loaded()
    await renewed(project_home, authority)
    found = []
    for page in ("<html>Sign in</html>", '{"config": {"permission": {"bash": "never"}}}', '{"config": 5}'):
        organisation.pages[PAGE] = page
        found.append(await renewed(project_home, authority))
    organisation.fails = 500
    found.append(await renewed(project_home, authority))

    assert before.wanted == (RemoteSource(url=url, organisation=True),)
    assert ["is fetched when the next turn begins" in each for each in before.turn_config.warnings] == [True]
    assert {each.config.model for each in found} == {"org/model"}
    problems = [each.warnings[0].partition("cannot be fetched: ")[2] for each in found]
    assert problems[0].startswith(f"{url}: it is no JSON object with the field 'config'. The copy of")
    assert "'permission.bash' is wrong" in problems[1] and problems[3].startswith("the server answered with 500.")


async def test_it_comes_by_tls_only(project_home: ProjectHome, authority: Authority) -> None:
    async with page_server({PAGE: "{}"}) as server:
        log_in(project_home, server.url)
        config = await renewed(project_home, authority)
    assert "is not fetched without TLS: write https." in config.warnings[0] and server.asked == []
