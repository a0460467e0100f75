"""Names for plain data: the same whichever way they are worked out."""

from __future__ import annotations

import pytest

from dse.support.hashing import CANONICAL, digest, digest_text, digest_texts, split_around


@pytest.mark.parametrize(
    "texts", [[], ["a"], ['a "quoted" name', "tab\there", "größer", "\ud83d\ude00 \x00", "None"]]
)
def test_a_list_of_texts_has_the_digest_of_its_json(texts: list[str]) -> None:
    assert digest_texts(texts) == digest(texts)


@pytest.mark.parametrize("data", [{}, {"a": 1}, {"z": [1, 2]}, {"a": "x", "z": {"k": None}}])
def test_what_stands_around_a_value_is_the_canonical_json_of_the_whole(data: dict[str, object]) -> None:
    before, after = split_around(data, "k", CANONICAL)
    assert digest_text(f"{before}7{after}") == digest({**data, "k": 7})
