"""What a report says in sentences is what its tables say, in any campaign."""

from __future__ import annotations

import csv
import io
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.analysis.analysis import analyse_study
from dse.analysis.significance import enough_runs
from dse.analysis.study import Study
from dse.report.conclusions import Sentence, conclude_study
from dse.report.formats import Table, as_csv, markdown_table
from dse.report.tables import make_tables
from tests.analysis.report_cases import A, B, cell

RESAMPLES = 60
NAMES = ("walk", "cem", "marl", "grid", "ppo", "local")
LOSSES = (1.0, 1.0, 1.0001, 1.02, 1.5, 4.0, math.inf)
"""Ties, figures that print alike, and runs that found nothing feasible."""
NUMBER = r"\d[\d,]*(?:\.\d+)?"


def campaign(seed: int) -> Study:
    """A campaign of a few searchers with few or several seeds, perhaps not done, perhaps with proofs.

    It is drawn as a whole: part by part, most would have one searcher and one seed.
    """
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.permutation(NAMES)[: rng.integers(1, 7)]]
    problems = [A, B, ("net:a", "cloud", "latency")][: rng.integers(1, 4)]
    seeds = int(rng.choice([1, 2, 3, 4, 6, 6]))
    about: dict[str, Any] = {
        "campaign": "drawn",
        "budget": 1000,
        "cost_model": "maestro",
        "seeds": seeds,
        "searchers": names,
        "problems": problems,
    }
    for key in ("reference", "baseline"):
        if rng.random() < 0.7:
            about[key] = str(rng.choice(names))
    limited = {name: 500 for name in names if rng.random() < 0.1}
    if limited:
        about["limits"] = {name: {"seeds": seeds, "budget": 500} for name in limited}
    if rng.random() < 0.5:
        proof = {"status": "optimal", "lower_bound": 1.0, "loss": 1.0}
        about["optima"] = {"{} on {}, {}".format(*problem): proof for problem in problems}
    lacking = 0.1 if rng.random() < 0.2 else 0.0
    cells = []
    for name in names:
        # Runs of one searcher are like each other, so that some leads are significant.
        around, late = rng.integers(len(LOSSES)), rng.choice([0, 9, 99, 399])
        for problem in problems:
            for number in range(seeds):
                if rng.random() < lacking:
                    continue
                loss = LOSSES[int(np.clip(around + rng.integers(-1, 2), 0, len(LOSSES) - 1))]
                at = int(late and late + rng.integers(0, 90))
                steps = [] if math.isinf(loss) else [(0, 64 * loss), (at, loss)] if at else [(0, loss)]
                cells.append(cell(name, steps, problem, seed=number, budget=limited.get(name, 1000)))
    return Study(Path("drawn"), about, tuple(cells))


def rows(table: Table) -> list[dict[str, str]]:
    """A table's CSV."""
    return list(csv.DictReader(io.StringIO(as_csv(table.columns, table.rows))))


def listed(text: str) -> list[str]:
    """The names in `a, b and c`."""
    return re.split(r", | and ", text)


class Reader:
    """What the tables of a study say, by which its sentences are checked."""

    def __init__(self, study: Study) -> None:
        findings = analyse_study(study, RESAMPLES)
        self.study = study
        self.tables = {table.name: table for table in make_tables(study, findings, [], [])}
        self.conclusions = conclude_study(study, findings)
        self.standing = {
            row["searcher"]: row
            for row in rows(self.tables["standing"])
            if int(row["budget"]) == study.budget and row["searcher"] not in study.cut
        }

    def shown(self, table: str) -> str:
        """A table as it is read, with its title and note, without searchers' sentences."""
        return "\n".join(map(markdown_table, self.tables[table].sections))

    def check(self, sentence: Sentence) -> None:
        """See that every number of a sentence is in its table, and that what it compares is so."""
        text = re.sub(r"^So far \([^)]*\),? on ", "On ", sentence.text)
        text = re.sub(r"^So far \([^)]*\) ", "", text)
        kinds = {
            "is nearest to": self.nearest,
            "are nearest to": self.nearest,
            "The lead of": self.lead,
            " times as many samples as ": self.efficiency,
        }
        for words, check in kinds.items():
            if words in text:
                check(text)
        if "The lead of" not in text:
            shown = set(re.findall(NUMBER, self.shown(sentence.table)))
            spoken = re.sub(r"95 % confidence", "", text)
            assert set(re.findall(NUMBER, spoken)) - {"1"} <= shown | {str(len(self.study.problems))}, text

    def ratio(self, searcher: str) -> float:
        return float(self.standing[searcher]["ratio"])

    def nearest(self, text: str) -> None:
        """Those named print the lowest ratio, and nobody else does."""
        found = re.search(r"^On \d+ problems?, (.*?) (?:is|are) nearest to .*? at ([\d.,]+) times it", text)
        assert found is not None, text
        finite = {name: self.ratio(name) for name in self.standing if math.isfinite(self.ratio(name))}
        printed = {name: f"{ratio:.3f}" for name, ratio in finite.items()}
        least = printed[min(finite, key=lambda name: finite[name])]
        assert found[2] == least
        level = [name for name in self.study.searchers if printed.get(name) == least]
        assert listed(found[1]) == level
        others = {name: ratio for name, ratio in finite.items() if name not in level}
        second = re.search(r"; next is (\S+?),( the reference,)? at ([\d.,]+) times it\.$", text)
        assert (second is not None) == bool(others), text
        if second is not None:
            assert others[second[1]] == min(others.values())
            assert bool(second[2]) == (second[1] == self.study.reference)
            assert float(second[3].replace(",", "")) == pytest.approx(others[second[1]], rel=5e-3)

    def lead(self, text: str) -> None:
        """The verdicts are those of the probabilities' intervals, and nobody is left out."""
        best = re.match(r"The lead of (\S+) is ", text)
        assert best is not None, text
        words = {
            "significant over": "significant",
            "not significant over": "not significant",
            "inconclusive, for want of runs, over": "inconclusive",
            "significantly reversed over": "reversed",
        }
        last = [r for r in rows(self.tables["versus"]) if int(r["budget"]) == self.study.budget]
        chances = {r["other"]: r for r in last if r["searcher"] == best[1]}
        others = {name: chances[name] for name in self.standing if name != best[1]}
        by_verdict: dict[str, list[str]] = {}
        for name, row in others.items():
            low, high = float(row["low"]), float(row["high"])
            sizes = [
                (len(self.study.cells(p, best[1])), len(self.study.cells(p, name)))
                for p in self.study.problems
            ]
            told = "significant" if low > 0.5 else "reversed" if high < 0.5 else "not significant"
            told = told if enough_runs(sizes) else "inconclusive"
            assert row["lead"] == self.standing[name]["lead"] == told
            by_verdict.setdefault(told, []).append(name)
        heads = "|".join(sorted(words, key=len, reverse=True))
        _, *parts = re.split(f"({heads}) ", text.removeprefix(best[0]).removesuffix("."))
        said = {
            words[head]: re.sub(r"(,| and) ?$", "", body)
            for head, body in zip(parts[::2], parts[1::2], strict=True)
        }
        assert said == {kind: self.whom(names, len(others), kind) for kind, names in by_verdict.items()}

    def whom(self, names: list[str], others: int, kind: str) -> str:
        """All, or not any, of the others, or a few by name, or how many of them."""
        if len(names) == others > 1 and kind == "not significant":
            return "either of the others" if others == 2 else f"any of the {others} others"
        if len(names) == others > 1:
            return "both others" if others == 2 else f"all {others} others"
        if len(names) > 4:
            return f"{len(names)} of the {others} others"
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

    def final(self) -> list[dict[str, str]]:
        """The rows of samples to the other's median final loss."""
        return [row for row in rows(self.tables["targets"]) if row["target"] == "final"]

    def efficiency(self, text: str) -> None:
        """The multiple, its interval and what is significant are those of the table's row."""
        found = re.search(r"(\S+) needs ([\d.,]+) times as many samples as (\S+) to reach \1's median", text)
        assert found is not None, text
        (row,) = (r for r in self.final() if (r["searcher"], r["other"]) == (found[3], found[1]))
        value, low, high = (float(row[name]) for name in ("ratio", "low", "high"))
        assert float(found[2].replace(",", "")) == pytest.approx(value, rel=0.06)
        enough = enough_runs(
            (len(self.study.cells(p, found[1])), len(self.study.cells(p, found[3])))
            for p in self.study.problems
        )
        told = re.search(r": (significant|not significant|inconclusive)(?:;|\.| \(|$)", text)
        assert told is not None, text
        outside = low > 1 or high < 1
        assert told[1] == ("inconclusive" if not enough else "significant" if outside else "not significant")
        assert ("confidence interval" in text) == (not low == value == high)
        if found[2] not in ("1", "1.0"):
            assert (float(found[2].replace(",", "")) > 1) == (value > 1)


@cache
def drawn(seed: int) -> Reader:
    """A drawn campaign's tables and sentences, which tests share."""
    return Reader(campaign(seed))


readers = st.integers(0, 24).map(drawn)
"""All of them are read by each test; `prove_sentences.py` draws others."""


@given(readers)
def test_every_sentence_says_what_its_table_says(reader: Reader) -> None:
    assert reader.conclusions.sentences
    for sentence in reader.conclusions.sentences:
        assert sentence.text.endswith(".")
        if sentence.table:
            reader.check(sentence)
    for row in reader.final():
        if "times as many samples" in row["sentence"]:
            reader.efficiency(row["sentence"])


@given(readers)
def test_no_sentence_of_a_report_contradicts_another(reader: Reader) -> None:
    said = reader.conclusions.headline
    thin = " ".join(reader.conclusions.warnings)
    if "every comparison is inconclusive" in thin and "for " not in thin.split("every comparison")[0]:
        assert "significant" not in said
    for text in (said, thin):
        assert "cannot tell" not in text
        assert "told apart" not in text
        assert "  " not in text


@given(readers)
def test_titles_are_lines_and_what_else_is_to_be_read_is_a_note(reader: Reader) -> None:
    for table in reader.tables.values():
        for section in table.sections:
            assert len(section.title) <= 100
            assert section.note == section.note.strip()
            assert not section.note or section.note.endswith(".")
