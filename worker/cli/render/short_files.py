"""Paths of configuration files, short and safe to show."""

from pathlib import Path

from worker.cli.render.escaping import escape_exact


def short_file(file: str) -> str:
    """A file's path below the current directory, or the home."""
    path = Path(file)
    for base, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            return escape_exact(prefix + str(path.relative_to(base)))
    return escape_exact(file)
