"""Every word that a model reads, as Markdown files; `load` reads one and fills it."""

import re
from functools import cache
from importlib import resources
from typing import Final

_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")


def render_prompt(name: str, /, **values: str) -> str:
    """The prompt `prompts/<name>.md`, with its `{{placeholders}}` filled.

    Raises LookupError if there is no such prompt, ValueError if placeholders and values differ.
    """
    text = _read(name)
    placeholders = set(_PLACEHOLDER.findall(text))
    if placeholders != values.keys():
        raise ValueError(
            f"prompt {name!r} needs exactly the values {sorted(placeholders)}: "
            f"missing {sorted(placeholders - values.keys())}, not used {sorted(values.keys() - placeholders)}"
        )
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


@cache
def _read(name: str) -> str:
    file = resources.files(__name__).joinpath(*f"{name}.md".split("/"))
    if not file.is_file():
        raise LookupError(f"there is no prompt {name!r}: expected the file prompts/{name}.md")
    return file.read_text(encoding="utf-8").strip()
