"""What the best mappings known on the CPU spend their cycles on: a minute."""

from __future__ import annotations

import json
import tomllib

import pytest

from experiments import read_rows
from experiments.judges.references import JUDGES, TABLE, best, problem
from tests.judges.cases import answers, needs


@pytest.mark.parametrize("number", range(1, 9))
def test_most_cycles_of_the_best_mapping_are_instructions(number: int) -> None:
    needs("gcc", "valgrind")
    campaign = tomllib.loads((JUDGES / "cpu" / "campaign.toml").read_text())
    asked = problem("cpu", campaign, campaign["problems"][number - 1])
    least = best("cpu")[f"l{number}"]
    row = next(
        row
        for row in read_rows(TABLE)
        if (row["judge"], row["problem"], int(row["cycles"])) == ("cpu", f"l{number}", least)
    )
    (answer,) = answers("cpu", [asked.case(asked.read_mapping(json.loads(row["mapping"])))])
    assert answer["counters"]["instructions"] > answer["cycles"] / 2
