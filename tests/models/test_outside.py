"""Cost models that ask a function or a program: what they say is priced, and what goes wrong is a reason."""

from __future__ import annotations

import json
import os
import pickle
import shlex
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.core.cost_models import cost_model, cost_models, model_with, outside_models
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.support.errors import InputError
from dse.testing import broken, check_cost_model
from tests.conftest import Dse
from tests.models import outside_models as outside

HERE = outside.__name__
LAYER, EDGE = Layer("CONV", 8, 4, 12, 12, 3, 3, (1, 1), (1, 1)), PRESETS["edge"]
SPACE = MappingSpace(LAYER, EDGE)
GENES = SPACE.sample(np.random.default_rng(0), 24)
MAPPINGS = SPACE.decode(GENES)


def reasons(costs: CostBatch) -> set[Reason]:
    return {Reason(int(code)) for code in costs.reason}


# The function


def test_a_function_prices_one_mapping_or_a_batch_and_the_rest_is_filled_in() -> None:
    one, many = (Problem(LAYER, EDGE, "edp", f"{HERE}:{name}") for name in ("fair", "fair_batch"))
    found, ours = one.price(GENES), Problem(LAYER, EDGE, "edp").price(GENES)
    assert found.cycles.tolist() == [LAYER.macs // MAPPINGS[row].inner["K"] for row in range(len(GENES))]
    assert (found.l1_size == ours.l1_size).all()
    assert (found.l2_size == ours.l2_size).all()
    assert (found.macs == LAYER.macs).all()
    assert not found.area.any()
    assert many.price(GENES).loss.tolist() == found.loss.tolist()
    assert one.identity["cost_model"] == f'python(function="{HERE}:fair")'


def test_a_function_is_itself_a_cost_model_and_goes_to_other_processes_by_its_name() -> None:
    problem = Problem(LAYER, EDGE, "edp", outside.fair)
    assert problem.fingerprint == Problem(LAYER, EDGE, "edp", f"{HERE}:fair").fingerprint
    again = pickle.loads(pickle.dumps(problem))
    assert again.price(GENES).loss.tolist() == problem.price(GENES).loss.tolist()
    assert problem.model.version.startswith("source ")


def test_what_a_function_raises_refuses_and_garbles_is_a_reason_with_its_words() -> None:
    problem = Problem(LAYER, EDGE, "edp", f"{HERE}:fussy")
    costs = problem.model.evaluate(LAYER, EDGE, MAPPINGS)
    seen = {MAPPINGS[row].outer.parallel: Reason(int(costs.reason[row])) for row in range(len(GENES))}
    assert seen["K"] is Reason.CRASHED
    assert seen["C"] is Reason.REFUSED
    assert seen["Y"] is Reason.GARBLED
    assert seen["X"] is Reason.FEASIBLE
    assert not costs.cycles[~costs.valid].any()
    said = {MAPPINGS[row].outer.parallel: problem.explain(MAPPINGS[row]) for row in range(len(GENES))}
    assert "ZeroDivisionError: no banks (outside_models.py:" in said["K"]
    assert "too many banks" in said["C"]
    assert "cycles must be a finite number above 0, got nan" in said["Y"]
    # What ends itself ends no search.
    assert "SystemExit: no licence" in Problem(LAYER, EDGE, "edp", f"{HERE}:ends").explain(MAPPINGS[0])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:price", "cannot be loaded: ModuleNotFoundError"),
        (f"{HERE}:nothing", "cannot be loaded: AttributeError"),
        (f"{HERE}:LINES", "must be a function, got"),
        (f"{HERE}:other_words", r"must be a function \(layer, accelerator, mapping\), or with mappings"),
        ("python", "needs function; expected python:FUNCTION"),
        ("comand:./price.sh", "unknown cost model 'comand:./price.sh'"),
        ("command:", "run must be a program"),
        ("command:no_such_program --fast", "program 'no_such_program' is not there"),
        ("command(run='true', timeout=0)", "timeout must be seconds above 0, got 0"),
        ("command(run='true', time=1)", "unknown key 'time' .* did you mean 'timeout'"),
        ("maestro-exe:/no/such", "program '/no/such' is not there"),
    ],
)
def test_what_cannot_price_is_refused_in_a_line(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cost_model(name)


def test_models_that_ask_others_are_not_asked_unless_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(outside_models()) == {"command", "maestro-exe", "python", "zigzag"}
    assert not set(outside_models()) & set(cost_models())
    monkeypatch.delenv("DSE_MAESTRO", raising=False)
    with pytest.raises(InputError, match=r"expected maestro-exe:PATH, or its path .* DSE_MAESTRO"):
        cost_model("maestro-exe")


def test_zigzag_without_its_library_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("dse.models.zigzag.version", absent)
    with pytest.raises(InputError, match=r"needs the library zigzag-dse; pip install 'dse-arena\[zigzag\]'"):
        cost_model("zigzag")


def test_a_search_that_finds_nothing_says_what_its_model_said(dse: Dse, tmp_path: Path) -> None:
    run = outside.line_program(tmp_path / "price.py", "raise SystemExit('out of licences')")
    where = ("--layer", "resnet18:0", "--accelerator", "edge", "--searcher", "random", "--budget", "2")
    found = dse("search", *where, "--cost-model", f'command(run="{run}", retries=0, misfits="asked")')
    assert found.code == 1
    assert "sample 1: what prices for the cost model crashed: ended with code 1: out of licences" in found.out


def test_a_program_that_is_not_there_costs_no_sample(dse: Dse, tmp_path: Path) -> None:
    where = ("--layer", "resnet18:0", "--accelerator", "edge", "--searcher", "random", "--budget", "30")
    found = dse("search", *where, "--cost-model", f"command:{sys.executable} {tmp_path / 'none.py'}")
    assert found.code == 2
    assert "has priced none of the first 3 mappings, always for the same reason" in found.err
    assert "No such file" in found.err


# The program


def test_a_program_answers_line_by_line_and_stays(tmp_path: Path) -> None:
    note = f"open({str(tmp_path / 'asked')!r}, 'a').write(json.dumps([os.getpid(), case]) + chr(10))"
    run = outside.line_program(tmp_path / "price.py", note)
    model = cost_model(f'command(run="{run}", misfits="asked")')
    costs = model.evaluate(LAYER, EDGE, MAPPINGS)
    assert costs.cycles.tolist() == [10**9 + MAPPINGS[row].outer["K"] for row in range(len(GENES))]
    asked = outside.answers_of(tmp_path / "asked")
    distinct = {MAPPINGS.rows[row].tobytes() for row in range(len(GENES))}
    assert len(asked) == len(distinct)
    assert len({process for process, _ in asked}) == 1
    case = asked[0][1]
    assert case["layer"] == LAYER.to_dict()
    assert case["hardware"] == EDGE.to_dict()
    assert case["mapping"] == MAPPINGS[0].to_dict()
    assert cost_model(model.spec).version == model.version
    (tmp_path / "price.py").write_text("another program")
    assert cost_model(model.spec).version != model.version


BAD = [
    ("raise SystemExit('out of licences')", Reason.CRASHED, "ended with code 1: out of licences"),
    ("os.kill(os.getpid(), 9)", Reason.CRASHED, "ended by signal 9"),
    ("time.sleep(60)", Reason.TIMED_OUT, "no answer after 0.3 s"),
    (
        "print('progress: 3 %', flush=True); continue",
        Reason.GARBLED,
        "expected a line of JSON, got 'progress: 3 %'",
    ),
    ("case['id'] += 1", Reason.GARBLED, "where 0 was asked"),
    ('print(\'{"cycles": -1, "energy_nj": 1}\', flush=True); continue', Reason.GARBLED, "cycles must be"),
    ("print('{\"energy_nj\": 5}', flush=True); continue", Reason.GARBLED, "it lacks cycles"),
    (
        'print(\'{"cycles": 5, "cycles": 6, "energy_nj": 1}\', flush=True); continue',
        Reason.GARBLED,
        "the key 'cycles' is there twice",
    ),
    (
        'print(\'{"cycles": NaN, "energy_nj": 1}\', flush=True); continue',
        Reason.GARBLED,
        "NaN is not a JSON number",
    ),
    ('print(\'{"status": "invalid", "reason": "no"}\', flush=True); continue', Reason.REFUSED, "no"),
]


@pytest.mark.parametrize(("body", "reason", "words"), BAD, ids=[words for *_, words in BAD])
def test_what_a_program_does_wrong_is_the_mappings_reason(
    tmp_path: Path, body: str, reason: Reason, words: str
) -> None:
    run = outside.line_program(tmp_path / "price.py", body)
    problem = Problem(
        LAYER, EDGE, "edp", f'command(run="{run}", timeout={0.3 if "sleep" in body else 60}, retries=0)'
    )
    assert reasons(problem.model.evaluate(LAYER, EDGE, MappingBatch(MAPPINGS.rows[:1]))) == {reason}
    assert words in problem.explain(MAPPINGS[0])


def test_a_program_that_dies_once_is_asked_again_and_answers_are_kept_on_disk(tmp_path: Path) -> None:
    mark, cache = tmp_path / "died", tmp_path / "prices.sqlite"
    body = f"""
    if not os.path.exists({str(mark)!r}):
        open({str(mark)!r}, "w").close()
        os._exit(3)
    """
    run = outside.line_program(tmp_path / "price.py", body)
    model = cost_model(f'command(run="{run}", processes=2, cache="{cache}", misfits="asked")')
    assert model.at_once == 2
    assert model.identity == f'command(run="{run}", misfits="asked")'
    costs = model.evaluate(LAYER, EDGE, MAPPINGS)
    assert costs.valid.all()
    mark.unlink()
    again = cost_model(model.spec).evaluate(LAYER, EDGE, MAPPINGS)
    assert again.cycles.tolist() == costs.cycles.tolist()
    assert not mark.exists(), "what was answered is not asked again"


# MAESTRO's executable


def test_maestros_executable_prices_lowered_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = outside.fake_maestro(tmp_path / "maestro", LAYER.macs)
    monkeypatch.setenv("DSE_MAESTRO", program)
    model = cost_model("maestro-exe")
    costs = model.evaluate(LAYER.lowered(), EDGE, MappingBatch(MAPPINGS.rows[:3]))
    assert costs.cycles.tolist() == [10**9] * 3
    assert costs.energy_nj.tolist() == [12.5] * 3
    assert costs.l2_size.tolist() == [600] * 3
    assert costs.macs.tolist() == [LAYER.macs] * 3
    assert model.identity == "maestro-exe"
    assert cost_model(f"maestro-exe:{program}").version == model.version


BAD_MAESTRO = [
    ("print('tile of 0'); sys.exit(255)", Reason.CRASHED, "ended with code 255: tile of 0"),
    ("os.kill(os.getpid(), 8)", Reason.CRASHED, "ended by signal 8"),
    ("time.sleep(60)", Reason.TIMED_OUT, "not done after 0.3 s"),
    ("sys.exit(0)", Reason.GARBLED, "it wrote no mapping.csv"),
    ("cycles = 'nan'", Reason.GARBLED, "cycles must be a finite number above 0, got nan"),
    ("cycles = 'soon'", Reason.GARBLED, "'Runtime (Cycles)' must be a number, got 'soon'"),
    ("macs = 7", Reason.WORK_DROPPED, "the cost model counts 7 MACs"),
    ("cycles = 1", Reason.BELOW_COMPUTE_FLOOR, "1 cycles, but on all PEs the MACs take at least"),
]


@pytest.mark.parametrize(("body", "reason", "words"), BAD_MAESTRO, ids=[words for *_, words in BAD_MAESTRO])
def test_an_executable_that_dies_hangs_or_lies_makes_the_mapping_invalid(
    tmp_path: Path, body: str, reason: Reason, words: str
) -> None:
    program = outside.fake_maestro(tmp_path / "maestro", LAYER.macs, body)
    problem = Problem(
        LAYER, EDGE, "edp", f'maestro-exe(program="{program}", timeout={0.3 if "sleep" in body else 60})'
    )
    assert problem.price(GENES[:1]).reason.tolist() == [reason]
    assert words in problem.explain(MAPPINGS[0])


# Everywhere


def test_the_same_search_by_the_command_a_campaign_and_python(dse: Dse, tmp_path: Path) -> None:
    where = ("--layer", "resnet18:0", "--accelerator", "edge", "--objective", "edp", "--seed", "0")
    searched = dse(
        "search", *where, "--searcher", "random", "--budget", "20", "--cost-model", f"{HERE}:fair", "--json"
    ).json
    assert searched["cost_model"] == f'python(function="{HERE}:fair")'
    problem = Problem(_resnet(), EDGE, "edp", outside.fair)
    assert _search(problem) == searched["best"]["loss"]
    campaign = tmp_path / "mine.toml"
    campaign.write_text(
        'name = "mine"\nbudget = 20\nseeds = 1\nlayers = ["resnet18:0"]\naccelerators = ["edge"]\n'
        f'objectives = ["edp"]\n[cost_model]\nname = "python"\nfunction = "{HERE}:fair"\n[searchers.random]\n'
    )
    ran = dse("run", str(campaign), "--out", str(tmp_path / "out"), "--workers", "1", "--tables-only")
    assert ran.code == 0, ran
    import pyarrow.parquet as pq

    [cell] = (tmp_path / "out" / "cells").glob("*.parquet")
    assert min(pq.read_table(cell)["loss"].to_pylist()) == searched["best"]["loss"]
    # Nor is it asked for the lines of known dataflows in reports.
    about = pq.read_schema(tmp_path / "out" / "curves.parquet").metadata[b"dse.campaign"]
    assert json.loads(about)["templates"] == {}


def _resnet() -> Layer:
    from workloads import load_layer

    return load_layer("resnet18:0")


def _search(problem: Problem) -> float:
    best = dse.search(problem, "random", budget=20, seed=0).best
    assert best is not None
    return best.loss


def test_settings_come_from_a_file_or_a_table_too(tmp_path: Path) -> None:
    file = tmp_path / "program.toml"
    run = shlex.quote(sys.executable)
    file.write_text(f"run = {json.dumps(run)}\ntimeout = 5\n")
    by_file, by_table = (model_with("command", given) for given in (str(file), {"run": run, "timeout": 5.0}))
    assert by_file.spec == by_table.spec == f"command(run={json.dumps(run)}, timeout=5.0)"


def test_a_slow_model_is_journalled_as_it_goes(tmp_path: Path) -> None:
    """What is on disk is never more than a second of work behind: the batch is drawn in slices."""
    from dse.search.run import Cell, open_journal, run_cell
    from dse.search.searcher import make_searcher

    cell = Cell(Problem(LAYER, EDGE, "edp", f"{HERE}:slow"), "random", make_searcher("random"), 0, 60)
    behind = []
    with open_journal(cell, tmp_path / "a.journal") as journal:
        run_cell(cell, journal, [lambda seen: behind.append(seen.samples - journal.samples)])
    assert len(behind) >= 4
    assert max(behind) * 0.02 < 1


def test_a_model_from_outside_is_not_asked_to_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A price may take minutes, or money."""
    from dse.search.run import make_ready

    asked = []
    problem = Problem(LAYER, EDGE, "edp", f"{HERE}:fair")
    monkeypatch.setattr(Problem, "price", lambda *genes: asked.append(genes))
    make_ready(problem)
    assert not asked


def test_every_model_that_asks_others_says_so_in_the_list(dse: Dse) -> None:
    listed = {entry["name"]: entry for entry in dse("list", "cost-models", "--json").json["cost-models"]}
    assert {name for name, entry in listed.items() if entry["outside"]} == set(outside_models())
    assert os.environ.get("DSE_MAESTRO") is None


def test_a_function_keeps_the_contract() -> None:
    assert not broken(check_cost_model(f"{HERE}:fair", mappings=20))
