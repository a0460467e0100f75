"""`dse certify --within` and `--best`: what they show and write, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dse import certify, make_problem
from dse.cli.best_view import groups_of_equals, list_in_words, show_near
from dse.cli.output import make_console
from dse.core.listed import Listed, Wanted
from dse.optimum.near import lister_for
from tests.cli.certify_options import RESNET
from tests.conftest import Dse
from workloads import load_layer

FACTORS = ("--tiles", "factors", "--objective", "edp")


def test_mappings_near_the_optimum_are_a_table_and_plain_data(dse: Dse, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = dse("certify", *RESNET, *FACTORS, "--within", "1%", "--verify", "--out", str(out))
    assert shown.code == 0
    assert (
        "mappings within 1% of the optimum: proven, there are no others (each nest of loops once)"
        in shown.out
    )
    assert (
        "loss: edp. above best: by how much the loss is above the best one's. one of them: outer loops / PEs "
        in shown.out
    )
    assert "verified: no mapping that was drawn is missing in the list" in shown.out
    kept = json.loads((out / "certificate.json").read_text())["within"]
    assert (kept["share"], kept["most"], kept["complete"]) == (0.01, None, True)
    assert kept["count"] == len(kept["mappings"]) > 3
    few = dse("certify", *RESNET, *FACTORS, "--within", "0.01", "--best", "3", "--json").json
    losses = [one["loss"] for one in few["within"]["mappings"]]
    assert losses == [one["loss"] for one in kept["mappings"][:3]]
    assert few["within"]["mappings"][0]["mapping"] == few["best"]["mapping"]


def test_of_machines_of_levels_the_table_says_which_orders_it_is_over(dse: Dse) -> None:
    asked = ("certify", "--layer", "resnet18:6", "--accelerator", "gemmini", "--nests", "even")
    shown = dse(*asked, "--cost-model", "timeloop", "--objective", "edp", "--fresh", "--best", "3")
    assert shown.code == 0
    assert "3 best mappings: it is proven that none is better; others may be as good as the last" in shown.out
    said = "(each nest of loops once; even nests, without loop orders that cannot be better than another)"
    assert said in shown.out
    assert "one of them: levels from the outermost in, each with the tensors that it keeps" in shown.out
    assert "uneven nests were not tried" not in shown.out


def test_where_nobody_says_which_nests_the_headline_says_that_uneven_ones_were_not_tried(dse: Dse) -> None:
    asked = ("certify", "--layer", "resnet18:6", "--accelerator", "gemmini", "--cost-model", "timeloop")
    shown = dse(*asked, "--objective", "edp", "--fresh", "--best", "2")
    said = shown.out.splitlines()
    reach = said.index("over even nests alone: uneven nests were not tried; --nests uneven tries them")
    assert said[reach - 1].startswith("optimal edp")


def test_mappings_with_equal_figures_are_one_row_that_no_pipe_wraps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problem = make_problem(load_layer("resnet18:6"), "gemmini", "edp", "timeloop", fixed={"nests": "even"})
    best = certify(problem, tiles="factors", best=60).within
    assert best
    groups = groups_of_equals(best)
    assert sum(map(len, groups)) == len(best) > len(groups) > 1
    for group in groups:
        assert len({(one.cycles, round(one.energy_nj, 6)) for one in group}) == 1
    show_near(make_console(), problem, best, "J s")
    said = capsys.readouterr().out.splitlines()
    _, _, *rows = (line.split() for line in said if line.startswith(" ") and line.strip())
    assert [row[0] for row in rows] == [str(place) for place in range(1, min(len(groups), 20) + 1)]
    example = lister_for(problem).in_a_line(best[0].mapping).split()
    assert rows[0][-len(example) - 1 :] == [str(len(groups[0])), *example]


def test_a_list_that_ran_out_of_time_says_what_is_known_of_others() -> None:
    def said(bound: float, *losses: float) -> str:
        mappings: Any = [SimpleNamespace(loss=loss) for loss in losses]
        return list_in_words(Listed(Wanted(0.01), tuple(mappings), False, bound, 1.0), "s", "")

    assert said(2.01, 2.0, 2.01) == (
        "2 mappings within 1% of the optimum found in time; others may be missing: their loss is at least "
        "2.01000 s, 0.500% above the first"
    )
    assert said(1.9, 2.0) == (
        "1 mapping within 1% of the optimum found in time; others may be missing: their loss is at least "
        "1.90000 s, 5.000% below the first"
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ("--best", "3", "--cost-model", "timeloop", "--accelerator", "gemmini", "--tiles", "any"),
            "are listed over perfect factors only: say --tiles factors",
        ),
        (("--within", "much"), "--within must be a share of at least 0, as 5% or 0.05, got 'much'"),
        (("--best", "0"), "best must be at least 1, got 0"),
        (("--best", "3", "--objective", "latency,energy"), "--within and --best are of one layer and one"),
        (
            ("--best", "3", "--cost-model", "maestro", "--space", "paper"),
            "under cost model 'maestro' mappings near the optimum are listed in space 'default' only",
        ),
    ],
)
def test_a_list_that_cannot_be_had_is_refused_in_a_line(
    dse: Dse, more: tuple[str, ...], message: str
) -> None:
    shown = dse("certify", *RESNET, *more)
    assert shown.code == 2
    # Where a kernel of the bounds was not compiled before, a line says that it is.
    (line,) = [line for line in shown.err.splitlines() if "compiling kernels" not in line]
    assert message in line
