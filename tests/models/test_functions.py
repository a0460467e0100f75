"""Functions as cost models: where they are looked for, what they may return, and what ends a search."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import dse as framework
from dse.core.cost_model import PricesNothing
from dse.core.cost_models import cost_model
from dse.core.reasons import Reason
from dse.domains.clustered.problem import Problem
from dse.support.errors import FloorWarning, InputError
from tests.conftest import Dse
from tests.models import outside_models as outside
from tests.models.function_cases import COUNTING, EDGE, FAIR, LAYER, WHERE, write

# Where a function is looked for


def test_a_function_is_named_by_its_file_wherever_that_lies(dse: Dse, tmp_path: Path) -> None:
    file = write(tmp_path / "costs (of mine), all" / "my costs.py", FAIR)
    search = ("search", *WHERE, "--budget", "20", "--json", "--cost-model")
    by_path = dse(*search, f"{file}:price").json
    by_module = dse(*search, f"{outside.__name__}:fair").json
    assert by_path["best"] == by_module["best"]
    assert by_path["cost_model"] == f'python(function="{file}:price")'
    assert dse(*search, by_path["cost_model"]).json["best"] == by_path["best"]
    assert dse(*search, f"python:{file}:price").json["best"] == by_path["best"]


def test_where_its_file_lies_is_no_part_of_a_problem_but_its_text_is(tmp_path: Path) -> None:
    here, there = write(tmp_path / "costs.py", FAIR), write(tmp_path / "a" / "costs.py", FAIR)
    models = [cost_model(f"{file}:price") for file in (here, there)]
    assert [model.identity for model in models] == ['python(function="costs.py:price")'] * 2
    assert models[0].version == models[1].version
    # The same size, in the same second: what is loaded is the text as it is now.
    write(here, FAIR.replace("0.5", "0.7"))
    changed = cost_model(f"{here}:price")
    assert changed.version != models[0].version
    batch = Problem(LAYER, EDGE, cost_model=changed).space.decode(np.zeros((1, 13), np.int64))
    figures = [model.evaluate(LAYER, EDGE, batch).energy_nj[0] for model in (models[0], changed)]
    assert figures[0] < figures[1]


def test_a_file_imports_what_lies_beside_it_and_may_have_any_name(tmp_path: Path) -> None:
    write(tmp_path / "table_of_mine.py", "CYCLES = 10**9")
    body = "from table_of_mine import CYCLES\ndef price(layer, accelerator, mapping):\n"
    file = write(tmp_path / "json.py", body + "    return {'cycles': CYCLES, 'energy_nj': 1}")
    assert Problem(LAYER, EDGE, cost_model=f"{file}:price").price(np.zeros((1, 13), np.int64)).cycles == [
        10**9
    ]
    assert json.dumps([1]) == "[1]"


def test_a_campaign_names_a_file_beside_its_own_and_workers_find_it(
    dse: Dse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "of mine"
    write(folder / "costs.py", FAIR)
    toml = """
    name = "mine"
    budget = 20
    seeds = 2
    cost_model = {model}
    layers = ["resnet18:0"]
    accelerators = ["edge"]
    objectives = ["edp"]
    [searchers.random]
    """
    by_text = write(folder / "text.toml", toml.format(model='"costs.py:price"'))
    write(folder / "table.toml", toml.format(model='{name = "python", function = "./costs.py:price"}'))
    monkeypatch.chdir(tmp_path)
    out = ("--out", "out", "--tables-only")
    assert dse("run", str(by_text.relative_to(tmp_path)), *out, "--workers", "2").code == 0
    # The same campaign, told in other words from elsewhere: nothing is left to do.
    monkeypatch.chdir(folder)
    again = dse("run", "table.toml", "--out", str(tmp_path / "out"), "--tables-only", "--json")
    assert again.json["done"] == 2
    assert again.code == 0


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("def price(layer, accelerator, mapping)", "price", "SyntaxError: expected ':' (costs.py:1)"),
        (
            "import nothing_there",
            "price",
            "ModuleNotFoundError: No module named 'nothing_there' (costs.py:1)",
        ),
        ("x = 1\n1 / 0", "price", "ZeroDivisionError: division by zero (costs.py:2)"),
        ("import sys\nsys.exit(0)", "price", "SystemExit: sys.exit(0) was called (costs.py:2)"),
        ("raise SystemExit", "price", "SystemExit: sys.exit() was called (costs.py:1)"),
        ("x = '\0'", "price", "SyntaxError: source code string cannot contain null bytes"),
        (FAIR, "prize", "costs.py has no 'prize'; its functions are price"),
        ("price = 5", "price", "must be a function, got 5"),
        (
            "def price(a, b): pass",
            "price",
            "must be a function (layer, accelerator, mapping), or with mappings",
        ),
    ],
)
def test_a_file_that_has_no_such_function_is_refused_in_a_line(
    dse: Dse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("costs.py").write_text(text)
    ran = dse("search", *WHERE, "--budget", "5", "--cost-model", f"costs.py:{name}")
    assert ran.code == 2
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_name_that_is_none_says_what_is_expected(tmp_path: Path) -> None:
    file = write(tmp_path / "costs.py", FAIR)
    expected = r"expected MODULE:FUNCTION or FILE\.py:FUNCTION, as in my_costs:price or \./my_costs\.py:price"
    for name in (str(file), f"python:{file}", f"python:{tmp_path}"):
        with pytest.raises(InputError, match=expected):
            cost_model(name)
    with pytest.raises(InputError, match="there is no file"):
        cost_model(f"{tmp_path}/prices.py:price")
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(InputError, match="there is no file"):
        cost_model(f"{tmp_path}/pipe.py:price")


RAISES = "return {'cycles': layer.macs // (len(layer.name) * 0), 'energy_nj': 1}"


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text())


@pytest.mark.parametrize("mapping", ["mapping", "mappings"])
@pytest.mark.parametrize("searcher", ["random", "local"])
def test_a_function_that_always_raises_ends_the_search_after_three_calls_unspent(
    dse: Dse, tmp_path: Path, mapping: str, searcher: str
) -> None:
    file = write(tmp_path / "costs.py", COUNTING.format(mapping=mapping, body=RAISES))
    search = ("search", *WHERE[:-1], searcher, "--budget", "50", "--cost-model", f"{file}:price")
    ran = dse(*search, "--out", str(tmp_path / "out"))
    assert ran.code == 2
    assert calls(tmp_path) == 3
    assert ran.err.splitlines()[-1].endswith(
        "has priced none of the first 3 mappings, always for the same reason (no sample is spent): it raised "
        f"ZeroDivisionError: integer division or modulo by zero, at {file}:7: {RAISES}"
    )
    # Nothing of it is in the way of the function as it should be.
    file.write_text(FAIR)
    assert dse(*search, "--out", str(tmp_path / "out")).code == 0


def test_the_line_that_is_named_is_the_users_own_and_not_a_librarys(tmp_path: Path) -> None:
    body = "return {'cycles': np.linalg.inv(np.zeros((2, 2)))[0, 0], 'energy_nj': 1}"
    library = write(
        tmp_path / "library.py", f"import numpy as np\ndef price(layer, accelerator, mapping):\n    {body}"
    )
    ours = write(
        tmp_path / "ours.py", "def price(layer, accelerator, mapping):\n    return mapping.inner.tile['N']"
    )
    for file, line in ((library, 3), (ours, 2)):
        with pytest.raises(PricesNothing) as caught:
            framework.search(Problem(LAYER, EDGE, "edp", f"{file}:price"), "random", budget=5)
        assert f", at {file}:{line}: return " in str(caught.value)


def test_a_campaign_of_it_fails_with_one_line_and_goes_on_when_it_is_mended(dse: Dse, tmp_path: Path) -> None:
    file = write(tmp_path / "costs.py", COUNTING.format(mapping="mapping", body=RAISES))
    campaign = write(
        tmp_path / "mine.toml",
        """
        name = "mine"
        budget = 10
        seeds = 2
        cost_model = "costs.py:price"
        layers = ["resnet18:0"]
        accelerators = ["edge"]
        objectives = ["edp"]
        [searchers.random]
        [searchers.local]
        """,
    )
    run = ("run", str(campaign), "--out", str(tmp_path / "out"), "--tables-only", "--workers", "1")
    failed = dse(*run)
    assert failed.code == 1
    assert 3 <= calls(tmp_path) <= 4 * 3
    [line] = [line for line in failed.out.splitlines() if line.startswith("failed: ")]
    assert "has priced none of the first 3 mappings" in line
    file.write_text(FAIR)
    assert dse(*run).code == 0


def test_a_function_that_raises_for_some_mappings_only_is_no_failure() -> None:
    problem = Problem(LAYER, EDGE, "edp", f"{outside.__name__}:fussy")
    refusals = framework.search(problem, "random", budget=40).refusals
    assert refusals[Reason.CRASHED] > 3
    assert sum(refusals.values()) < 40


def test_different_errors_are_the_mappings_and_are_charged(tmp_path: Path) -> None:
    body = (
        "import itertools\n    price.n = getattr(price, 'n', 0) + 1\n    if price.n % 2: raise ValueError\n"
    )
    file = write(tmp_path / "costs.py", COUNTING.format(mapping="mapping", body=body + "    raise KeyError"))
    result = framework.search(Problem(LAYER, EDGE, "edp", f"{file}:price"), "random", budget=12)
    assert result.refusals == {Reason.CRASHED: 12}


def test_fewer_cycles_than_the_file_leaves_room_for_are_said_once_and_count() -> None:
    problem = Problem(LAYER, EDGE, "latency", outside.fast)
    points = problem.space.sample(np.random.default_rng(0), 20)
    words = r"says 7 cycles, but .* at least \d+ \(num_pes = 256, simd_lanes = 1, "
    with pytest.warns(FloorWarning, match=words) as said:
        prices = [problem.price(points) for _ in range(2)][1]
    assert len(said) == 1
    fits = problem.with_changes(cost_model="loopnest").price(points).reason
    refused = np.isin(fits, [Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL])
    assert (prices.reason == 0).tolist() == (~refused).tolist()
    assert set(prices.cycles[prices.reason == 0].tolist()) == {7}
