"""Pages of many shapes as Markdown and as plain text, and those that would take too long or too much memory."""

import asyncio
import os
from typing import Final

import pytest

from activities.shell.supervisor.process import descendants
from activities.web.html_conversion import convert_page
from workflows.domain.errors import FetchError

URL: Final = "https://docs.example/guide/page.html"
DEEP: Final = "(What this page nests deeper than 1,000 elements is left out; the format html has it.)"

# name: page, its Markdown
SHAPES: Final[dict[str, tuple[str, str]]] = {
    "a table": (
        "<table><caption>Prices</caption><thead><tr><th>Name<th>Price|unit</thead>"
        "<tbody><tr><td>Apple<td>1<tr><td colspan=2>both</table>",
        "*Prices*\n\n| Name | Price\\|unit |\n| --- | --- |\n| Apple | 1 |\n| both | |",
    ),
    "a table within a table": (
        "<table><tr><td>a<td>b<tr><td>c<td><table><tr><td>inner</table></table>",
        "| a | b |\n| --- | --- |\n| c | inner |",
    ),
    "a block of code": (
        "<pre><code class=\"language-python\">def f():\n    return '&lt;x&gt;'\n</code></pre>",
        "```python\ndef f():\n    return '<x>'\n```",
    ),
    "a fence in a block of code": ("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"),
    "code with colours": (
        "<div class=highlight><pre><span class=k>if</span> <span>x</span>:\n<span></span>    y</pre></div>",
        "```\nif x:\n    y\n```",
    ),
    "code in a line": ("<p>Use <code>a`b</code> and <code>*x*</code>", "Use ``a`b`` and `*x*`"),
    "nested lists": (
        "<ul><li>one<ol><li>first<ul><li>deep</ul><li>second</ol><li>two</ul>",
        "- one\n  1. first\n     * deep\n  2. second\n- two",
    ),
    "a list that begins at five": ("<ol start=5><li>five<li>six</ol>", "5. five\n6. six"),
    "code in a list": (
        "<ul><li><p>a</p><pre>x\n  y</pre></ul>",
        "- a\n\n  ```\n  x\n    y\n  ```",
    ),
    "a form": (
        "<form><label>Name <input name=n></label><select><option>A<option>B</select><button>Send</button></form>",
        "Name A B Send",
    ),
    "scripts and styles": (
        "<head><title>T</title><style>p{}</style><script>var x='<p>HIDDEN</p>'</script></head><body onload=a()>"
        "<p>Hi<script type=application/json>{}</script><noscript>none</noscript><template><p>none</template>",
        "Hi",
    ),
    "what is not shown": ("<p hidden>a</p><p style='display:none'>b</p><p>seen</p>", "seen"),
    "a base for links": (
        "<base href='https://other.example/dir/'><a href=p.html>a</a> <a href=/q>b</a> <a href=//h.example/x>c</a>",
        "[a](https://other.example/dir/p.html) [b](https://other.example/q) [c](https://h.example/x)",
    ),
    "links of the page": (
        "<a href=next.html>next</a> <a href=#f>there</a> <img src=/i.png alt=Pic>",
        "[next](https://docs.example/guide/next.html) [there](https://docs.example/guide/page.html#f) "
        "![Pic](https://docs.example/i.png)",
    ),
    "a picture in the page": ("<img src='data:image/png;base64,AAAA' alt=chart>", "chart"),
    "broken markup": (
        "<p>one<p>two <b>bold <i>both</b> it</i></span><div>x</div></p><a href=/u>unclosed <p>last",
        "one\n\ntwo **bold *both*** *it*\n\nx\n\n[unclosed last](https://docs.example/u)",
    ),
    "frames": ("<frameset><frame src=a.html><noframes>old <b>text</b></noframes></frameset>", "old **text**"),
    "a frame within": (
        "<p>a</p><iframe src=https://e.example/x>no</iframe><p>b",
        "a\n\n[iframe](https://e.example/x)\n\nb",
    ),
    "from right to left": (
        "<html dir=rtl lang=ar><h1>مرحبا</h1><p>שלום <b>עולם</b> 123",
        "# مرحبا\n\nשלום **עולם** 123",
    ),
    "entities": (
        "<p>&lt;tag&gt; &amp;amp; &copy; &#8212; &#x1F600; &hellip; AT&T &#0;&#xD800;",
        "<tag> &amp; © — 😀 … AT&T \ufffd\ufffd",
    ),
    "what looks like Markdown": (
        "<p>* no list<p># no heading<p>1. no list",
        "\\* no list\n\n\\# no heading\n\n1\\. no list",
    ),
    "headings": ("<h1>A <small>b</small></h1><h6>six</h6>", "# A b\n\n###### six"),
    "quotations": ("<blockquote><p>a</p><blockquote>b</blockquote></blockquote>", "> a\n>\n> > b"),
    "navigation": ("<nav><a href=/d>Docs</a></nav><main><h1>T</h1></main>", "[Docs](https://docs.example/d)\n\n# T"),
    "comments": ("a<!-- c --> b", "a b"),
    "a NUL": ("<p>a\0b", "ab"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_page_keeps_its_structure(shape: str) -> None:
    page, markdown = SHAPES[shape]
    assert await convert_page(page, "markdown", URL) == markdown


async def test_plain_text_has_no_marks() -> None:
    page = "<h1>T</h1><p>a <b>b</b> <a href=x>c</a></p><ul><li>one<li>two</ul><script>x</script><pre>x\n  y</pre>"
    assert await convert_page(page, "plain", URL) == "T\n\na b c\n\n- one\n- two\n\nx\n  y"


async def test_what_is_too_deep_is_said_to_be_missing() -> None:
    page = "<p>before</p>" + "<div>" * 2000 + "x" + "</div>" * 2000 + "<p>after</p>"
    assert await convert_page(page, "markdown", URL) == f"before\n\nafter\n\n{DEEP}"


async def test_a_large_page_does_not_hold_up_the_worker() -> None:
    page = "<h2>S</h2><p>Some <b>bold</b> <a href=x>text</a><ul><li>one<li>two</ul>" * 20_000
    longest, last = 0.0, asyncio.get_running_loop().time()

    async def measure() -> None:
        nonlocal longest, last
        while True:
            now = asyncio.get_running_loop().time()
            longest, last = max(longest, now - last), now
            await asyncio.sleep(0.001)

    measuring = asyncio.create_task(measure())
    text = await convert_page(page, "markdown", URL)
    measuring.cancel()
    assert text.count("## S") == 20_000 and longest < 0.5


async def test_text_that_would_be_endless_is_refused() -> None:
    links = "<a href=x>y</a>" * 20_000
    with pytest.raises(FetchError, match="too long as text: ask for the format html"):
        await convert_page(links, "markdown", f"https://docs.example/{'d' * 4000}/")


async def test_what_needs_too_much_memory_is_refused() -> None:
    links = "<a href=x>y</a>" * 300_000  # more than two gigabytes with this address
    with pytest.raises(FetchError, match="takes too long, or too much memory: ask for the format html"):
        await convert_page(links, "markdown", f"https://docs.example/{'d' * 8000}/")


async def test_a_conversion_that_is_cancelled_leaves_no_process() -> None:
    before = set(descendants(os.getpid()))
    converting = asyncio.create_task(convert_page("<p>x" * 300_000, "markdown", URL))
    async with asyncio.timeout(30):
        while not (begun := set(descendants(os.getpid())) - before):
            await asyncio.sleep(0.01)
    converting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await converting
    assert not begun & set(descendants(os.getpid()))
