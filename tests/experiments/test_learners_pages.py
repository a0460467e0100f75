"""Pages on learners and on few samples follow from the lines that are committed beside them."""

from __future__ import annotations

import pytest

from dse.analysis.study import load_study
from experiments import RESULTS, mst, read_rows, transformer_samples
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


def test_the_table_of_transformers_follows_from_their_curves() -> None:
    folder = transformer_samples.FOLDER
    page = (folder / "few-samples.md").read_text(encoding="utf-8")
    assert page.endswith(f"\n\n{transformer_samples.table(load_study(folder))}\n")
