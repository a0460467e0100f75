"""`dse evaluate --cases` and `dse bench cost` under the model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.bench import cost
from dse.domains.levels.domain import Levels
from dse.models.timeloop import others
from tests import DATA
from tests.conftest import Dse
from tests.domains.levels.timeloop import published

ROWS = DATA / "timeloop" / "exercises.jsonl.gz"
TIMELOOP = ("--cost-model", "timeloop")


def test_a_file_of_cases_gets_a_json_line_each(dse: Dse) -> None:
    lines = dse("evaluate", "--cases", str(ROWS), *TIMELOOP, "--json", "--detail").out.splitlines()
    found, expected = [json.loads(line) for line in lines], published.rows("exercises")
    assert [result["cycles"] for result in found] == [row["expected"]["cycles"] for row in expected]
    assert [result["counts"] for result in found] == [row["expected"]["counts"] for row in expected]


def test_a_table_shows_the_first_cases(dse: Dse) -> None:
    shown = dse("evaluate", "--cases", str(ROWS), *TIMELOOP).out
    assert "20 cases: 20 ok, 0 invalid" in shown
    assert "86,016" in shown


def test_a_malformed_line_is_refused_before_any_output(dse: Dse, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(published.rows("dosa")[0]) + "\n{}\n")
    message = dse("evaluate", "--cases", str(path), *TIMELOOP, "--json").refused()
    assert "line 2 lacks 'layer'" in message


def test_an_empty_file_holds_no_cases(dse: Dse, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("")
    assert "holds no cases" in dse("evaluate", "--cases", str(path), *TIMELOOP).refused()


@pytest.fixture
def quick_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in {"BATCH": 300, "SINGLE_ROWS": 5, "REPEATS": 1, "OTHER_REPEATS": 1}.items():
        monkeypatch.setattr(cost, name, count)
    monkeypatch.setattr(others, "REFERENCE", others.PROGRAM)
    monkeypatch.delenv(others.VARIABLE, raising=False)


@pytest.mark.usefixtures("quick_bench")
@pytest.mark.parametrize("name", Levels.bench_hardware)
def test_the_bench_prices_random_mappings_that_fit(name: str, dse: Dse) -> None:
    report = dse("bench", "cost", *TIMELOOP, "--accelerator", name, "--json").json
    assert [row["threads"] for row in report["cost"]] == [1, 2, 1, 2]
    for rows in report.values():
        assert {(row["model"], row["tiles"], row["accelerator"]) for row in rows} == {
            ("timeloop", tiles, name) for tiles in ("factors", "any")
        }
    assert report["one_row"][0]["prepared_microseconds"] > 0
    assert [row["name"] for row in report["baselines"]] == ["reference"] * 2


@pytest.mark.usefixtures("quick_bench")
def test_the_bench_times_the_program_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dse: Dse
) -> None:
    program = tmp_path / "timeloop-model"
    program.write_text('#!/bin/sh\n[ $# = 3 ] && cat "$@" >> "$0.read"\n', encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setenv(others.VARIABLE, str(program))
    bench = ("bench", "cost", *TIMELOOP, "--accelerator", "gemmini", "--json")
    timed = [row for row in dse(*bench).json["baselines"] if row["name"] == "timeloop program"]
    assert 0 < timed[0]["milliseconds"] < 10_000
    assert Path(f"{program}.read").read_text(encoding="utf-8").count("\nmapping:") == 2 * others.PROGRAM
    program.write_text("#!/bin/sh\necho no licence; exit 3\n", encoding="utf-8")
    assert "ended with code 3: 'no licence'" in dse(*bench).refused()
    monkeypatch.setenv(others.VARIABLE, str(tmp_path / "absent"))
    assert "does not run" in dse(*bench).refused()


def test_a_mapping_onto_a_machine_is_exported_and_read_back(dse: Dse, tmp_path: Path) -> None:
    where = ("--layer", "resnet18:1", "--accelerator", "gemmini", *TIMELOOP)
    mapping = tmp_path / "mapping.txt"
    mapping.write_text(
        "L3[WIO] P56 Q56 N1 - L2[WI] K16X - L1[O] R3 S3 C4 K4 C16X - L0[W] N1", encoding="utf-8"
    )
    first = dse("evaluate", "--mapping", str(mapping), *where, "--json").json
    for name in ("json", "timeloop"):
        *_, file = dse(
            "export", str(mapping), *where, "--format", name, "--out", str(tmp_path / name), "--json"
        ).json["files"]
        again = dse("evaluate", "--mapping", file, *where, "--json").json
        assert (again["cycles"], again["mapping"]) == (first["cycles"], first["mapping"])
    (nest,) = dse(
        "export", str(mapping), *where, "--format", "nest", "--out", str(tmp_path / "nest"), "--json"
    ).json["files"]
    assert "parallel K in 16" in Path(nest).read_text(encoding="utf-8")
    refused = dse("export", str(mapping), *where, "--format", "maestro", "--out", str(tmp_path))
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "there is no format maestro; expected json" in refused.err
    assert "dse evaluate --mapping says" in dse("explain", *where).err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("L3[WIO] K" + "9" * 5000, "is no loop; write one as in K16 or C4X"),
        ("L3[WIO] P56 -L2 K4", "'-L2' is no loop; write one as in K16 or C4X"),
        ("L3[WIO] " + " " * 60_000 + "P 4", "'P' is no loop"),
        ("L3[WIO] " + "P4 " * 40_000, "it has 120,007 letters; at most 65,536"),
        ("L3[WIZ] P56 - L2[WI] - L1[O] - L0[W]", "unknown tensor 'Z'"),
        ("L3[WIO] M56 - L2[WI] - L1[O] - L0[W]", "the layer has no dim 'M'; it has R, S, P, Q, C, K, N"),
        ("L0[WIO] P56", "has 1 levels, the machine 4"),
    ],
    ids=lambda text: text[:20],
)
def test_a_mapping_line_that_is_none_is_refused_with_its_file(
    dse: Dse, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "mapping.txt"
    path.write_text(text, encoding="utf-8")
    where = ("--layer", "resnet18:1", "--accelerator", "gemmini", *TIMELOOP)
    message = dse("evaluate", "--mapping", str(path), *where).refused()
    assert f"mapping file '{path}'" in message
    assert said in message
