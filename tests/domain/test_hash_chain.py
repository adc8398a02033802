"""Canonical bytes and the hash chain."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.hash_chain import GENESIS, canonical_json, chain_hash, salted_hash

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_keys_are_sorted_and_nothing_is_blank() -> None:
    assert canonical_json({"b": [1, None], "a": "ä"}) == '{"a":"ä","b":[1,null]}'.encode()


def test_floats_are_refused() -> None:
    with pytest.raises(TypeError, match="decimal string"):
        canonical_json({"cost": [0.5]})


@given(JSON, JSON)
def test_different_values_never_share_their_bytes(one: object, other: object) -> None:
    assert (canonical_json(one) == canonical_json(other)) == (repr(_ordered(one)) == repr(_ordered(other)))


def test_a_lone_surrogate_keeps_its_place() -> None:
    assert canonical_json("\ud800") != canonical_json("?") and canonical_json("a\x00b") != canonical_json("ab")


def test_a_link_depends_on_what_came_before() -> None:
    first = chain_hash(GENESIS, b"{}")
    assert first == hashlib.sha256(b"holdfast-event/1\x00" + bytes(32) + b"{}").digest()
    assert chain_hash(first, b"{}") != first


def test_a_seal_hides_equal_contents() -> None:
    assert salted_hash(b"salt", b"x") != salted_hash(b"pepper", b"x")


def _ordered(value: object) -> object:
    if isinstance(value, dict):
        return sorted((key, repr(_ordered(item))) for key, item in value.items()), "object"
    return [_ordered(item) for item in value] if isinstance(value, list) else value
