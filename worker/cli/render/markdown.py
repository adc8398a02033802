"""A model's Markdown as rows of a terminal, without hidden text, links or control characters.

Start-up time: imported only where a terminal shows an answer, as rich takes 60 ms to load.
"""

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from worker.cli.render.console import Row, render_rows
from worker.cli.render.wrap import wrap_text

_WIDEST: Final = 100  # columns: longer lines are hard to read
_NARROWEST: Final = 24
_MOST_LEVELS: Final = 12  # two for a list, one for a quote: each takes columns
_LANGUAGE: Final = re.compile(r"[\w.+#-]{0,20}")
_CONTAINERS: Final = ("blockquote_open", "list_item_open")
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
    MarkdownIt("commonmark", {"html": False, "maxNesting": _MOST_LEVELS})
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
        self.parsed = [_shown_whole(token) for token in _PARSER.parse(source)]
        deepest = (token for token in self.parsed if token.level >= _MOST_LEVELS - 1)
        self.lacks_text = any(token.type in _CONTAINERS for token in deepest)  # which the parser reads nothing of


def split_blocks(source: str) -> list[str]:
    """The outermost blocks; more text can change only the last one."""
    lines = source.split("\n")
    starts = [token.map[0] for token in _PARSER.parse(source) if token.level == 0 and token.map and token.nesting >= 0]
    bounds = [0, *starts[1:], len(lines)]
    return ["\n".join(lines[begin:end]) for begin, end in zip(bounds, bounds[1:], strict=False)]


def render_markdown(source: str, columns: int) -> list[Row]:
    """Styled rows, without outer blank ones. What is nested too deeply is shown as it is written."""
    width, shown = max(min(columns, _WIDEST), _NARROWEST), _Markdown(source)
    rows = [*wrap_text(source, width)] if shown.lacks_text else render_rows(shown, width, _THEME)
    filled = [number for number, row in enumerate(rows) if row]
    return [*rows[filled[0] : filled[-1] + 1]] if filled else []


def _shown_whole(token: Token) -> Token:
    """The token with its line breaks, and with the text behind a fence if that is more than a language."""
    for child in token.children or ():
        if child.type == "softbreak":
            child.type = "hardbreak"
    if token.type == "fence" and _LANGUAGE.fullmatch(token.info.strip()) is None:
        token.content, token.info = f"{token.markup}{token.info}\n{token.content}", ""
    return token
