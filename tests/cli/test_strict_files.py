"""Files of our own formats: a key that nobody knows is refused in a line, at any depth, an empty file too."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.core.cost_models import model_with
from dse.core.domains import domain_of, load_space, make_problem
from dse.core.problem import AnyProblem
from dse.core.technology import load_technology
from dse.domains.clustered.accelerator import load_accelerator
from dse.domains.clustered.formats import read_mapping
from dse.domains.codesign import reading
from dse.domains.levels.architecture import read_machine
from dse.domains.levels.nest import machine_case
from dse.search.start import start_points
from dse.support.errors import InputError
from tests.support import damaged
from workloads import load_layer
from workloads.userfile import read_network

CHIP = {
    "num_pes": 16,
    "l1_size": 512,
    "l2_size": 108_000,
    "noc_bandwidth": 64,
    "offchip_bandwidth": 16,
    "word_bits": 8,
    "bits": {"W": 4, "I": 8, "O": 32},
}
CONV = {"type": "CONV", "K": 8, "C": 4, "Y": 8, "X": 8, "R": 3, "S": 3}
GEMM = {"type": "GEMM", "M": 8, "N": 8, "K": 8}
NETWORK = {
    "name": "net",
    "times": 2,
    "layers": [
        {**CONV, "name": "one", "repeats": 2, "stride": [1, 1], "groups": 2, "bits": {"W": 4}},
        {**CONV, "type": "DSCONV", "K": 1, "C": 8, "name": "two", "reads": "one", "whole": "K", "repeats": 2},
        {**GEMM, "name": "three", "beside": ["two"], "also_read": "an output", "repeats": 2},
        {"type": "FC", "outputs": 8, "inputs": 8},
        {**CONV, "name": "plain"},
    ],
    "left_out": [{"operator": "Softmax", "count": 2, "macs": 4, "reason": "no product"}],
}
CAMPAIGN = {
    "name": "tiny",
    "budget": 20,
    "seeds": 1,
    "cost_model": {"name": "loopnest", "dram_pj": 300.0},
    "space": {"dims": "KCYX", "cluster": [1, 2, 4]},
    "fixed": {"outer.parallel": "K"},
    "hardware": {"l1_size": {"from": 256, "to": 512, "step": 128}},
    "published": [{"source": "They", "network": "net.toml", "objective": "edp", "ratios": {"own": 1.2}}],
    "looks": {"own": {"colour": "#0072b2", "line": "solid", "marker": "s"}},
    "searchers": {"own": {"type": "genetic", "population": 10, "seeds": 1, "start": "templates"}},
    "problems": [{"layer": "net.toml:plain", "accelerator": "chip.toml", "objective": "edp", "tiles": "any"}],
}
MACHINE = {
    "name": "three levels",
    "technology": "own.toml",
    "levels": [
        {"name": "DRAM", "bandwidth_bytes": 2, "read_pj": 9.0, "write_pj": 9.0},
        {"name": "Buffer", "size": 4096, "access_pj": "sram", "multicast": True, "keeps": ["W", "I", "O"]},
    ],
}
TECHNOLOGY = {
    "source": "They",
    "process_nm": 45,
    "figures": [
        {"what": "mac", "bits": 8, "pj": 1.0, "note": "a guess"},
        {"what": "sram", "bits": 8, "pj": 1.0, "write_pj": 2.0, "bytes": 8},
    ],
}
CHIPS = {
    "base": "edge",
    "cost_model": "loopnest",
    "area_mm2": "loopnest",
    "parameters": {"side": [4, 8]},
    "hardware": {"num_pes": "side * side", "l2_size": {"from": 4096, "to": 65536, "step": 4096}},
    "constraints": {"area_mm2": 0.5},
}
SPACE = {"dims": "KCYX", "cluster": [1, 2], "num_pes": [4, 8], "hardware": {"l1_size": [8, 16]}}
TILE = {"K": 1, "C": 1, "Y": 1, "X": 1, "R": 3, "S": 3}
LEVEL = {"parallel": "K", "order": list("KCYXRS"), "tile": TILE}
MAPPING = {"outer": LEVEL, "cluster_size": 4, "inner": {**LEVEL, "parallel": "C"}}
CASE = {
    "id": 7,
    "layer": {**CONV, "stride": [1, 1]},
    "mapping": MAPPING,
    "hardware": {"num_pes": 16, "noc_bandwidth": 8, "offchip_bandwidth": 8, "l1_size": 100},
}


def problem(machine: str, model: str) -> AnyProblem:
    return make_problem(load_layer("net.toml:plain"), machine, "edp", model)


def of_levels() -> AnyProblem:
    return problem("machine.toml", "timeloop")


def first_mapping() -> Any:
    asked: Any = of_levels()
    return asked.space.decode(np.zeros((1, len(asked.space.sizes)), np.int64))[0]


def levels_case() -> dict[str, Any]:
    asked: Any = of_levels()
    case = machine_case(asked.space.workload, asked.accelerator, first_mapping())
    found: dict[str, Any] = json.loads(json.dumps(case))
    return found


@dataclass(frozen=True)
class Kind:
    """A kind of file: one that is right, who reads it, how it is written, and keys whose names are free."""

    good: Callable[[], dict[str, Any]]
    read: Callable[[str], object]
    write: Callable[[Any], str] = damaged.toml
    free: tuple[str, ...] = ()


def cases(model: str) -> Callable[[str], object]:
    return lambda path: domain_of(model).price_cases(model, path, detail=False)


def json_line(data: Any) -> str:
    return json.dumps(data) + "\n"


KINDS = {
    "campaign": Kind(lambda: CAMPAIGN, lambda path: load_campaign(path, find_layers)),
    "network": Kind(lambda: NETWORK, lambda path: read_network(path, "true")),
    "accelerator": Kind(lambda: CHIP, load_accelerator),
    "machine": Kind(lambda: MACHINE, read_machine),
    "technology": Kind(lambda: TECHNOLOGY, load_technology),
    "chips": Kind(lambda: CHIPS, reading.read_space),
    "space": Kind(lambda: SPACE, lambda path: load_space(path, "loopnest")),
    "constants": Kind(lambda: {"mac_pj": 1.5}, lambda path: model_with("loopnest", path)),
    "mapping": Kind(
        lambda: MAPPING,
        lambda path: read_mapping(path, load_layer("net.toml:plain"), load_accelerator("chip.toml")),
        json_line,
    ),
    "start": Kind(
        lambda: MAPPING, lambda path: start_points(problem("chip.toml", "loopnest"), path), json_line
    ),
    "cases": Kind(lambda: CASE, cases("loopnest"), json_line),
    "mapping of levels": Kind(
        lambda: first_mapping().to_dict(), lambda path: of_levels().find_mapping(path), json_line
    ),
    # A word that is gone from an axis is in no axis: both ways of saying a dim are refused.
    "cases of levels": Kind(levels_case, cases("timeloop"), json_line, free=("layer.tensors.",)),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    beside = {"chip": CHIP, "net": NETWORK, "machine": MACHINE, "own": TECHNOLOGY}
    for name, data in beside.items():
        Path(f"{name}.toml").write_text(damaged.toml(data))
    return tmp_path


def said_of(kind: str, text: str) -> str:
    """What the reader of a kind of file says of a text; nothing if it takes it. No other error is caught."""
    name = "one.toml" if KINDS[kind].write is damaged.toml else "one.json"
    Path(name).write_text(text)
    said = ""
    try:
        KINDS[kind].read(name)
    except InputError as error:
        said = str(error)
    assert "\n" not in said
    return said


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_as_it_is_documented_is_read(kind: str) -> None:
    assert said_of(kind, KINDS[kind].write(KINDS[kind].good())) == ""


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_nobody_knows_is_refused_in_each_table(kind: str) -> None:
    for place, data in damaged.with_one_more_key(KINDS[kind].good()):
        assert "zzz" in said_of(kind, KINDS[kind].write(data)), place


@pytest.mark.parametrize("kind", KINDS)
def test_each_key_that_is_misspelt_is_refused(kind: str) -> None:
    for place, data in damaged.with_a_letter_too_many(KINDS[kind].good()):
        if not place.startswith(KINDS[kind].free or "-"):
            assert said_of(kind, KINDS[kind].write(data)), place


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_value_of_a_key_is_said_in_one_line(kind: str) -> None:
    """A third of the values for each key; `prove_strict_files.py` tries all."""
    judge_odd_values(kind, 3)


def judge_odd_values(kind: str, step: int) -> None:
    """One of so many odd values is put in place of a key's own: it is taken, or refused in a line."""
    for _, data in islice(damaged.with_an_odd_value(KINDS[kind].good()), None, None, step):
        said_of(kind, KINDS[kind].write(data))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_file_is_refused(kind: str, text: str) -> None:
    assert said_of(kind, text)


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_is_there_twice_is_refused(kind: str) -> None:
    text = KINDS[kind].write(KINDS[kind].good())
    if KINDS[kind].write is damaged.toml:
        doubled = text + text.splitlines()[0] + "\n"
    else:
        first = next(iter(KINDS[kind].good()))
        doubled = text.replace("{", f'{{"{first}": 1, ', 1)
    assert said_of(kind, doubled)
