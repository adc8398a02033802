"""Says which files of a prompt a model cannot see."""

from collections.abc import Sequence
from contextlib import suppress

from activities.files.file_type import PDF, PICTURES
from activities.model import catalogue
from activities.model.model_table import ModelTables
from worker.cli.command_support import print_note
from worker.cli.render.escaping import escape_exact
from worker.settings import Settings
from workflows.domain.config.config import Config
from workflows.domain.errors import UsageError
from workflows.domain.messages import FilePart


def warn_of_unseen_files(settings: Settings, config: Config, model: str | None, files: Sequence[FilePart]) -> None:
    """As far as is known, of pictures and PDF files."""
    media = [part for part in files if part.mime in (PDF, *PICTURES)]
    if model is None or not media:
        return
    with suppress(UsageError):  # the turn says why it cannot be asked
        facts = catalogue.facts_of(model, config.provider, ModelTables(settings.models_file))
        for part in media:
            if not (facts.documents if part.mime == PDF else facts.images):
                kind = "read PDF files" if part.mime == PDF else "see pictures"
                name = escape_exact(part.filename or "")
                print_note(
                    f"{escape_exact(model)} cannot {kind}, as far as is known: it learns only that {name} is there."
                )
