"""Pages on learners and on few samples follow from the lines that are committed beside them."""

from __future__ import annotations

import numpy as np
import pytest

from dse.analysis.study import load_study
from experiments import RESULTS, mst, mst_widths, read_rows, transformer_samples
from experiments.learners import memory, standing, study
from experiments.learners.returns import HERE
from experiments.learners.rewards import reward_lines
from experiments.quantised.study import aware_beside, read, table, table_1, table_2, table_of_bits, verdicts


def test_a_page_that_is_committed_follows_from_its_lines() -> None:
    tables = "\n\n".join(memory.pages())
    written = (HERE / "memory.md").read_text(encoding="utf-8")
    assert written == f"Written by `python -m experiments.learners.memory`.\n\n{tables}\n"


def test_what_a_step_takes_grows_with_the_team() -> None:
    three, six = (memory.size(memory.recorded(agents)[0]) for agents in (3, 6))
    assert six > 2 * three


def test_the_study_of_phases_and_rewards_follows_from_its_lines() -> None:
    page = (HERE / "study.md").read_text(encoding="utf-8")
    found, rows = study.Phases(read_rows(HERE / "phases.csv")), read_rows(HERE / "returns.csv")
    for lines in (study.verdict_lines(found, rows), study.phase_lines(found), reward_lines(rows)):
        assert "\n".join(lines) in page


@pytest.mark.parametrize("campaign", standing.CAMPAIGNS)
def test_learners_stand_where_the_curves_have_them(campaign: str) -> None:
    assert "\n".join(standing.lines_of(campaign)) in (HERE / "standing.md").read_text(encoding="utf-8")


def test_the_study_of_few_bits_follows_from_its_lines() -> None:
    page = (RESULTS / "quantised" / "study.md").read_text(encoding="utf-8")
    ptq, qat = read("ptq.csv"), read("qat.csv")
    for part in (
        table(("claim", "here", "verdict"), verdicts(ptq, qat)),
        table_1(ptq),
        table_2(),
        table_of_bits(aware_beside(ptq, qat)),
    ):
        assert part in page


def test_the_table_of_pretraining_follows_from_its_curves() -> None:
    page = mst.PATH.with_suffix(".md").read_text(encoding="utf-8")
    assert page.endswith(f"\n\n{mst.table(mst.read())}\n")


def test_the_table_of_widths_follows_from_its_curves() -> None:
    written = mst_widths.PATH.with_suffix(".md").read_text(encoding="utf-8")
    assert written.endswith(f"\n\n{mst_widths.page(read_rows(mst_widths.PATH))}\n")


@pytest.mark.parametrize(
    ("lost", "saved", "words"),
    [
        ((0.10, 0.02), (2.0, 3.0), ("borne out", "borne out")),
        ((0.02, 0.10), (3.0, 2.0), ("not borne out", "not borne out")),
    ],
)
def test_what_width_does_is_judged_by_what_is_lost_and_saved_at_both_ends(
    lost: tuple[float, float], saved: tuple[float, float], words: tuple[str, str]
) -> None:
    noise = np.array([-0.001, 0.0, 0.001])
    lost_by, saved_by = (
        dict(zip(mst_widths.WIDTHS, (noise + value for value in values), strict=True))
        for values in (lost, saved)
    )
    assert tuple(row[2] for row in mst_widths.verdicts(lost_by, saved_by)[-2:]) == words


def test_the_table_of_transformers_follows_from_their_curves() -> None:
    folder = transformer_samples.FOLDER
    page = (folder / "few-samples.md").read_text(encoding="utf-8")
    assert page.endswith(f"\n\n{transformer_samples.table(load_study(folder))}\n")
