"""The cache of the values used last: by number, and by size."""

from activities.store.lru_cache import LruCache


def kept(cache: LruCache[str, str], *keys: str) -> list[str]:
    return [key for key in keys if cache.get(key) is not None]


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache: LruCache[str, str] = LruCache(2)
    cache.put("a", "1")
    cache.put("b", "2")
    assert cache.get("a") == "1"
    cache.put("c", "3")
    assert kept(cache, "a", "b", "c") == ["a", "c"]


def test_a_value_is_replaced_and_taken_once() -> None:
    cache: LruCache[str, str] = LruCache(2)
    for value in ("1", "2", "3"):
        cache.put("a", value)
    cache.put("b", "4")
    assert (cache.pop("a"), cache.pop("a"), kept(cache, "a", "b")) == ("3", None, ["b"])


def test_values_have_a_size_together_and_one_that_is_too_large_is_not_kept() -> None:
    cache: LruCache[str, str] = LruCache(10, len)
    cache.put("a", "1234")
    cache.put("b", "123456")
    cache.put("c", "1")
    assert kept(cache, "a", "b", "c") == ["b", "c"]
    cache.put("c", "12345678901")
    assert kept(cache, "b", "c") == ["b"]
    cache.put("d", "1234")
    assert kept(cache, "b", "d") == ["b", "d"]
