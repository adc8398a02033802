"""Every word that a model reads, as Markdown files; `load` reads one and fills it."""

import re
from functools import cache
from importlib import resources
from typing import Final

_GAP: Final = re.compile(r"\{\{(\w+)\}\}")


def load(name: str, /, **values: str) -> str:
    """The prompt `prompts/<name>.md`, its `{{gaps}}` filled and without blanks at its ends.

    Raises LookupError for a prompt that does not exist, ValueError when gaps and values differ: both are
    mistakes of the code that calls.
    """
    text = _read(name)
    gaps = set(_GAP.findall(text))
    if gaps != values.keys():
        raise ValueError(
            f"prompt {name!r} needs exactly the values {sorted(gaps)}: "
            f"missing {sorted(gaps - values.keys())}, not used {sorted(values.keys() - gaps)}"
        )
    return _GAP.sub(lambda gap: values[gap[1]], text)


@cache
def _read(name: str) -> str:
    file = resources.files(__name__).joinpath(*f"{name}.md".split("/"))
    if not file.is_file():
        raise LookupError(f"there is no prompt {name!r}: expected the file prompts/{name}.md")
    return file.read_text(encoding="utf-8").strip()
