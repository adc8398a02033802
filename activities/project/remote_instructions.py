"""Instructions that a configuration names by addresses on the net (opencode.md 6.4)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from activities.project.instructions import MAX_INSTRUCTION_BYTES, instruction_urls
from activities.web.remote_copies import RemoteSource, describe_problem, read_copy
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.trust_items import TrustItem
from workflows.domain.config.turn_config import Instruction

MAX_ADDRESSES: Final = 50


@dataclass
class RemoteInstructions:
    """`wanted`: what a worker is to fetch."""

    instructions: list[Instruction] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    wanted: list[RemoteSource] = field(default_factory=list)


def read_remote_instructions(
    data: Path, layers: Iterable[ConfigLayer], may_fetch: Callable[[str], bool]
) -> RemoteInstructions:
    """From the copies in Holdfast's `data` directory, in the order of `layers`."""
    found = RemoteInstructions()
    for layer, url in _addresses(layers, found):
        if not may_fetch(url):
            found.warnings.append(f"{layer.file}: {url} is left out: your rules deny webfetch of it.")
            continue
        found.wanted.append(RemoteSource(url=url))
        copy = read_copy(data, url)
        if (problem := describe_problem(url, layer.file, copy)) is not None:
            found.warnings.append(problem)
        text = copy.text.strip() if copy is not None and copy.text is not None else ""
        if text:
            cut = text.encode()[:MAX_INSTRUCTION_BYTES].decode("utf-8", "ignore")
            found.instructions.append(Instruction(path=url, text=cut, complete=cut == text))
    return found


def foreign_addresses(layers: Iterable[ConfigLayer]) -> Iterator[TrustItem]:
    """The addresses in files that are not the user's own."""
    for layer in layers:
        for url in instruction_urls(layer):
            yield TrustItem(file=layer.file, path=("instructions", url), value=url)


def _addresses(layers: Iterable[ConfigLayer], found: RemoteInstructions) -> Iterator[tuple[ConfigLayer, str]]:
    """Each address once, with its layer."""
    known = set[str]()
    for layer in layers:
        for url in instruction_urls(layer):
            if url not in known and len(known) == MAX_ADDRESSES:
                found.warnings.append(
                    f"{layer.file}: only the first {MAX_ADDRESSES} addresses of instructions are read."
                )
                return
            elif url not in known:
                known.add(url)
                yield layer, url
