"""The figures that AccelForge's tests hold, beside ours."""

from __future__ import annotations

import json

import pytest

from experiments import read_rows
from experiments.uneven import default, fused, regression, snowcat, tiles
from experiments.uneven.regression import FOLDER

PUBLISHED = json.loads((FOLDER / "regression.json").read_text())
FIGURES = {(one["machine"], one["workload"], one["products"][0]): one for one in PUBLISHED["figures"]}


def test_each_figure_has_its_rows_and_the_page_is_made_from_them() -> None:
    rows = read_rows(FOLDER / "regression.csv")
    named = {(row["machine"], row["workload"], row["products"].split()[0]) for row in rows}
    assert named == set(FIGURES)
    assert regression.table() in (FOLDER / "regression.md").read_text()


def test_the_page_of_any_tiles_is_made_from_its_rows_and_none_loses_by_them() -> None:
    rows = read_rows(FOLDER / "tiles.csv")
    assert {row["status"] for row in rows} <= {"optimal", "bounded", tiles.FOUND}
    assert all(float(row["any"]) <= float(row["factors"]) * (1 + 1e-9) for row in rows)
    assert tiles.table() in (FOLDER / "tiles.md").read_text()


def test_each_word_of_a_layer_passes_once_into_a_buffer_without_end() -> None:
    figures = json.loads((FOLDER / "snowcat.json").read_text())["figures"]
    lines = (FOLDER / "snowcat.md").read_text().splitlines()
    assert [one.split(" | ")[0] for one in lines[4:18]] == [f"| {one['workload']}" for one in figures]
    for name in ("mobilenet_28", "deepseek_v3_671B"):
        (figure,) = (one for one in figures if one["workload"] == name)
        for product in figure["products"][:3]:
            assert snowcat.bits_of(product, 60) == pytest.approx(product["moved"])


def test_chains_of_products_take_no_more_than_the_fused_figures_that_were_published() -> None:
    rows = {(row["machine"], row["workload"]): row for row in read_rows(FOLDER / "fused.csv")}
    assert fused.table() in (FOLDER / "fused.md").read_text()
    assert len(rows) == len(json.loads((FOLDER / "fused.json").read_text())["figures"])
    assert all(float(row["pj"] or 0) <= float(row["fused"]) * (1 + 1e-6) for row in rows.values())
    found = fused.chain("tpu_v4i", "matmuls", 60)
    assert found == pytest.approx(float(rows["tpu_v4i", "matmuls"]["pj"]))


def test_the_page_of_both_nests_is_made_from_its_rows_and_its_quick_proofs_are_had_again() -> None:
    rows = read_rows(FOLDER / "default.csv")
    assert default.table() in (FOLDER / "default.md").read_text()
    assert len(rows) == 2 * len(default.PAIRS) * len(default.OBJECTIVES)
    for row in rows:
        if (row["machine"], row["objective"]) == ("phone.toml", "edp"):
            found = default.proven(*(row[name] for name in default.HEAD[:4]))
            assert found.status == row["status"]
            assert found.best
            assert found.best.loss == pytest.approx(float(row["loss"]))


@pytest.mark.parametrize("nests", ["even", "uneven"])
@pytest.mark.parametrize("name", [("simple", "matmuls", "Matmul0"), ("tpu_v4i", "gpt3_175B decode", "QK")])
def test_the_least_energy_of_a_product_is_that_which_was_published(
    name: tuple[str, str, str], nests: str
) -> None:
    figure = FIGURES[name]
    machines = list(regression.machines_of(name[0], PUBLISHED["machines"][name[0]], figure["bits"]))
    found = [regression.proven(figure, machine, nests, 60) for machine in machines]
    energies = [
        regression.energy_of(
            regression.words_of(one.best.mapping, figure, machine, nests),
            machine,
            regression.layer_of(figure).macs,
        )
        for one, machine in zip(found, machines, strict=True)
        if one.best
    ]
    assert min(energies) == pytest.approx(figure["energy"], rel=1e-7)
