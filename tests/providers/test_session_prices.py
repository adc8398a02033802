"""The page's prices of a long session."""

from bench.prices import BEGIN, END, MODELS, PAGE, price_sessions, public_name

AGAIN = ("deepseek/deepseek-v4-pro", "anthropic/claude-sonnet-4-5")  # all of them take twenty seconds


async def test_the_page_has_each_model_and_the_prices_of_today() -> None:
    text = PAGE.read_text("utf-8")
    rows = [row for row in text[text.index(BEGIN) : text.index(END)].splitlines(keepends=True) if "`" in row]
    assert [row.split("`")[1] for row in rows] == [*map(public_name, MODELS)]
    assert all(each.row in rows for each in await price_sessions(AGAIN)), "write it anew: python -P -m bench.prices"
