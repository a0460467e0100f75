"""What other layers teach: committed tables are those of the committed runs, pairs are of a problem."""

from __future__ import annotations

from experiments import RESULTS, network_transfer, read_rows, transfer


def test_the_committed_table_is_that_of_the_committed_runs() -> None:
    page = (RESULTS / "transfer" / "small.md").read_text(encoding="utf-8")
    assert page.endswith(network_transfer.table(read_rows(network_transfer.PATH)) + "\n")


def test_searchers_are_compared_problem_by_problem() -> None:
    """Twice as good on every problem, however far apart these are."""
    rows = [
        {"problem": str(far), "searcher": name, "seed": "0"}
        | {str(count): str(far * ratio) for count in network_transfer.SAMPLES}
        for far in (1, 2, 5)
        for name, ratio in (("transfer", 1.0), ("team", 2.0))
    ]
    line = next(line for line in network_transfer.table(rows).splitlines() if "paired" in line)
    assert line.count("0.500 [0.500, 0.500]") == len(network_transfer.SAMPLES)


def test_the_tables_of_learned_mappings_are_those_of_the_committed_runs() -> None:
    rows = transfer.read()
    page = (RESULTS / "sparse" / "transfer.md").read_text(encoding="utf-8")
    assert page.endswith(f"{transfer.table(rows)}\n\n{transfer.paired(rows)}\n")


def test_an_arm_that_is_worse_on_every_problem_is_said_to_be_worse() -> None:
    ratios = {"generative": "4", "nearest": "2"}
    rows = [
        {"arm": arm, "problem": str(problem), "seed": "0", **dict.fromkeys(map(str, transfer.SAMPLES), ratio)}
        for problem in range(3)
        for arm, ratio in ratios.items()
    ]
    assert "| generative / nearest | 2.00 [2.00, 2.00] |" in transfer.paired(rows)
    swapped = [row | {"arm": "nearest" if row["arm"] == "generative" else "generative"} for row in rows]
    assert "| generative / nearest | 0.50 [0.50, 0.50] |" in transfer.paired(swapped)
