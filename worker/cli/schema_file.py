"""The option `--schema`: a file."""

import json
from pathlib import Path

from activities.tools.json_schema import check_schema
from workflows.domain.errors import UsageError
from workflows.domain.output_format import OutputFormat


def read_schema(file: str | None) -> OutputFormat | None:
    """Raises UsageError."""
    if file is None:
        return None
    try:
        schema = json.loads(Path(file).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"The schema {file!r} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The schema {file!r} is no JSON: {error}") from error
    if not isinstance(schema, dict):
        raise UsageError(f"The schema {file!r} is no JSON object.")
    check_schema(schema)
    return OutputFormat(json_schema=schema)
