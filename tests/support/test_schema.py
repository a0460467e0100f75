"""A table of a file is taken as it stands or refused: nothing is converted, and the place is named."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest

from dse.support.errors import InputError
from dse.support.schema import Limits, Schema, read_schema, typed_value


@dataclass(frozen=True)
class Part(Schema):
    """A table within the table."""

    size: Annotated[int, Limits(ge=1, le=2**63 - 1)]
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.share < 0:
            raise InputError("part: share must be at least 0")


@dataclass(frozen=True)
class Whole(Schema):
    """The table of a file."""

    name: Annotated[str, Limits("a lower-case word", pattern="^[a-z]+$")]
    parts: Annotated[list[Part], Limits("one or more [[parts]] tables", min_length=1)]
    sets: dict[str, dict[str, Any]] = field(default_factory=dict)
    note: str | None = None


GOOD: dict[str, Any] = {"name": "a", "parts": [{"size": 1, "share": 2}, {"size": 2}]}


def refusal(data: object) -> str:
    with pytest.raises(InputError) as caught:
        read_schema(Whole, data, "file 'a.toml'", "part")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_table_of_tables_is_read_as_its_dataclass() -> None:
    assert read_schema(Whole, GOOD, "here") == Whole("a", [Part(1, 2.0), Part(2)])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"nam": "a"}, "unknown key 'nam' in file 'a.toml'; did you mean 'name'?"),
        ({"parts": [{"sise": 1}]}, "unknown key 'sise' in file 'a.toml': parts[0]; did you mean 'size'?"),
        ({"parts": [{"size": 1}, {}]}, "file 'a.toml': parts[1] lacks 'size'"),
        ({"parts": []}, "file 'a.toml': parts must be one or more [[parts]] tables, got []"),
        ({"parts": {"size": 1}}, "parts must be one or more [[parts]] tables, got {'size': 1}"),
        ({"parts": [3]}, "file 'a.toml': parts[0] must be a table of names and values, got 3"),
        ({"parts": [{"size": True}]}, "parts[0].size must be a whole number, got True"),
        ({"parts": [{"size": 1.0}]}, "parts[0].size must be a whole number, got 1.0"),
        ({"parts": [{"size": "1"}]}, "parts[0].size must be a whole number, got '1'"),
        ({"parts": [{"size": 0}]}, "parts[0].size must be at least 1, got 0"),
        ({"parts": [{"size": 2**63}]}, "parts[0].size must be at most what 64 bits hold, got 9223"),
        ({"parts": [{"size": 16**9999}]}, "parts[0].size must be at most what 64 bits hold, got 0x1000"),
        ({"parts": [{"size": 1, "share": False}]}, "parts[0].share must be a number, got False"),
        ({"parts": [{"size": 1, "share": -1}]}, "file 'a.toml': parts[0]: share must be at least 0"),
        ({"name": "A"}, "file 'a.toml': name must be a lower-case word, got 'A'"),
        ({"name": 3}, "file 'a.toml': name must be a lower-case word, got 3"),
        ({"sets": {"one": 1}}, "file 'a.toml': sets.one must be a table of names and values, got 1"),
        ({"note": 1}, "file 'a.toml': note must be text, got 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(change: dict[str, Any], expected: str) -> None:
    assert expected in refusal(GOOD | change)


def test_all_keys_that_are_missing_are_named_at_once() -> None:
    assert refusal({}) == "file 'a.toml' lacks 'name', 'parts'"
    assert refusal(3) == "file 'a.toml' must be a table of names and values, got 3"


def test_single_values_are_taken_strictly_but_for_lists_as_tuples() -> None:
    assert typed_value([1, 2], tuple[int, ...], "shape") == (1, 2)
    for value, kind, words in ((1.0, int, "a whole number"), (1, str, "text"), (1, bool, "true or false")):
        with pytest.raises(InputError, match=f"^it must be {words}, got {value}$"):
            typed_value(value, kind, "it")


def test_pydantic_waits_until_there_is_something_to_check() -> None:
    code = (
        "import sys\nfrom dse.core.layer import Layer\n"
        "from dse.domains.clustered.accelerator import Accelerator\n"
        "Layer('CONV', 1, 1, 1, 1, 1, 1).lowered(), Accelerator(1, 1, 1, 1, 1)\n"
        "import dse.campaign.reading, workloads; workloads.load('vgg16')\n"
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
