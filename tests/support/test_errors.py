"""Messages stay one short line, and quick to make, whatever the user's input holds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dse.domains.clustered.accelerator import load_accelerator
from dse.support import strict_json
from dse.support.errors import InputError, first_difference, format_exception, shorten, unknown_name

NAMES = ("population", "mutation", "elite")
LONG = 10_000_000


def test_a_misspelt_name_gets_the_nearest_one_suggested() -> None:
    message = str(unknown_name("key", "popultion", NAMES, "[searchers.genetic]"))
    assert message == "unknown key 'popultion' in [searchers.genetic]; did you mean 'population'?"


def test_a_name_like_no_other_gets_all_of_them() -> None:
    assert (
        str(unknown_name("key", "qqq", NAMES))
        == "unknown key 'qqq'; expected one of population, mutation, elite"
    )


def test_a_name_is_found_near_though_much_longer() -> None:
    assert "did you mean 'elite'?" in str(unknown_name("key", "elite_share", [*NAMES, "elite"]))


@pytest.mark.parametrize(
    "name",
    ["population" * (LONG // 10), "x" * LONG, 16**10_000, [16**10_000]],
    ids=["known, repeated", "one letter", "number", "list"],
)
def test_an_endless_name_is_refused_at_once(name: object) -> None:
    start = time.process_time()
    message = str(unknown_name("key", name, NAMES))
    assert time.process_time() - start < 0.5
    assert message.startswith("unknown key ")
    assert message.endswith("; expected one of population, mutation, elite")
    assert len(message) < 150


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (16, "16"),
        ("edge", "'edge'"),
        ("x" * 100, "'" + "x" * 56 + "..."),
        (16**10_000, "0x1" + "0" * 54 + "..."),
        (-(16**10_000), "-0x1" + "0" * 53 + "..."),
        ([16**10_000], "[0x1" + "0" * 53 + "..."),
        ({"K": 16**10_000}, "{'K': 0x1" + "0" * 48 + "..."),
        ({"K": [1, (2.5, None), (True,)]}, "{'K': [1, (2.5, None), (True,)]}"),
        ("a\x1b[31m\n\u202e", r"'a\x1b[31m\n\u202e'"),
    ],
    ids=[
        "number",
        "text",
        "long text",
        "long number",
        "negative",
        "list",
        "table",
        "plain data",
        "for a terminal",
    ],
)
def test_values_are_shown_in_sixty_characters(value: object, shown: str) -> None:
    assert shorten(value) == shown
    assert len(shown) <= 60


def test_deep_nesting_is_shown_as_far_as_it_fits() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    assert shorten(nested) == "[" * 57 + "..."


def test_of_data_that_names_itself_a_billion_times_only_the_beginning_is_written_out() -> None:
    bomb: list[object] = ["lol"]
    for _ in range(30):
        bomb = [bomb, bomb]
    start = time.process_time()
    assert shorten({"x": bomb, "y": "x" * LONG}) == "{'x': " + "[" * 31 + "'lol'], ['lol']], [[..."
    assert time.process_time() - start < 0.1


def test_a_value_whose_own_code_fails_is_still_named() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert shorten([Hostile()]) == "[a Hostile that cannot be shown]"


def test_an_accelerator_with_an_endless_number_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(
        f"num_pes = 0x{'f' * 10_000}\nl1_size = 1\nl2_size = 1\nnoc_bandwidth = 1\noffchip_bandwidth = 1\n"
    )
    with pytest.raises(InputError, match=r"num_pes must be at most 1048576, got 0xf+\.\.\.$"):
        load_accelerator(path)


def test_a_difference_names_its_place_and_both_values() -> None:
    there = {"budget": 500, "settings": {"agents": 9, "rate": 0.1}}
    assert first_difference(there, {**there, "budget": 600}) == "budget is 500 there and 600 here"
    here = {"budget": 500, "settings": {"agents": 6, "rate": 0.1}}
    assert first_difference(there, here, ("before", "now")) == "settings.agents is 9 before and 6 now"
    assert (
        first_difference(there, {"budget": 500})
        == "settings is {'agents': 9, 'rate': 0.1} there and None here"
    )


def test_an_exception_is_formatted_in_one_line_with_its_place() -> None:
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError("its own\n  trouble")
    assert format_exception(caught.value).startswith("RuntimeError: its own trouble (test_errors.py:")
    assert format_exception(MemoryError()) == "MemoryError"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"K": "a\x01"}', "not JSON: invalid control character at column 9"),
        ('{"K": "a', "not JSON: unterminated string starting at column 7"),
        ('{"K": 1,\n "C"}', "not JSON: expecting ':' delimiter at line 2 column 5"),
    ],
)
def test_json_is_refused_with_its_place_said_once(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        strict_json.parse_json(text, "line 1")
    assert str(caught.value) == f"line 1: {complaint}"
