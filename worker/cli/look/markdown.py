"""A model's Markdown as rows of a terminal, with nothing in it that hides, links or acts.

Only imported where a terminal shows text: rich takes a while to load.
"""

from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown
from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from worker.cli.look.text import prose

_WIDEST: Final = 100  # columns: longer lines are hard to read
_NARROWEST: Final = 24
_NESTED: Final = 6  # levels of lists and quotes, each of which takes columns
_THEME: Final = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.block_quote": "dim",
        "markdown.item.bullet": "dim",
        "markdown.item.number": "dim",
        "markdown.link": "none",
        "markdown.link_url": "dim",
        "markdown.hr": "dim",
        "markdown.table.header": "bold",
        "markdown.table.border": "dim",
    }
)
# HTML, entities and images are text like any other, and a definition of a link does not vanish: what the model has
# written is seen.
_PARSER: Final = (
    MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTED * 2})
    .enable(["strikethrough", "table"])
    .disable(["entity", "image", "reference"])
)


class _Heading(markdown.Heading):
    """A heading at the left, like every line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.text.plain, style="bold underline" if self.tag == "h1" else "bold")


class _Code(markdown.CodeBlock):
    """Code in the terminal's own colours, on its own ground."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip("\n")
        shown = Syntax(code, self.lexer_name, theme="ansi_dark", background_color="default", word_wrap=True)
        yield Padding(shown, (0, 0, 0, 2))


class _Markdown(markdown.Markdown):
    elements = {
        **markdown.Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, source: str) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = [_broken(token) for token in _PARSER.parse(source)]


def blocks(source: str) -> list[str]:
    """`source` in its outermost blocks; only the last of them may change by what is written behind it."""
    lines = source.split("\n")
    starts = [token.map[0] for token in _PARSER.parse(source) if token.level == 0 and token.map and token.nesting >= 0]
    bounds = [0, *starts[1:], len(lines)]
    return ["\n".join(lines[begin:end]) for begin, end in zip(bounds, bounds[1:], strict=False)]


def rows(source: str, columns: int) -> list[str]:
    """The rows that show `source`, styled; no blank ones around them."""
    console = Console(width=max(min(columns, _WIDEST), _NARROWEST), theme=_THEME, highlight=False, emoji=False)
    rendered = console.render_lines(_Markdown(source), pad=False)
    shown = ["".join(map(_styled, each)).rstrip() for each in rendered]
    return shown[_blanks(shown) : len(shown) - _blanks(shown[::-1])]


def _styled(segment: Segment) -> str:
    text = prose(segment.text)
    return segment.style.render(text, color_system=ColorSystem.STANDARD) if segment.style else text


def _blanks(shown: list[str]) -> int:
    """How many rows are blank before the first that is not."""
    return next((place for place, each in enumerate(shown) if each), len(shown))


def _broken(token: Token) -> Token:
    """A line break that the model has written is kept."""
    for child in token.children or ():
        if child.type == "softbreak":
            child.type = "hardbreak"
    return token
