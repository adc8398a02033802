"""Says which files of a prompt a model cannot see."""

from contextlib import suppress
from pathlib import Path

from activities.files.file_type import PDF, media_type
from activities.files.named_files import find_named_files
from activities.model import catalogue
from activities.model.model_table import ModelTables
from activities.project.worktree import find_workspace
from worker.cli.command_support import print_note
from worker.cli.render.escaping import escape_exact
from worker.settings import Settings
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.prompt import Prompt


def warn_of_unseen_files(settings: Settings, turn_config: TurnConfig, model: str | None, prompt: Prompt | None) -> None:
    """Warn of pictures and PDF files that a step of the prompt would read and the model cannot see, as far as is
    known."""
    if model is None or prompt is None or not prompt.references:
        return
    with suppress(UsageError):  # the turn says why it cannot be asked
        facts = catalogue.facts_of(model, turn_config.config.provider, ModelTables(settings.models_file))
        for path in _named(prompt, turn_config):
            mime = media_type(b"", path)
            if mime is not None and not (facts.documents if mime == PDF else facts.images):
                kind = "read PDF files" if mime == PDF else "see pictures"
                name = escape_exact(path.name)
                print_note(
                    f"{escape_exact(model)} cannot {kind}, as far as is known: it learns only that {name} is there."
                )


def _named(prompt: Prompt, turn_config: TurnConfig) -> list[Path]:
    """The files that the prompt names, each once."""
    directory = Path(turn_config.directory)
    home = Path(turn_config.home or Path.home())
    workspace = find_workspace(directory, data=home, home=home, temporary=directory)
    found = find_named_files(prompt, workspace)
    return list(dict.fromkeys(Path(directory, str(each.arguments["filePath"])) for each in found))
