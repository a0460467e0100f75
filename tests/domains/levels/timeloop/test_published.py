"""The model prints what Timeloop printed."""

from __future__ import annotations

import json

import pytest

from dse.models.timeloop.cases import CaseReader, Result, price_cases
from tests.domains.levels.timeloop import published

EXERCISES = [entry["id"] for entry in published.rows("exercises")]


@pytest.fixture(scope="module")
def dosa() -> list[Result]:
    return priced("dosa")


@pytest.fixture(scope="module")
def exercises() -> dict[str, Result]:
    return dict(zip(EXERCISES, priced("exercises", detail=True), strict=True))


def priced(name: str, *, detail: bool = False) -> list[Result]:
    reader = CaseReader()
    cases = [reader.read(json.dumps(entry), name) for entry in published.rows(name)]
    return price_cases(cases, detail=detail)


def test_every_row_of_the_data_set_fits_its_machine(dosa: list[Result]) -> None:
    assert {result["status"] for result in dosa} == {"ok"}


def test_cycles_of_the_data_set_are_equal(dosa: list[Result]) -> None:
    for entry, result in zip(published.rows("dosa"), dosa, strict=True):
        assert result["cycles"] == entry["expected"]["cycles"], entry["id"]


def test_energies_of_the_data_set_agree_to_the_last_digit(dosa: list[Result]) -> None:
    for entry, result in zip(published.rows("dosa"), dosa, strict=True):
        assert published.same_digits(result["energy_uj"], entry["expected"]["energy_uj"]), entry["id"]


def test_products_of_the_data_set_agree_to_the_last_digit(dosa: list[Result]) -> None:
    for entry, result in zip(published.rows("dosa"), dosa, strict=True):
        assert float(f"{result['edp']:.7g}") == float(entry["expected"]["edp"]), entry["id"]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_exercise_has_the_published_figures(exercise: str, exercises: dict[str, Result]) -> None:
    result, expected = exercises[exercise], published.row("exercises", exercise)["expected"]
    assert result["cycles"] == expected["cycles"]
    assert f"{result['energy_uj']:.2f}" == expected["energy_uj"]
    assert f"{result['edp']:.2e}" == expected["edp"]
    assert f"{100 * result['utilization']:.2f}" == expected["utilization_percent"]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_exercise_has_the_published_counts(exercise: str, exercises: dict[str, Result]) -> None:
    assert exercises[exercise]["counts"] == published.row("exercises", exercise)["expected"]["counts"]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_exercise_has_the_published_energy_at_every_level(
    exercise: str, exercises: dict[str, Result]
) -> None:
    entry = published.row("exercises", exercise)
    energies = exercises[exercise]["level_energy_uj"]
    energies = {**energies, "Total": exercises[exercise]["energy_uj"]}
    for level, femtojoules in entry["expected"]["energy_fj_per_mac"].items():
        assert f"{energies[level] / published.macs(entry) * 1e9:.2f}" == femtojoules, level
