"""A model's Markdown as rows of a terminal, in which nothing hides, links or acts.

Start-up time: imported only where a terminal shows an answer, as rich takes 60 ms to load.
"""

from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from worker.cli.render.console import render_rows
from worker.cli.render.styles import Row

_WIDEST: Final = 100  # columns: longer lines are hard to read
_NARROWEST: Final = 24
_NESTED: Final = 6  # levels of lists and quotes: each takes columns
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
# HTML, entities, images and definitions of links are shown as text: what the model has
# written is seen.
_PARSER: Final = (
    MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTED * 2})
    .enable(["strikethrough", "table"])
    .disable(["entity", "image", "reference"])
)


class _Heading(markdown.Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.text.plain, style="bold underline" if self.tag == "h1" else "bold")


class _Code(markdown.CodeBlock):
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
        self.parsed = [_keep_line_breaks(token) for token in _PARSER.parse(source)]


def split_blocks(source: str) -> list[str]:
    """The outermost blocks; more text can change only the last one."""
    lines = source.split("\n")
    starts = [token.map[0] for token in _PARSER.parse(source) if token.level == 0 and token.map and token.nesting >= 0]
    bounds = [0, *starts[1:], len(lines)]
    return ["\n".join(lines[begin:end]) for begin, end in zip(bounds, bounds[1:], strict=False)]


def render_markdown(source: str, columns: int) -> list[Row]:
    """Styled rows, without outer blank ones."""
    rows = render_rows(_Markdown(source), max(min(columns, _WIDEST), _NARROWEST), _THEME)
    filled = [number for number, row in enumerate(rows) if row]
    return [*rows[filled[0] : filled[-1] + 1]] if filled else []


def _keep_line_breaks(token: Token) -> Token:
    for child in token.children or ():
        if child.type == "softbreak":
            child.type = "hardbreak"
    return token
