"""What the directory of a run says, as far as the person who starts it should know."""

from collections.abc import Iterator

from activities.model.providers import parted
from worker.cli.look.text import line, prose
from worker.settings import Settings
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.errors import UsageError


def remarks(snapshot: ProjectSnapshot) -> Iterator[str]:
    """What of the configuration has no effect, and why."""
    for held in snapshot.held_back:
        yield f"Held back: {line(held.field)} of {line(held.file)}: {line(held.why, 300)}."
    for field in snapshot.not_honoured:
        yield f"Not honoured yet: {line(field.field)} of {line(field.file)}."
    for warning in snapshot.warnings:
        yield f"Warning: {prose(warning)}"


def chosen_model(settings: Settings, snapshot: ProjectSnapshot, named: str | None) -> str:
    """The model that a turn of this directory uses; `named` is that of a flag, unless an administrator has set one.

    Raises UsageError when nothing names one, or not in full.
    """
    model = (not snapshot.model_is_managed and named) or snapshot.agent.model or snapshot.config.model
    if model is None:
        raise UsageError(
            "No model is chosen: name one with `-m provider/model`, or for good as `model` in this directory's "
            f"opencode.json or in {str(settings.config / 'opencode.json')!r}."
        )
    parted(model)
    return model
