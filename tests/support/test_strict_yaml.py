"""YAML of others is read as plain data, and what would hang or mislead a reader is refused in one line."""

from __future__ import annotations

import time
from typing import Any

import pytest

from dse.support.errors import InputError

pytest.importorskip("yaml")

from dse.support.strict_yaml import parse_yaml

MERGES = "a0: &a0 {k: v}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
)
ALIASES = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", None),
        ("\ufeff# a comment alone\n", None),
        ("{a: 1, b: [2.5, true, ~, 'no'], c: text}", {"a": 1, "b": [2.5, True, None, "no"], "c": "text"}),
        ("on: 1\n1: on", {"on": 1, "1": True}),
        ("when: 2026-01-02\nratio: 1e5\nhex: 0x10", {"when": "2026-01-02", "ratio": "1e5", "hex": 16}),
        ("!Container {at: !Here [1], of: !Kind word}", {"!": "Container", "at": [1], "of": "word"}),
        ("[&a !T {x: 1, y: 2}, {<<: *a, y: 3}]", [{"!": "T", "x": 1, "y": 2}, {"x": 1, "y": 3}]),
        ("[&a 5, *a]", [5, 5]),
        ("<<: [{x: 1}, {x: 2, y: 2}]", {"x": 1, "y": 2}),
        ("n: " + "9" * 400, {"n": "9" * 400}),
    ],
)
def test_plain_data_is_read_as_it_is_meant(text: str, data: Any) -> None:
    assert parse_yaml(text.removeprefix("\ufeff"), "file") == data


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1\nb: 2", "while parsing a flow sequence"),
        ("a: 1\nb: 2\na: 3", "the key 'a' is there twice, again in line 3"),
        ("? [1]\n: 2", "a key is no plain text in line 1"),
        ("a: 1\n---\nb: 2", "there is a second document in line 2"),
        ("a: *b", "no anchor is called 'b' in line 1"),
        ("a: &a [*a]", "the alias 'a' is within what it stands for"),
        ("<<: 5", "what << merges is no table"),
        ("a: !!int ''", "'' is not what its tag says, int, in line 1"),
        ("a: !!float ''", "is not what its tag says, float"),
        ("a: !!bool x", "is not what its tag says, bool"),
        ("a: !!int " + "9" * 5000, "is not what its tag says, int"),
        ("a: !!timestamp x", "the tag '!!timestamp' is none of plain data"),
        ("a: !!binary x", "the tag '!!binary' is none of plain data"),
        ("!!set {a, b}", "the tag '!!set' is none of plain data"),
        ("a: !!python/object/apply:os.system [true]", "the tag '!!python/object/apply:os.system' is none"),
        ("a: \x01", "control characters are not allowed"),
        ("[" * 100_000, "more than 100 tables and lists are within each other"),
        ("- " * 100_000, "more than 100 tables and lists are within each other"),
        ("%TAG !a! b\n" * 20_000, "more than 100 %TAG directives"),
        (MERGES, "it comes to more than 100,000 values, aliases written out"),
        (ALIASES, "it comes to more than 100,000 values, aliases written out"),
        ("[" + "a," * 200_000 + "]", "it comes to more than 100,000 values"),
        ("a" * (5 << 20), "it is longer than 4 MiB"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_plain_data_is_refused_in_one_short_line_at_once(text: str, said: str) -> None:
    start = time.process_time()
    with pytest.raises(InputError) as refusal:
        parse_yaml(text, "file 'x.yaml'")
    assert time.process_time() - start < 2
    message = str(refusal.value)
    assert message.startswith("file 'x.yaml' is not usable YAML: ")
    assert said in message
    assert message.isprintable()
    assert len(message) < 250
