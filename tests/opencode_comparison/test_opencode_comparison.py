"""What a model is sent for people's own repositories, compared with what OpenCode sends it."""

import asyncio
import json
import re
from collections import deque
from collections.abc import Iterator
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from typing import Any, Final

import pytest
from pydantic import JsonValue

from tests.harness import Harness
from tests.opencode_comparison.decided_differences import DECIDED
from tests.opencode_comparison.record_opencode import KEPT
from tests.opencode_comparison.repositories import Repository, repositories
from tests.opencode_comparison.request_structure import RequestReader
from tests.worker.cli.conftest import shell
from tests.workflows.conftest import Open
from worker.scripted.model_server import ReceivedRequest

_SCRIPT: Final = re.compile(r"\[\[script:([\w.-]+)\]\]")


def differences(theirs: JsonValue, ours: JsonValue, at: str = "") -> Iterator[tuple[str, JsonValue, JsonValue]]:
    """The places where they differ, as paths, and what stands there. Items of lists are matched by their kinds."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in [*theirs, *(name for name in ours if name not in theirs)]:
            yield from differences(theirs.get(name), ours.get(name), f"{at}/{name}")
    elif isinstance(theirs, list) and isinstance(ours, list):
        for one, other in matched(theirs, ours):
            yield from differences(one, other, f"{at}/{kind(one if other is None else other)}")
    elif theirs != ours:
        yield at, theirs, ours


def matched(theirs: list[JsonValue], ours: list[JsonValue]) -> Iterator[tuple[JsonValue, JsonValue]]:
    kinds = [kind(each) for each in theirs], [kind(each) for each in ours]
    for tag, start, end, our_start, our_end in SequenceMatcher(None, *kinds, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from zip(theirs[start:end], ours[our_start:our_end], strict=True)
        else:
            yield from ((each, None) for each in theirs[start:end])
            yield from ((None, each) for each in ours[our_start:our_end])


def kind(item: JsonValue) -> str:
    """Of a message its role, of a request that it is one, of a layer or part what it is."""
    if not isinstance(item, dict):
        return str(item)
    return str(item.get("role") or next(iter(item)))


def by_run(received: deque[ReceivedRequest], reader: RequestReader) -> dict[str, list[JsonValue]]:
    found: dict[str, list[JsonValue]] = {}
    for request in received:
        (name,) = set(_SCRIPT.findall(json.dumps(request.body["messages"])))
        found.setdefault(name, []).append(reader.structure(request.body))
    return found


async def played(repository: Repository, harness: Harness) -> dict[str, list[JsonValue]]:
    """Our requests of each run, which are all made at once: the person trusts the project."""
    home = harness.project.parent
    directory = repository.install(home, harness.project)
    harness.configure_person(model={"name": "model", "limit": {"context": 128_000, "output": 8_000}})
    harness.model.received = deque()
    harness.model.scripts = repository.scripts(harness.project)
    person = shell(harness)
    typed = [["run", "-m", "scripted/model", *run.flags, "--", run.text] for run in repository.runs]
    await person.at(directory).run("trust", "--yes")  # as OpenCode does, unasked
    async with harness.running_worker():
        ended = await asyncio.gather(*(person.at(directory).run(*each) for each in typed))
    failed = [(run.name, each.err) for run, each in zip(repository.runs, ended, strict=True) if each.code]
    assert not failed
    return by_run(harness.model.received, RequestReader(harness.project, home, repository.texts()))


@pytest.mark.parametrize("repository", repositories(), ids=lambda each: each.name)
async def test_a_model_is_sent_what_opencode_sends_it_but_for_what_was_decided(
    repository: Repository, open_harness: Open
) -> None:
    theirs: dict[str, Any] = json.loads((KEPT / f"{repository.name}.json").read_text("utf-8"))
    async with open_harness() as harness:
        ours = await played(repository, harness)

    found = list(differences(theirs, {**ours}))
    undecided = [each for each in found if not any(fnmatchcase(each[0], place) for place in DECIDED)]
    assert not undecided, "\n".join(f"{at}\n  theirs: {one}\n  ours:   {other}" for at, one, other in undecided)
