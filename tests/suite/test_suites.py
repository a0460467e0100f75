"""Suites: frozen files with digests, whose problems are what they say and whose certificates hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.analysis.study import load_study
from dse.core.certificate import OPTIMAL
from dse.suite.drawing import draw_problem
from dse.suite.making import draw_problems
from dse.suite.suites import Suite, named_suites, read_suite
from dse.support.errors import InputError
from experiments.suites import SUITES, short_name
from tests import ROOT
from tests.conftest import Dse

FROZEN = {
    "chains": "8791d0531550dc99413f617b53b215d83ac2d840a0343490825aaf0b0c5e6753",
    "codesign": "29d4640626ddf4d95a60dabd2ca046a28acbc0966020d5233db2af13d76da1bb",
    "final": "7e34e1b2509500c21de75cb0c20bd234e985d85f6aeb3da450ea62b410d7ae3e",
    "final2": "00e22bf05ec40b722464065f24abb6ca7369e9cdfa39153133baed2e34985ad3",
    "gemmini": "57cfc16c480df458e08427a45f3591b7ccdcb91929bfd85721a2e1bb6ceb4a01",
    "paper": "97fc86e371e8e9940fce5e95100e7fbf3dc19445c8576e3881729c3e88fda2f7",
    "short": "0688b29835e30c7b483b0943bf69eca3d7d991951a772afb3f014b72893708ea",
    "small": "c2ef91896692446ed07d850f32acef6054fa785ec2960d6db256e1a8de677a6f",
    "transformers": "20a12fd9d2e9b9fe2ceaeb4f98e79006813149e5ad9e1e1487b6d2d64d9e3f84",
}
"""The digests of those that are committed: one that changes is another version, with a line more."""


@pytest.mark.parametrize("name", named_suites())
def test_a_committed_suite_is_the_one_that_was_frozen(name: str) -> None:
    found = dse.suite(name)
    assert (found.name, found.version, found.digest) == (name, SUITES[name].version, FROZEN[name])
    assert found.to_json() == named_suites()[name].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", named_suites())
def test_a_suite_has_the_problems_of_its_campaigns_as_these_define_them(name: str) -> None:
    found, source = dse.suite(name), SUITES[name]
    defined = []
    for campaign in source.campaigns:
        study = load_study(ROOT / "results" / campaign)
        for triple in study.problems[:: source.step]:
            made = study.make_problem(triple)
            assert made is not None
            defined.append((study.cost_model, made.fingerprint))
    assert [(one.cost_model, one.fingerprint) for one in found.entries] == defined
    assert all(one.problem.fingerprint == one.fingerprint for one in found.entries)


def test_short_has_twelve_proven_problems_and_names_are_looked_up() -> None:
    short = dse.suite("short")
    assert len(short) == short.proven == 12
    first = short[0]
    assert short[first.name] is first
    assert len(short[2:4]) == 2
    low, high = first.bounds
    assert (low == 0).all()
    assert (high == first.problem.space.sizes - 1).all()
    assert "loss" not in first.describe()
    with pytest.raises(InputError, match=r"unknown problem 'yolo\.conv2' in suite 'short'; expected one of"):
        short["yolo.conv2"]
    with pytest.raises(InputError, match="unknown suite 'shor'; did you mean 'short'"):
        dse.suite("shor")


def test_a_label_loses_its_folders() -> None:
    label = "results/campaigns/final2/layers.toml:yolo.conv2 on final2/loopnest-1.toml, latency"
    assert short_name(label) == "yolo.conv2 on loopnest-1, latency"
    assert short_name("vgg16:conv1_2 on eyeriss-small, edp") == "vgg16:conv1_2 on eyeriss-small, edp"


@pytest.mark.parametrize("place", [1, 7])
def test_a_problem_is_proven_again_as_it_stands(place: int) -> None:
    entry = dse.suite("short").entries[place]
    again = dse.certify(entry.problem, tiles=str(entry.definition["tiles"]), cache=False)
    assert (again.status, again.lower_bound) == (entry.status, entry.lower_bound)


def edited(tmp_path: Path, old: str, new: str) -> Path:
    text = named_suites()["short"].read_text(encoding="utf-8")
    assert text.count(old) >= 1
    path = tmp_path / "short.json"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"budget": 100', '"budget": 1000', "was edited: its digest is"),
        ('"K": 32', '"K": 33', "was edited: its digest is"),
        ('"format": 1', '"format": 2', "is of format 2; this version reads 1"),
        ('"status"', '"state"', "unknown key 'state'"),
        ('"problems": [', '"problems": ', "not JSON"),
    ],
)
def test_a_file_that_was_edited_is_refused_in_one_line(
    dse: Dse, tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert said in dse("suite", "show", str(edited(tmp_path, old, new))).refused()


def test_a_certificate_that_claims_too_much_fails_its_check(dse: Dse, tmp_path: Path) -> None:
    short = read_suite(named_suites()["short"])
    entry = short.entries[6]
    worse = entry.templates["nvdla"]
    loss = float(entry.problem.price(entry.problem.vectors([entry.problem.template("nvdla")])).loss[0])
    lie = replace(entry, genes=worse, loss=loss, lower_bound=loss)
    Suite("lies", 1, "", 10, (lie,)).write(tmp_path / "lies.json")
    outcome = dse("suite", "verify", str(tmp_path / "lies.json"))
    assert outcome.code == 1
    assert "FAILS  atari.conv1" in outcome.out
    Suite("lies", 1, "", 10, (replace(entry, loss=entry.loss / 2),)).write(tmp_path / "lies.json")
    assert (
        "does not cost what the suite says" in dse("suite", "verify", str(tmp_path / "lies.json")).refused()
    )


def test_certificates_of_a_suite_hold_and_are_listed(dse: Dse) -> None:
    outcome = dse("suite", "verify", "short", "--sample", "1", "--seed", "3")
    assert (outcome.code, outcome.out[:5]) == (0, "holds")
    listed = {one["name"]: one for one in dse("suite", "list", "--json").json}
    assert listed["short"]["problems"] == 12
    shown = dse("suite", "show", "short", "--json").json["problems"]
    assert [one["name"] for one in shown] == [one.name for one in named("short")]
    assert "yolo.conv2 on loopnest-1, latency" in dse("suite", "show", "short").out
    assert "final2" in dse("suite", "list").out
    paper = dse("suite", "show", "paper", "--json").json["problems"]
    assert {one["status"] for one in paper} == {"optimal"}


def named(name: str) -> Suite:
    return read_suite(named_suites()[name])


@pytest.mark.parametrize("model", ["loopnest", "timeloop"])
def test_hidden_problems_come_from_the_seed_alone_and_are_proven(
    dse: Dse, tmp_path: Path, model: str
) -> None:
    path = tmp_path / "hidden.json"
    asked = (
        "suite",
        "new",
        "--seed",
        "5",
        "--count",
        "2",
        "--cost-model",
        model,
        "--fresh",
        "--out",
        str(path),
    )
    assert dse(*asked, "--json").json["problems"] == 2
    hidden = read_suite(path)
    assert hidden.proven == 2
    assert tuple(draw_problems(5, 2, model, cache=False)) == hidden.entries
    assert next(draw_problems(6, 1, model, cache=False)).definition != hidden.entries[0].definition
    assert "must be the name of a .json file" in dse(*asked[:-1], "hidden").refused()
    assert json.loads(path.read_text(encoding="utf-8"))["suite"] == "hidden"
    assert all(entry.problem.fingerprint == entry.fingerprint for entry in hidden.entries)


@pytest.mark.parametrize(("model", "seed"), [("chains", 12), ("codesign", 3)])
def test_hidden_chains_and_open_machines_are_drawn_and_proven_too(model: str, seed: int) -> None:
    rng = np.random.default_rng
    one, again, other = (draw_problem(rng(one), 0, model) for one in (seed, seed, seed + 1))
    assert one == again != other
    drawn = next(draw_problems(seed, 1, model, cache=False))
    assert drawn.status == OPTIMAL
    assert drawn.problem.fingerprint == drawn.fingerprint
    assert drawn.problem.price(np.array([drawn.genes])).loss[0] == pytest.approx(drawn.loss, rel=1e-12)
    others = drawn.problem.price(drawn.problem.space.sample(rng(0), 200)).loss
    assert others.min() >= drawn.lower_bound
