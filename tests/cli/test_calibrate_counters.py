"""`dse calibrate` and what a machine has counted itself: the term that a counter follows, and the fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.terms import terms_of
from tests.conftest import Dse
from workloads import load_layer

EDGE, LAYERS, COUNT = PRESETS["edge"], ("resnet18:1", "resnet18:3"), 15
TRUE = replace(EDGE, noc_bandwidth=8, offchip_bandwidth=2)


def samples(folder: Path, **changes: Any) -> Path:
    """Mappings with their cycles, and counters that are some terms, times as large, with noise."""
    rng, lines = np.random.default_rng(3), []
    for name in LAYERS:
        problem = Problem(load_layer(name), EDGE)
        genes = problem.space.sample(rng, COUNT)
        mappings, cycles = problem.space.decode(genes), problem.price(genes).cycles
        terms = terms_of(problem, mappings)
        words = np.sum(
            [column for term, column in terms.items() if term.startswith("dram_") and "wait" not in term],
            axis=0,
        )
        noise = np.exp(0.02 * rng.standard_normal(COUNT))
        for place in range(COUNT):
            counters = {
                "words of DRAM": 1.3 * words[place] * noise[place],
                "fills": 2 * terms["fills of weight"][place],
                "none": 0,
                **({"rare": 7} if place < 2 else {}),
            }
            row = {"layer": name, "mapping": mappings[place].to_dict(), "cycles": int(cycles[place])}
            lines.append(json.dumps({**row, "counters": counters, **changes}))
    (folder / "samples.jsonl").write_text("\n".join(lines))
    return folder / "samples.jsonl"


def test_each_counter_is_set_beside_the_term_that_it_follows(dse: Dse, tmp_path: Path) -> None:
    file = str(samples(tmp_path))
    said = json.loads(dse("calibrate", file, "--accelerator", "edge", "--json").out)["counters"]
    by_name = {each["counter"]: each for each in said}
    assert set(by_name) == {"words of DRAM", "fills"}
    assert by_name["words of DRAM"]["term"] == "dram, all tensors"
    assert by_name["words of DRAM"]["times"] == pytest.approx(1.3, rel=0.02)
    assert 0.005 < by_name["words of DRAM"]["error"] < 0.04
    assert (by_name["fills"]["term"], by_name["fills"]["samples"]) == ("fills of weight", 2 * COUNT)
    assert by_name["fills"]["times"] == pytest.approx(2, rel=1e-9)
    shown = dse("calibrate", file, "--accelerator", "edge").out
    assert any("words of DRAM" in line and "dram, all tensors" in line for line in shown.splitlines())


def test_samples_without_counters_say_nothing_of_any(dse: Dse, tmp_path: Path) -> None:
    file = str(samples(tmp_path, counters=None))
    assert "counters" not in json.loads(dse("calibrate", file, "--accelerator", "edge", "--json").out)


@pytest.mark.parametrize("counters", [7, [1], {"a": "1"}, {"a": True}, {"a": None}])
def test_counters_that_are_no_table_of_numbers_are_refused_in_a_line(
    dse: Dse, tmp_path: Path, counters: Any
) -> None:
    found = dse("calibrate", str(samples(tmp_path, counters=counters)), "--accelerator", "edge")
    assert found.code == 2
    assert "line 1: counters must be a table of numbers, got" in found.err
    assert len(found.err.splitlines()) == 1


def test_counters_in_a_csv_are_json_in_a_column(dse: Dse, tmp_path: Path) -> None:
    text = 'layer,mapping,cycles,counters\nresnet18:1,{},4,"{""a"": soon}"\n'
    (tmp_path / "samples.csv").write_text(text)
    found = dse("calibrate", str(tmp_path / "samples.csv"), "--accelerator", "edge")
    assert (found.code, "line 2: counters" in found.err) == (2, True)


def timed(folder: Path, counters: bool) -> Path:
    """Mappings whose machine waits at every step, which no model has, and says how long it waits for DRAM."""
    rng, lines = np.random.default_rng(0), []
    for name in LAYERS:
        problem = Problem(load_layer(name), TRUE)
        mappings = problem.space.decode(problem.space.sample(rng, 25))
        terms = terms_of(problem, mappings)
        cycles = terms["cycles"] + 30 * (terms["inner steps"] + terms["fills of weight"])
        cycles = cycles * np.exp(0.03 * rng.standard_normal(len(cycles)))
        for place in range(len(cycles)):
            waiting = terms["dram_wait"][place]
            said = {"misses": 0.01 * waiting, "waiting": waiting, "work": terms["compute"][place]}
            row = {"layer": name, "mapping": mappings[place].to_dict(), "cycles": cycles[place]}
            lines.append(json.dumps(row | ({"counters": said} if counters else {})))
    file = folder / f"timed-{counters}.jsonl"
    file.write_text("\n".join(lines))
    return file


def test_a_counter_of_time_is_an_equation_of_the_fit_and_tells_what_cycles_do_not(
    dse: Dse, tmp_path: Path
) -> None:
    alone, counted = (
        json.loads(dse("calibrate", str(timed(tmp_path, each)), "--accelerator", "edge", "--json").out)
        for each in (False, True)
    )
    width = alone["constants"]["offchip_bandwidth"]
    assert width["high"] > 16 * TRUE.offchip_bandwidth
    width = counted["constants"]["offchip_bandwidth"]
    assert (width["fitted"], width["high"]) == (2, pytest.approx(4, abs=3))
    # Cycles come first: the fit of them is hardly worse.
    assert counted["error"]["after"] < 1.2 * alone["error"]["after"]
    misses, waiting, work = counted["counters"]
    assert (waiting["counter"], waiting["term"], waiting["fitted"]) == ("waiting", "dram_wait", True)
    assert waiting["times"] == pytest.approx(1, rel=0.25)
    # What is a hundredth of the waiting is a number of something, and no time.
    assert not misses["fitted"]
    # Of the work no bandwidth tells anything.
    assert (work["term"], work["times"], work["fitted"]) == ("compute", pytest.approx(1), False)


def test_a_counter_of_words_leaves_the_fit_as_it_was(dse: Dse, tmp_path: Path) -> None:
    found = []
    for changes in ({}, {"counters": None}):
        said = dse("calibrate", str(samples(tmp_path, **changes)), "--accelerator", "edge", "--json")
        found.append(json.loads(said.out))
    assert found[0]["constants"] == found[1]["constants"]
    assert not any(each["fitted"] for each in found[0]["counters"])
