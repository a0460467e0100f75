"""`dse calibrate` on samples of which a judge refused some, and on those of one layer from several places."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from dse.cli.samples import COLUMNS
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.refused import Answers, refused_in_words
from dse.domains.clustered.space.mapping_space import MappingSpace
from tests.conftest import Dse
from workloads import load_layer

LAYER = "resnet18:3"
SPACE = MappingSpace(load_layer(LAYER), PRESETS["edge"])
JUDGE = """
def price(layer, accelerator, mapping):
    if mapping.cluster_size > 16:
        return "more than 16 PEs on a bus"
    return {"cycles": 1000 * mapping.cluster_size + mapping.outer.tile["K"]}
"""


def said_of(refused: dict[str, list[object]], ran: dict[str, list[object]]) -> str:
    choices: dict[str, set[object]] = {name: {*refused[name], *ran[name]} for name in refused}
    return refused_in_words([Answers(refused, ran, choices)])


def test_a_dim_that_only_refused_mappings_spread_is_named_and_one_that_was_run_is_not() -> None:
    refused: dict[str, list[object]] = {"outer.parallel": ["C", "R"], "inner.parallel": ["K", "C"]}
    said = said_of(refused, {"outer.parallel": ["K", "Y"], "inner.parallel": ["K", "Y"]})
    assert "refused 2 samples; --fix outer.parallel=K,Y leaves them out" in said
    assert "inner.parallel" not in said


def test_clusters_are_left_out_above_or_below_what_was_run_but_not_between() -> None:
    def of_clusters(refused: list[object], ran: list[object]) -> str:
        return said_of({"cluster": refused}, {"cluster": ran})

    assert "--fix cluster=1,4 leaves" in of_clusters([16, 64], [4, 1])
    assert "--fix cluster=16,64 leaves" in of_clusters([1, 4], [64, 16])
    assert "no cluster size or parallel dim tells them" in of_clusters([4], [1, 16])
    assert "no cluster size or parallel dim tells them" in of_clusters([4], [])


def test_where_nothing_was_refused_nothing_is_said() -> None:
    points = SPACE.sample(np.random.default_rng(0), 9)
    assert refused_in_words([Answers.of(SPACE, points[:0], points)]) == ""
    assert refused_in_words([]) == ""


def test_a_rule_of_the_judge_is_found_in_a_searchs_samples_and_certify_repeats_it(
    dse: Dse, tmp_path: Path
) -> None:
    (tmp_path / "judge.py").write_text(JUDGE)
    asked = ("--layer", LAYER, "--accelerator", "edge")
    judge = ("--cost-model", f"{tmp_path}/judge.py:price", "--searcher", "random", "--budget", "200")
    assert dse("search", *asked, *judge, "--out", str(tmp_path / "judged")).code == 0
    # The layer's samples of a folder and of a file are of one layer.
    point = SPACE.decode(SPACE.sample(np.random.default_rng(1), 1))[0]
    row = dict(zip(COLUMNS, (LAYER, point.to_dict(), 1.0), strict=True))
    (tmp_path / "more.jsonl").write_text(json.dumps(row))
    given = (str(tmp_path / "judged"), str(tmp_path / "more.jsonl"))
    fitted = dse("calibrate", *given, "--accelerator", "edge", "--out", str(tmp_path / "fit"), "--json")
    said = json.loads(fitted.out)
    assert "--fix cluster=1,2,4,8,16 leaves them out, and nothing that it ran" in said["refused"]
    assert f"dse: warning: {said['refused']}" in fitted.err.splitlines()
    assert (said["layers"], said["best"]) == ([LAYER], {LAYER: 1.0})
    certify = ("certify", *asked[:2], "--accelerator", f"{tmp_path}/fit/machine.toml", "--time-limit", "9")
    certified = dse(*certify)
    assert said["refused"] in certified.out
    assert "the best sample, which was measured (1 cycles" in certified.out.splitlines()[-1]
    # Not again to who follows it.
    assert "refused" not in dse(*certify, "--fix", "cluster=16,8").out
    assert said["refused"] in dse(*certify, "--fix", "cluster=16,32").out
