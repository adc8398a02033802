"""What the directory of a run says, as far as the person who starts it should know."""

from collections.abc import Iterator
from typing import Final

from activities.model.providers import must_be_known, parted
from worker import handover
from worker.cli.look.text import counted, line, prose
from worker.settings import Settings
from worker.survey import model_of
from workflows.domain.config.config import Mode
from workflows.domain.config.references import has_reference
from workflows.domain.config.snapshot import IgnoredFiles, ProjectSnapshot
from workflows.domain.errors import UsageError

_LONGEST: Final = 300  # characters of a path or a reason
_RULED: Final = 20  # agents of one folder whose rules do not hold


def remarks(settings: Settings, snapshot: ProjectSnapshot) -> Iterator[str]:
    """What of the configuration has no effect, and why. Raises UsageError where the file of handed-over keys is
    damaged."""
    for held in snapshot.held_back:
        where = f"{line(held.field)} of {line(held.file, _LONGEST)}"
        yield f"Ignored from the project's configuration: {where}: {line(held.why, _LONGEST)}."
    for field in snapshot.not_honoured:
        yield f"Ignored (not supported yet): {line(field.field)} of {line(field.file, _LONGEST)}."
    for files in snapshot.ignored:
        yield from _ignored(files)
    for warning in snapshot.warnings:
        yield f"Warning: {prose(warning)}"
    yield from _speechless(snapshot)
    if lacking := handover.lacking(settings, snapshot.config):
        named = ", ".join(line(each, _LONGEST) for each in lacking)
        yield (
            f"Warning: the worker lacks what the configuration refers to: {named}. Variables that are set in the shell "
            "of `holdfast run` are handed over."
        )


def _speechless(snapshot: ProjectSnapshot) -> Iterator[str]:
    """Subagents whose own model cannot be asked: the task begins, and may never need them."""
    for agent in snapshot.delegation.agents:
        if agent.model is None or has_reference(agent.model) or agent.mode is Mode.PRIMARY:
            continue
        try:
            must_be_known(parted(agent.model)[0], snapshot.config.provider)
        except UsageError as error:
            yield f"Warning: the subagent {line(agent.name)} cannot work: {prose(str(error))}"


def _ignored(files: IgnoredFiles) -> Iterator[str]:
    folder, unnamed = line(files.folder, _LONGEST), files.count - len(files.names)
    names = ", ".join([*map(line, files.names), *([f"and {unnamed} more"] if unnamed else [])])
    yield f"Ignored (not supported yet): {counted(files.count, files.kind)} in {folder}: {names}."
    for name in files.ruled[:_RULED]:
        yield (
            f"Warning: what {line(name)} in {folder} denies is not denied, because files of agents are not read: "
            "write its rules into opencode.json, as `agent.NAME.permission`."
        )
    if (more := len(files.ruled) - _RULED) > 0:
        yield f"Warning: so it is with {counted(more, 'more file')} of agents in {folder}."


def chosen_model(settings: Settings, snapshot: ProjectSnapshot, named: str | None) -> str:
    """The model that a turn of this directory uses; `named` is that of a flag or of the session.

    Raises UsageError when nothing names one, or none that can be asked.
    """
    model = model_of(snapshot, named)
    if model is None:
        raise UsageError(
            "No model is chosen: name one with `-m provider/model`, or for good as `model` in this directory's "
            f"opencode.json or in {str(settings.config / 'opencode.json')!r}."
        )
    return model
