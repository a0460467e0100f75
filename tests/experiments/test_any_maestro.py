"""The committed proofs over any tiles under `maestro` are of a sample, with no bound above a mapping."""

from __future__ import annotations

from experiments import any_maestro, read_rows


def test_the_table_has_the_first_problems_of_the_order_and_no_bound_above_a_mapping() -> None:
    rows = read_rows(any_maestro.FILE)
    names = [(name, machine, problem.objective) for name, machine, problem in any_maestro.problems()]
    assert [(one["layer"], one["accelerator"], one["objective"]) for one in rows] == names[: len(rows)]
    for one in rows:
        assert float(one["bound"]) <= float(one["any"])
        assert (one["bound"] == one["any"]) == (one["status"] != "bounded")


def test_a_proof_of_the_table_is_had_again() -> None:
    """The one that took least."""
    pairs = zip(any_maestro.problems(), read_rows(any_maestro.FILE), strict=False)
    proven = [(problem, one) for (_, _, problem), one in pairs if one["status"] != "bounded"]
    problem, one = min(proven, key=lambda pair: float(pair[1]["seconds"]))
    found = any_maestro.certify(problem, 60.0, cache=False)
    assert (found.status, repr(found.lower_bound)) == (one["status"], one["bound"])
