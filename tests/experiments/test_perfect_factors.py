"""The page on what perfect factors cost is what its committed proofs come to, whatever there is of them."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from dse.core.domains import make_problem
from experiments import read_rows
from experiments.perfect_factors import costs, nests, page, problems, ruby
from experiments.perfect_factors.costs import Costs
from experiments.perfect_factors.figure import COLOURS, costs_figure, shares
from experiments.perfect_factors.tables import per_cent
from tests import ROOT
from workloads import load_layer

PROVEN, OPEN = "optimal", "bounded"


def test_the_page_is_made_from_the_table() -> None:
    text = "\n\n".join(page.parts(Costs.read()))
    assert page.PAGE.read_text() == f"Written by `python -m {page.COMMAND}`.\n\n{text}\n"
    assert page.FIGURE.exists()


def test_the_table_has_the_first_problems_of_the_order_and_no_bound_above_a_mapping() -> None:
    rows = read_rows(problems.FILE)
    names = [(name, machine, problem.objective) for name, machine, problem in problems.problems()]
    assert [(one["layer"], one["accelerator"], one["objective"]) for one in rows] == names[: len(rows)]
    for one in rows:
        assert float(one["bound"]) <= float(one["any"]) <= float(one["factors"])


def test_a_proof_of_the_table_is_had_again() -> None:
    wanted = ("vit-b16:down_proj", "eyeriss-small", "edp")
    (row,) = [
        one
        for one in read_rows(problems.FILE)
        if (one["layer"], one["accelerator"], one["objective"]) == wanted
    ]
    problem = make_problem(load_layer(wanted[0]), wanted[1], wanted[2], problems.MODEL)
    again = problems.row(*wanted[:2], problem, 60.0)
    assert again[:7] == tuple(row.values())[:7]


# The nests of the largest


def test_the_nests_are_of_the_largest_of_the_table_and_cost_what_it_says() -> None:
    top, parts = Costs.read().largest(page.SHOWN), page.NESTS.read_text().split("\n## ")[1:]
    assert len(parts) == page.SHOWN
    for place, (one, cost, text) in enumerate(zip(top.rows, top.least, parts, strict=True), start=1):
        assert f"## {text}".startswith(nests.title(place, one) + "\n")
        assert text.count("```") == 4
        if one["status"] == PROVEN:
            assert f"Perfect factors cost {per_cent(cost)} %." in text
            assert text.count("(optimal)") == 2


def test_the_nests_of_the_largest_are_had_again() -> None:
    (row,) = Costs.read().largest(1).rows
    assert f"\n{nests.part(1, row, 60.0)}\n" in page.NESTS.read_text()


def test_a_mapping_that_is_not_proven_is_said_not_to_be() -> None:
    row = made(("vit-b16:scores", 1.5, 1.0, 0.5, OPEN))[0]
    text = nests.part(3, row, 1e-6)
    assert text.startswith("## 3. vit-b16:scores, eyeriss-small, edp\n")
    assert re.search(r"Perfect factors cost at least -?[\d.]+ %", text) or "Any tiles: none found." in text
    assert "Perfect factors: edp 1.28128e-09 J s (optimal)" in text


# What the rows come to


def made(
    *rows: tuple[str, float, float, float, str], machine: str = "eyeriss-small", objective: str = "edp"
) -> list[dict[str, str]]:
    """Rows of the table: layer, factors, any, bound, status."""
    return [
        dict(
            zip(
                problems.HEAD,
                (layer, machine, objective, *map(repr, losses), status, "1.0"),
                strict=True,
            )
        )
        for layer, *losses, status in rows
    ]


def even(cost: float, open_to: float | None = None, layers: int = 6) -> Costs:
    """Layers that cost about as much, or at least so much and at most `open_to`."""
    near = [cost * (1 + 0.01 * place) for place in range(layers)]
    return Costs(
        made(
            *(
                (f"l{place}", 1 + one, 1.0, 1.0, PROVEN)
                if open_to is None
                else (f"l{place}", 1 + one, 1.0, (1 + one) / (1 + open_to), OPEN)
                for place, one in enumerate(near)
            )
        )
    )


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (even(0.001), "borne out"),
        (even(0.02), "not borne out"),
        (even(0.001, open_to=0.005), "borne out"),
        (even(0.001, open_to=0.05), "inconclusive"),
        (even(0.02, open_to=0.05), "not borne out"),
        (even(0.02, layers=2), "inconclusive"),
        (Costs([]), "inconclusive"),
    ],
)
def test_that_perfect_factors_cost_little_turns_with_the_rows(found: Costs, verdict: str) -> None:
    assert found.small == verdict


def test_the_sentence_of_the_verdict_names_the_groups_by_their_rows() -> None:
    cheap = [one | {"objective": "latency"} for one in even(0.001).rows]
    said = page.verdicts(Costs([*even(0.1).rows, *cheap]))
    assert "borne out of latency; not borne out of all, edp, eyeriss-small. " in said


def test_a_cost_lies_between_what_was_found_and_the_bound() -> None:
    found = Costs(made(("a", 1.5, 1.0, 1.0, PROVEN), ("b", 1.2, 1.0, 0.8, OPEN)))
    assert found.least == pytest.approx([0.5, 0.2])
    assert found.most == pytest.approx([0.5, 0.5])
    assert [one["layer"] for one in found.proven.rows] == ["a"]
    assert [one["layer"] for one in found.largest(5).rows] == ["a", "b"]


def test_where_nothing_fits_nothing_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        problems.HEAD,
        *(row.values() for row in made(("a", math.inf, math.inf, math.inf, "infeasible"))),
    ]
    (tmp_path / "rows.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    monkeypatch.setattr(costs, "FILE", tmp_path / "rows.csv")
    assert Costs.read().rows == []


@pytest.mark.parametrize("count", [1, 7])
def test_there_is_a_page_of_however_few_rows(count: int) -> None:
    found = Costs(Costs.read().rows[:count])
    assert f"{count} of 828 problems" in "\n\n".join(page.parts(found))
    assert costs_figure("title", "how", found).axes


# Ruby


def test_what_costs_a_quarter_more_is_a_fifth_lower_the_other_way_round() -> None:
    least, most = Costs(made(("a", 1.25, 1.0, 1.0, PROVEN))).saved
    assert [*least, *most] == pytest.approx([0.2, 0.2])


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (even(0.4), "borne out"),
        (even(0.1), "not borne out"),
        (even(0.1, open_to=0.15), "not borne out"),
        (even(0.1, open_to=0.4), "inconclusive"),
        (even(0.4, layers=2), "inconclusive"),
        (Costs([]), "inconclusive"),
    ],
)
def test_whether_edp_is_as_much_lower_as_rubys_turns_with_the_rows(found: Costs, verdict: str) -> None:
    assert ruby.in_the_mean(found) == verdict


@pytest.mark.parametrize(
    ("found", "layers", "verdict"),
    [
        (even(1.0), 6, "borne out"),
        (even(1.0), 24, "borne out"),
        (even(0.4), 6, "not borne out"),
        (even(0.4), 24, "inconclusive"),
        (even(0.4, open_to=1.5), 6, "inconclusive"),
    ],
)
def test_that_no_layer_has_as_much_lower_edp_takes_all_layers(
    found: Costs, layers: int, verdict: str
) -> None:
    assert ruby.at_most(found, layers) == verdict


def test_resnet_50_has_its_layers_that_are_named_by_resnet_18_too() -> None:
    names = problems.names_of(ruby.NETWORK)
    assert len(names) == 24
    assert {name.split(":")[0] for name in names} == {"resnet18", "resnet50"}
    for name in names:
        rows = made((name, 1.1, 1.0, 1.0, PROVEN))
        assert ruby.layers_of(Costs(rows)).rows == rows
    assert not ruby.layers_of(Costs(made(("vgg16:conv1_1", 1.1, 1.0, 1.0, PROVEN)))).rows


# The figure


def test_the_figure_has_a_line_by_what_was_found_a_band_to_the_bound_and_a_dot_or_ring_each() -> None:
    rows = made(("a", 1.5, 1.0, 1.0, PROVEN), ("b", 1.0, 1.0, 1.0, PROVEN), ("c", 1.02, 1.0, 0.85, OPEN))
    axes = costs_figure("title", "how", Costs(rows)).axes[-1]
    (line,) = axes.lines
    assert line.get_color() == COLOURS["eyeriss-small"]
    at, share = np.asarray(line.get_data())
    assert share == pytest.approx(shares(np.array([0.0, 2.0, 50.0]), at))
    assert share[0] == pytest.approx(1 / 3)
    band, dots, rings = axes.collections
    # Between 2 and 20 % it is open whether the third problem costs so much.
    assert any(y == pytest.approx(1 / 3) and x > 10 for x, y in band.get_paths()[0].vertices.tolist())
    assert np.asarray(dots.get_offsets()) == pytest.approx(np.array([[50, 1]]))
    assert np.asarray(rings.get_offsets()) == pytest.approx(np.array([[2, 2 / 3]]))


def test_a_cost_beyond_the_axis_makes_it_longer() -> None:
    axes = costs_figure("title", "how", even(3.0)).axes[-1]
    assert axes.get_xlim()[1] > 300
    assert np.asarray(axes.lines[0].get_ydata())[-1] == 1


# Words of the documentation


def test_words_of_the_documentation_follow_from_the_table() -> None:
    text = " ".join((ROOT / "results" / "proofs.md").read_text(encoding="utf-8").split())
    assert "The most is 55 %, proven, for ViT-B/16's scores on `eyeriss-small`" in text
    (scores,) = (
        Costs.read().of(layer="vit-b16:scores", accelerator="eyeriss-small", objective="edp").proven.least
    )
    assert per_cent(scores, 0) == "55"
    assert scores == Costs.read().proven.least.max()
    costs = Costs.read()
    ends = " to ".join(f"{100 * each.mean():.1f}" for each in (costs.least, costs.most))
    small, edp = (
        f"{100 * one.least.mean():.1f} %"
        for one in (costs.of(accelerator="eyeriss-small"), costs.of(objective="edp"))
    )
    nothing = int((costs.most <= 0).sum())
    said = (
        f"{ends} % in the mean over {len(costs.rows)} problems of seven networks, {len(costs.proven.rows)} of"
    )
    assert f"{said} them proven. In EDP it is {edp}, on `eyeriss-small` {small}." in text
    assert f"On {nothing} problems they cost nothing." in text
