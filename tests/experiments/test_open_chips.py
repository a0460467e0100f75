"""What the docs say of proofs on open chips is what the committed files say."""

from __future__ import annotations

import csv
import re

from tests import ROOT

OPTIMA = ROOT / "results" / "optima"


def rows(name: str) -> list[dict[str, str]]:
    with (OPTIMA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_counts_of_the_docs_are_those_of_the_file() -> None:
    found = rows("open-chips.csv")
    proven = [row for row in found if row["status"] == "optimal"]
    soon = [row for row in proven if float(row["seconds"]) <= 10]
    gaps = [float(row["gap"]) for row in found if row["status"] != "optimal"]
    text = re.sub(r"\s+", " ", (ROOT / "results" / "proofs.md").read_text(encoding="utf-8"))
    assert f"{len(proven)} of {len(found)} EDP optima" in text
    assert f"60 seconds of one core, {len(soon)} in 10" in text
    assert f"the other {len(gaps)} have gaps of {100 * min(gaps):.0f} to {100 * max(gaps):.0f} %" in text
    assert (
        f"[{len(proven)} of {len(found)} layers](results/proofs.md#open-chips-of-three-to-five-levels) "
        "are proven in a minute" in re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))
    )


def test_what_is_said_of_all_orders_is_that_of_its_file() -> None:
    found, earlier = rows("open-chips-all-orders.csv"), rows("open-chips.csv")
    assert {(row["chip"], row["layer"]) for row in found} < {(row["chip"], row["layer"]) for row in earlier}
    proven = sum(row["status"] == "optimal" for row in found)
    text = re.sub(r"\s+", " ", (ROOT / "results" / "proofs.md").read_text(encoding="utf-8"))
    assert f"Over all orders, {proven} of the first {len(found)} drawn" in text


def test_the_solver_before_is_compared_on_the_same_pairs() -> None:
    now = {(row["chip"], row["layer"]): row["status"] for row in rows("open-chips.csv")}
    before = rows("open-chips-before.csv")
    proven = sum(row["status"] == "optimal" for row in before)
    again = sum(now[row["chip"], row["layer"]] == "optimal" for row in before)
    text = re.sub(r"\s+", " ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    pairs = f"of {len(before)} pairs of an open chip and a layer"
    assert f"{pairs} the solver of version 0.1 proved {proven}, and this one {again}" in text
