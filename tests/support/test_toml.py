"""TOML of others is read, or refused in a short line at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dse.support import strict_json
from dse.support.errors import InputError
from dse.support.toml import read_toml


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a." * 100_000 + "a = 1", "is not usable TOML: a key has more than 200 parts"),
        ("[" + '"a" . ' * 100_000 + "a]", "is not usable TOML: a key has more than 200 parts"),
        ("a = " + "[" * 100_000, "is not usable TOML: nested too deeply"),
        ("a = " + "9" * 100_000, "is not usable TOML: a number has too many digits"),
        ("a = " + "x" * 5_000_000, "is not TOML: Invalid value"),
    ],
    ids=["dotted", "quoted", "deep", "digits", "word"],
)
def test_toml_that_would_take_long_is_refused_at_once(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text)
    start = time.process_time()
    with pytest.raises(InputError) as refusal:
        read_toml(str(path), "file 'x'")
    assert time.process_time() - start < 2
    assert str(refusal.value).startswith(f"file 'x' {said}")
    assert len(str(refusal.value)) < 120


def test_numbers_and_texts_with_many_dots_are_no_keys(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    numbers = ", ".join(f"{n}.5" for n in range(500))
    path.write_text(f"a = [{numbers}]\nb = '{'... ' * 300}'\n" + "\n".join(f"c{n}.d = 1" for n in range(500)))
    assert len(read_toml(str(path), "file")["a"]) == 500


def test_the_key_that_is_there_twice_among_very_many_is_found_at_once() -> None:
    keys = ",".join(f'"k{n}": 1' for n in range(50_000))
    start = time.process_time()
    with pytest.raises(InputError, match="the key 'k49999' is there twice"):
        strict_json.parse_json(f'{{{keys}, "k49999": 2}}', "file")
    assert time.process_time() - start < 2
