"""Exact data behind a YAML text, believed as long as the text says what it said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.support import strict_yaml
from dse.support.errors import InputError
from dse.support.strict_yaml import NOTE, NOTE_WIDTH, noted_data, with_note

pytest.importorskip("yaml")

TEXT = "# a head\nsize: 4\nnames: [a, b]\n"


@given(st.recursive(st.none() | st.integers() | st.text(max_size=300), st.lists, max_leaves=20))
def test_a_note_comes_back_whatever_it_holds(exact: object) -> None:
    text = with_note(TEXT, "thing", {"it": exact})
    data = strict_yaml.parse_yaml(text, "here")
    assert data == strict_yaml.parse_yaml(TEXT, "here")
    assert noted_data(text, data, "thing", "here") == {"it": exact}
    assert max(map(len, text.splitlines())) <= NOTE_WIDTH
    assert noted_data(text, data, "another", "here") is None


def test_a_note_counts_for_nothing_once_the_data_are_others() -> None:
    text = with_note(TEXT, "thing", 7)
    for changed, said in ((text.replace("size: 4", "size: 5"), None), (text.replace("a head", "mine"), 7)):
        assert noted_data(changed, strict_yaml.parse_yaml(changed, "here"), "thing", "here") == said
    assert noted_data(TEXT, strict_yaml.parse_yaml(TEXT, "here"), "thing", "here") is None


@pytest.mark.parametrize("note", ["{", "7", '"of"', "[]"])
def test_a_note_that_is_none_is_refused(note: str) -> None:
    with pytest.raises(InputError, match="here: its last lines, which begin with #:"):
        noted_data(TEXT + NOTE + note + "\n", {}, "thing", "here")
