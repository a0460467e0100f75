"""Accelerators: the presets, files of the user's own, and what both refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dse.domains.clustered.accelerator import PRESETS, Accelerator, load_accelerator
from dse.support.errors import InputError
from tests import ROOT

EXAMPLE = ROOT / "examples" / "accelerator.toml"
FIGURES = {"num_pes": 168, "l1_size": 512, "l2_size": 108_000, "noc_bandwidth": 64, "offchip_bandwidth": 16}


def refusal(name: str | Path) -> str:
    """The one line with which `load_accelerator` refuses."""
    with pytest.raises(InputError) as caught:
        load_accelerator(name)
    text = str(caught.value)
    assert "\n" not in text
    return text


def write(folder: Path, **figures: Any) -> Path:
    path = folder / "mine.toml"
    path.write_text("".join(f"{name} = {value}\n" for name, value in figures.items()), encoding="utf-8")
    return path


def test_eyeriss_has_168_pes_that_clusters_divide_evenly() -> None:
    eyeriss = load_accelerator("eyeriss")
    assert eyeriss == Accelerator(**FIGURES, noc_latency=1, simd_lanes=1, clock_ghz=1.0)
    assert eyeriss.cluster_sizes == (1, 2, 3, 4, 6, 7, 8, 12, 14, 21, 24, 28, 42, 56, 84, 168)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_reads_back_from_plain_data(name: str) -> None:
    assert Accelerator.from_dict(load_accelerator(name).to_dict()) == PRESETS[name]


def test_the_degenerate_presets_are_bound_by_nothing_but_their_pes() -> None:
    for name, pes in (("paper", 256), ("archgym", 1024)):
        figures = PRESETS[name].to_dict()
        assert figures.pop("num_pes") == pes
        assert [figures[key] for key in FIGURES if key != "num_pes"] == [2**30] * 4


def test_the_example_file_is_an_accelerator() -> None:
    mine = load_accelerator(EXAMPLE)
    assert mine == load_accelerator(str(EXAMPLE))
    assert (mine.num_pes, mine.simd_lanes, mine.clock_ghz) == (192, 2, 0.7)
    assert mine.cycle_seconds == pytest.approx(1 / 0.7e9)


def test_what_a_file_leaves_out_has_its_default(tmp_path: Path) -> None:
    assert load_accelerator(write(tmp_path, **FIGURES)) == PRESETS["eyeriss"]


def test_an_instant_noc_is_allowed(tmp_path: Path) -> None:
    assert load_accelerator(write(tmp_path, **FIGURES, noc_latency=0)).noc_latency == 0


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({"num_pes": 0}, "num_pes must be at least 1, got 0"),
        ({"num_pes": 2**20 + 1}, "num_pes must be at most 1048576"),
        ({"l1_size": 1.5}, "l1_size must be a whole number, got 1.5"),
        ({"l2_size": '"big"'}, "l2_size must be a whole number, got 'big'"),
        ({"l2_size": 2**63}, "l2_size must be at most 1099511627776"),
        ({"noc_bandwidth": "nan"}, "noc_bandwidth must be a whole number, got nan"),
        ({"offchip_bandwidth": "true"}, "offchip_bandwidth must be a whole number, got True"),
        ({"noc_latency": -1}, "noc_latency must be at least 0, got -1"),
        ({"clock_ghz": 0}, "clock_ghz must be a finite number above 0, got 0"),
        ({"clock_ghz": "nan"}, "clock_ghz must be a finite number above 0, got nan"),
        ({"clock_ghz": "inf"}, "clock_ghz must be a finite number above 0, got inf"),
        ({"clock_ghz": 1e300}, "clock_ghz must be from 1e-06 to 1e+06, got 1e+300"),
        ({"num_pe": 4}, "unknown key 'num_pe' in accelerator file"),
        ({"num_pe": 4}, "did you mean 'num_pes'?"),
    ],
)
def test_a_wrong_figure_is_named_with_its_file(
    tmp_path: Path, figures: dict[str, Any], expected: str
) -> None:
    path = write(tmp_path, **{**FIGURES, **figures})
    text = refusal(path)
    assert expected in text
    assert text.count(str(path)) == 1
    assert "accelerator: " not in text


def test_a_missing_figure_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, num_pes=4, l1_size=4)
    assert "lacks 'l2_size', 'noc_bandwidth', 'offchip_bandwidth'" in refusal(path)


def test_a_misspelt_preset_is_corrected() -> None:
    assert refusal("eyeris") == "unknown accelerator 'eyeris'; did you mean 'eyeriss'?"
    assert "expected one of eyeriss, eyeriss-small" in refusal("zzz")
    assert refusal("zzz").endswith("FILE.toml")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"num_pes 4", "is not TOML: Expected '='"),
        (b"num_pes = " + b"9" * 5000, "is not usable TOML: a number has too many digits"),
        (b"a = " + b"[" * 100_000, "is not usable TOML: nested too deeply"),
        (b"num_pes = 4 # \xff", "is not UTF-8 text: invalid start byte at byte 14"),
        (b"", "lacks 'num_pes'"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    text = refusal(path)
    assert text.startswith(f"accelerator file {str(path)!r} {expected}")


@pytest.mark.parametrize("holds", ['""', '"WI"', "{}", '["X"]'])
def test_what_it_holds_is_a_list_of_tensors(tmp_path: Path, holds: str) -> None:
    said = refusal(write(tmp_path, **FIGURES, holds=holds))
    assert "mine.toml': holds must be a list of some of W, I and O, got " in said


def test_a_missing_file_or_a_directory_says_so(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.toml").endswith(
        "cannot be read: No such file or directory; name a TOML file"
    )
    (tmp_path / "folder.toml").mkdir()
    assert refusal(tmp_path / "folder.toml").endswith("cannot be read: Is a directory; name a TOML file")
    assert "cannot be read: embedded null byte" in refusal("a\0.toml")


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, **FIGURES)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_accelerator(path) == PRESETS["eyeriss"]


def test_a_name_is_a_label_and_no_part_of_what_an_accelerator_is(tmp_path: Path) -> None:
    mine = load_accelerator(write(tmp_path, **FIGURES, name='"My chip"'))
    assert mine.name == "My chip"
    assert mine == PRESETS["eyeriss"]
    assert hash(mine) == hash(PRESETS["eyeriss"])
    assert "name" not in mine.to_dict()
    assert "name must be printable text" in refusal(write(tmp_path, **FIGURES, name='"a\\u001b[31m"'))
    assert "name must be text, got 3" in refusal(write(tmp_path, **FIGURES, name=3))
    assert mine.called("mine.toml") == "mine.toml (My chip)"
    assert PRESETS["eyeriss"].called("eyeriss") == "eyeriss"


def test_sizes_may_be_in_bytes(tmp_path: Path) -> None:
    others = {name: figure for name, figure in FIGURES.items() if name not in ("l1_size", "l2_size")}
    both = write(tmp_path, **others, l1_bytes=1024, l2_bytes=216_000, word_bits=16)
    assert load_accelerator(both) == PRESETS["eyeriss"]
    mixed = write(tmp_path, **others, l1_size=512, l2_bytes=108_000, word_bits=8)
    assert load_accelerator(mixed) == replace(PRESETS["eyeriss"], word_bits=8)
    rounded = write(tmp_path, **others, l1_bytes=100, l2_size=9, word_bits=12)
    assert load_accelerator(rounded).l1_size == 66


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"l1_size": 1, "l1_bytes": 2, "l2_size": 3, "word_bits": 8}, "has both 'l1_size' and 'l1_bytes'"),
        ({"l1_bytes": 2, "l2_size": 3}, "l1_bytes needs word_bits"),
        ({"l1_size": 2, "l2_size": 3, "bits.W": 0}, "bits.W must be at least 1, got 0"),
        ({"l1_size": 2, "l2_size": 3, "bits.K": 1}, "unknown tensor 'K'"),
        ({"l1_size": 2, "l2_size": 3, "bits": 8}, "bits must be a table such as"),
        ({"l1_bytes": 2, "word_bits": 8}, "lacks 'l2_size'"),
        ({"l1_bytes": 2.5, "l2_size": 3, "word_bits": 8}, "l1_bytes must be a whole number, got 2.5"),
        ({"l1_bytes": 1, "l2_size": 3, "word_bits": 16}, "must hold at least one element of 16 bits, got 1"),
        ({"l1_bytes": 1, "l2_size": 3, "word_bits": 0}, "word_bits must be at least 1, got 0"),
    ],
)
def test_sizes_in_bytes_are_checked_strictly(tmp_path: Path, sizes: dict[str, Any], expected: str) -> None:
    others = {name: figure for name, figure in FIGURES.items() if name not in ("l1_size", "l2_size")}
    assert expected in refusal(write(tmp_path, **others, **sizes))
