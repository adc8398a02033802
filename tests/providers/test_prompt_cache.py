"""The providers' caches, as their doubles bill them."""

from typing import Any

from activities.model.wires.router import WireRouter
from tests.providers import bills
from tests.providers.behaviours.conversation import Conversation
from tests.providers.behaviours.long_turn import Sizes, least_cached_share, play_long_turns
from tests.providers.behaviours.responses_wire import ResponsesWire
from tests.providers.prompt_cache import TOKEN, Bill, Piece, PrefixCache
from tests.providers.provider_double import serve_double

LOOK_BACK = 20


def piece(name: object, tokens: int = 100, *, marked: bool = False, settings: bytes = b"") -> Piece:
    return Piece(str(name).ljust(tokens * TOKEN).encode(), marked, settings)


def test_a_mark_finds_what_was_written_up_to_19_pieces_before_it() -> None:
    for added, read in ((19, 2000), (20, 0)):
        cache = PrefixCache(1024)
        first = piece("first", 2000, marked=True)
        assert cache.bill_marked([first], LOOK_BACK) == Bill(2000, 0, 2000)
        more = [piece(number, marked=number == added) for number in range(1, added + 1)]
        plain = Piece(first.content)
        assert cache.bill_marked([plain, *more], LOOK_BACK).read == read


def test_short_prefixes_are_not_written() -> None:
    cache, short = PrefixCache(1024), [piece("short", 1000, marked=True)]
    assert cache.bill_marked(short, LOOK_BACK) == cache.bill_marked(short, LOOK_BACK) == Bill(1000, 0)


def test_other_settings_leave_only_what_is_before_them() -> None:
    cache, system = PrefixCache(1024), piece("system", 2000, marked=True)

    def bill(settings: bytes) -> Bill:
        return cache.bill_marked([system, piece("message", marked=True, settings=settings)], LOOK_BACK)

    assert [bill(b"auto").read, bill(b"auto").read, bill(b"none").read] == [0, 2100, 2000]


def test_an_automatic_cache_reads_whole_steps_of_requests_with_the_same_key() -> None:
    cache, pieces = PrefixCache(1024), [piece("prompt", 1300)]
    bills_of = [cache.bill_automatic(pieces, 128, key) for key in ("a", "a", "b")]
    assert [bill.read for bill in bills_of] == [0, 1280, 0]


def test_openais_newer_models_read_up_to_an_earlier_message() -> None:
    usage = bills.openai_responses()
    prompt = {"role": "user", "content": "x" * 8000}
    call = {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "y" * 400}

    def details(*items: dict[str, Any]) -> dict[str, int]:
        found: dict[str, int] = usage({"model": "gpt-6-sol", "input": [*items]}, ())["input_tokens_details"]
        return found

    first = details(prompt)
    assert first["cached_tokens"] == 0 and first["cache_write_tokens"] > 2000
    assert details(prompt, call, result)["cached_tokens"] == first["cache_write_tokens"]


async def test_a_long_turn_is_cached_up_to_messages_too(port: WireRouter) -> None:
    class NewerWire(ResponsesWire):
        model = "openai/gpt-6-sol"

    wire = NewerWire()
    wire.bill()
    async with serve_double(wire.double):
        billed = await play_long_turns(Conversation(port, wire), Sizes(turns=(60,)))
    assert least_cached_share(billed) >= 0.95 and all(each.cache_write for each in billed)
