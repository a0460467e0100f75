"""What a smaller budget, or fewer seeds, of one searcher do to figures, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

from dse.analysis.analysis import analyse_study
from dse.analysis.findings import TABLE_TAUS, Findings
from dse.analysis.study import Study
from dse.campaign.summary import Summary
from dse.report.conclusions import conclude_study
from dse.report.plots.drawing import draw_figures
from dse.report.tables.targets import efficiency_sentence
from tests.analysis.report_cases import cell
from tests.analysis.test_findings import seeds, study
from tests.report.figure_cases import made_up

RESAMPLES = 100
INF = float("inf")


def warnings(study: Study) -> tuple[str, ...]:
    """What is said of where a study's evidence is thin."""
    return conclude_study(study, analyse_study(study, RESAMPLES)).warnings


def cut(found: Study, searcher: str, budget: int) -> Study:
    """The study as it would be had a searcher had that budget only: its runs end there."""

    def ended(one: Summary) -> Summary:
        kept = [place for place, index in enumerate(one.steps["index"]) if index < budget]
        steps = {name: [values[place] for place in kept] for name, values in one.steps.items()}
        return replace(one, budget=budget, samples=budget, steps=steps)

    cells = tuple(ended(one) if one.searcher == searcher else one for one in found.summaries)
    limits = {searcher: {"seeds": found.seeds, "budget": budget}}
    return Study(found.folder, found.about | {"limits": limits}, cells)


def test_a_smaller_budget_changes_no_figure_up_to_it() -> None:
    full = made_up(("random", "walk", "genetic", "marl"), seeds=6)
    short = cut(full, "genetic", 500)
    before, after = analyse_study(full, RESAMPLES), analyse_study(short, RESAMPLES)
    for name in ("versus", "standing", "layers"):
        kept = {repr(row) for row in getattr(before, name) if "genetic" not in repr(row) or row.budget <= 500}
        assert {repr(row) for row in getattr(after, name)} == kept
    for problem, bands in after.convergence.items():
        end = len(bands["genetic"].samples)
        assert (
            bands["genetic"].centre.tolist() == before.convergence[problem]["genetic"].centre[:end].tolist()
        )
        assert bands["marl"].low.tolist() == before.convergence[problem]["marl"].low.tolist()
    reached = before.ecdf["genetic"][1]
    shown = after.ecdf["genetic"][1]
    assert shown.tolist() == reached[: len(shown)].tolist()


def test_the_chance_at_the_whole_budget_is_the_matrixs() -> None:
    figures = analyse_study(made_up(seeds=5), RESAMPLES)
    matrix = figures.improvement
    names = matrix.searchers
    for row in figures.versus:
        if row.budget == 2_000:
            place = names.index("marl"), names.index(row.searcher)
            found = (matrix.probability[place], matrix.low[place], matrix.high[place])
            assert (row.chance.value, row.chance.low, row.chance.high) == found


def limited(searcher: str, budget: int, count: int, *cells: list[Summary]) -> Study:
    """A study in which one searcher has less; its budget is 1,000 samples."""
    limits = {searcher: {"seeds": count, "budget": budget}}
    return study([one for found in cells for one in found], limits=limits)


def runs(searcher: str, *steps: list[tuple[int, float]], budget: int = 1000) -> list[Summary]:
    """Runs on one problem by their improvements."""
    return [cell(searcher, found, seed=seed, budget=budget) for seed, found in enumerate(steps)]


def efficiencies(found: Study) -> dict[tuple[str, str], float]:
    """The efficiency table's ratios."""
    rows: Findings = analyse_study(found, RESAMPLES)
    return {(row.searcher, row.other): row.ratio.value if row.ratio else 0.0 for row in rows.efficiency}


def test_who_goes_on_longer_gains_nothing_by_it_against_who_may_not() -> None:
    # walk is where genetic ends only long after genetic's budget: up to there it fails.
    walk = runs("walk", *[[(0, 9.0), (499, 1.0)]] * 3)
    genetic = runs("genetic", *[[(0, 9.0), (49, 2.0)]] * 3, budget=100)
    found = limited("genetic", 100, 3, walk, genetic)
    assert efficiencies(found) == {("walk", "genetic"): 0.0, ("genetic", "walk"): 1.0}
    sentences = [efficiency_sentence(found, row) for row in analyse_study(found, RESAMPLES).efficiency]
    assert all(sentence.endswith("(both read up to 100 samples)") for sentence in sentences)


def test_a_target_not_reached_is_charged_with_the_smaller_budget() -> None:
    # To 1.5 times the best: marl in 20 samples, always; genetic in 40, in one of two runs of 100: 140.
    marl = runs("marl", *[[(0, 9.0), (19, 1.2), (799, 1.0)]] * 4)
    genetic = runs("genetic", [(0, 9.0), (39, 1.2)], [(0, 9.0)], budget=100)
    found = analyse_study(limited("genetic", 100, 2, marl, genetic), RESAMPLES)
    rows = {row.tau: row for row in found.targets}
    assert rows[1.5].ratio is not None
    assert rows[1.5].ratio.value == 7
    assert (rows[1.5].reached, rows[1.5].other_reached, rows[1.5].problems) == (1, 1, 1)
    # marl is at the best only after 800 samples, and genetic is not known there: nothing to compare.
    assert (rows[1.0].ratio, rows[1.0].known, rows[1.0].budget) == (None, 0, 100)
    expected = {row.searcher: row.samples_to for row in found.layers}
    assert expected["genetic"][TABLE_TAUS.index(1.5)] == 140
    assert expected["genetic"][TABLE_TAUS.index(1.0)] == INF
    assert expected["marl"][TABLE_TAUS.index(1.0)] == 800


def test_a_target_that_only_one_reaches_is_never_or_nothing() -> None:
    found = analyse_study(study([*seeds("marl", [1.0] * 3), *seeds("walk", [3.0] * 3)]), RESAMPLES)
    (strict,) = [row for row in found.targets if row.tau == 1.0]
    assert strict.ratio is not None
    assert (strict.ratio.value, strict.reached, strict.other_reached) == (INF, 1, 0)
    other = analyse_study(study([*seeds("marl", [3.0] * 3), *seeds("walk", [1.0] * 3)]), RESAMPLES)
    (strict,) = [row for row in other.targets if row.tau == 1.0]
    assert strict.ratio is not None
    assert (strict.ratio.value, strict.reached, strict.other_reached) == (0.0, 0, 1)


def test_few_seeds_are_those_of_who_has_few() -> None:
    cells = [*seeds("marl", [1.0] * 6), *seeds("walk", [2.0] * 2), *seeds("grid", [2.0])]
    limits = {name: {"seeds": count, "budget": 1000} for name, count in (("walk", 2), ("grid", 1))}
    said = warnings(study(cells, limits=limits))
    assert any(text.startswith("Only 1 seed a problem for grid, so there is no confidence") for text in said)
    few = "confidence intervals of single problems assume log-normal losses, and two seeds have none"
    assert f"Only 2 seeds a problem for walk, so {few}." in said
    assert "walk has 2 of 6 seeds, as the campaign says: intervals are of the seeds that there are." in said
    limits["grid"] = limits["walk"]
    said = warnings(study(cells, limits=limits))
    assert any(sentence.startswith("walk and grid have 2 of 6 seeds, ") for sentence in said)


def test_a_reference_with_less_is_compared_as_far_as_it_goes() -> None:
    short = cut(made_up(("random", "walk", "marl"), seeds=4), "marl", 500)
    figures = analyse_study(short, RESAMPLES)
    assert {row.budget for row in figures.versus} == {500}
    assert figures.comparisons == ()
    assert "marl, the reference, has only 500 samples a run" in conclude_study(short, figures).headline


def test_a_campaign_of_which_nobody_has_all_says_so() -> None:
    one = cut(made_up(("walk",), seeds=3), "walk", 500)
    figures = analyse_study(one, RESAMPLES)
    assert conclude_study(one, figures).headline.startswith(
        "No searcher has the whole budget of 2,000 samples: "
    )
    assert figures.profiles == {}
    for drawing in draw_figures(one, figures).values():
        drawing.build()
