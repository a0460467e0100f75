"""What a judge has counted itself: kept beside records, read by `dse calibrate`, seen by searchers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.counters import FILE, read_counters
from dse.search.evaluator import Evaluator
from dse.support.errors import InputError
from tests.conftest import Dse

LAYER, SMALL = Layer("CONV", 32, 16, 14, 14, 3, 3, (1, 1), (1, 1)), PRESETS["eyeriss-small"]
JUDGE = f"{__name__}:counts"


def counts(layer: Any, accelerator: Any, mapping: Any) -> Any:
    """Time, and words; refuses where the outer level spreads C; counts nothing where it spreads X."""
    if mapping.outer.parallel == "C":
        return "no adders there"
    tile = mapping.inner.tile["K"]
    answer: dict[str, Any] = {"cycles": 10**9 // tile}
    return answer if mapping.outer.parallel == "X" else answer | {"counters": {"words": 7 * tile}}


def test_a_folder_has_the_counters_of_its_samples_and_calibrate_says_what_they_follow(
    dse: Dse, tmp_path: Path
) -> None:
    found = searched(tmp_path / "run")
    mappings = found.cell.problem.space.decode(found.record.genes())
    said = read_counters(tmp_path / "run", len(mappings))
    for place, counters in enumerate(said):
        tile, parallel = mappings[place].inner.tile["K"], mappings[place].outer.parallel
        # Also of what does not fit: this judge was asked for it.
        assert counters == ({} if parallel in "XC" else {"words": 7 * tile})
    assert any(said)
    assert not all(said)
    printed = dse("calibrate", str(tmp_path / "run"), "--accelerator", "eyeriss-small", "--json")
    (counted,) = json.loads(printed.out)["counters"]
    feasible = found.record.evaluations().reason == 0
    assert counted["counter"] == "words"
    assert counted["samples"] == sum(bool(each) for each, fits in zip(said, feasible, strict=True) if fits)


def searched(folder: Path) -> Any:
    return dse.search(Problem(LAYER, SMALL, "latency", JUDGE), "random", budget=80, seed=0, out=folder)


def test_a_judge_that_counts_nothing_leaves_no_file(tmp_path: Path) -> None:
    dse.search(Problem(LAYER, SMALL), "random", budget=5, out=tmp_path / "run")
    assert not (tmp_path / "run" / FILE).exists()
    assert read_counters(tmp_path / "run", 2) == [{}, {}]


def test_a_searcher_sees_the_counters_of_its_samples_and_of_no_other_point() -> None:
    problem = Problem(LAYER, SMALL, "latency", JUDGE)
    evaluate = Evaluator(problem, 30)
    points = np.unique(problem.space.sample(np.random.default_rng(0), 40), axis=0)[:30]
    evaluate(points[:20])
    # Priced beside the search: known to the model, and no sample.
    problem.price(points[20:])
    assert any(problem.counters(points[20:]))
    seen = evaluate.counters(points)
    assert seen[:20] == problem.counters(points[:20])
    assert any(seen[:20])
    assert not any(seen[20:])


def test_another_search_in_the_same_process_asks_anew_and_a_cache_file_keeps_counters(tmp_path: Path) -> None:
    note = tmp_path / "asked"
    program = tmp_path / "judge.py"
    program.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        f"    open({str(note)!r}, 'a').write('x')\n"
        "    said = {'id': json.loads(line)['id'], 'cycles': 10**9, 'counters': {'words': 7}}\n"
        "    print(json.dumps(said), flush=True)\n"
    )
    point = Problem(LAYER, SMALL).space.sample(np.random.default_rng(3), 1)
    kept = str(tmp_path / "kept.sqlite")
    for cache, asked in (("", 1), ("", 2), (kept, 3), (kept, 3)):
        model = f"command(run='python3 {program}', misfits='asked', cache='{cache}')"
        problem = Problem(LAYER, SMALL, "latency", model)
        problem.price(point)
        assert len(note.read_text()) == asked
        assert problem.counters(point) == [{"words": 7}]
    fresh = Problem(LAYER, SMALL, "latency", f"command(run='python3 {program}', cache='{kept}')")
    assert fresh.counters(point) == [{}], "of another model, which has said nothing yet"


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"sample": 3, "counters": {}}', '{"sample": 0}', '{"sample": 0, "counters": {"a": "1"}}'],
)
def test_a_damaged_file_is_refused_in_a_line(tmp_path: Path, line: str) -> None:
    (tmp_path / FILE).write_text(line + "\n")
    with pytest.raises(InputError, match="line 1") as refused:
        read_counters(tmp_path, 3)
    assert "\n" not in str(refused.value)


WORDS = f"{__name__}:in_words"


def in_words(layer: Any, accelerator: Any, mapping: Any) -> Any:
    """Refuses by two rules, one of them with numbers in its words, and fails by a third."""
    if mapping.outer.parallel == "C":
        return f"no adders between {mapping.cluster_size} PEs"
    if mapping.outer.parallel == "X":
        raise ValueError(f"column {mapping.outer.tile['X']}")
    return {"cycles": 10**9 // mapping.inner.tile["K"]}


def test_a_search_tells_in_the_judge_s_words_what_was_refused_and_how_often(dse: Dse, tmp_path: Path) -> None:
    asked = ["search", "--layer", "resnet18:3", "--accelerator", "edge", "--cost-model", WORDS]
    said = dse(*asked, "--budget", "60", "--searcher", "random").out.splitlines()
    refused = [line for line in said if "refused, as in: " in line]
    assert len(refused) == 2, "words that differ in numbers alone are one"
    for rule in ("no adders between", "ValueError: column"):
        (line,) = [line for line in refused if rule in line]
        assert int(line.split()[0]) > 5
    result = searched(tmp_path / "run")
    ((reason, words), count), *_ = result.refusals_in_words.items()
    assert (reason.label, words) == ("refused", "no adders there")
    mappings = result.cell.problem.space.decode(result.record.genes())
    assert count == sum(mappings[place].outer.parallel == "C" for place in range(len(mappings)))


def test_what_a_model_of_ours_refuses_has_no_words_but_its_reasons(tmp_path: Path) -> None:
    found = dse.search(Problem(LAYER, SMALL), "random", budget=30)
    assert found.refusals
    assert found.refusals_in_words == {}
