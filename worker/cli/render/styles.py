"""Rows with styles: texts of rich, which is loaded where the first one is made."""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rich.style import Style
    from rich.text import Text

Row: TypeAlias = "str | Text"


def styled(text: str, style: "str | Style") -> "Text":
    """A text in a style of rich, such as "bold red"; nothing in it is read as markup."""
    from rich.text import Text  # start-up time

    return Text.styled(text, style)


def joined(*parts: Row) -> "Text":
    text = styled("", "")
    for part in parts:
        text.append(part)
    return text
