"""`dse bench proofs`: what it says of a case that ends, one that is refused, and one that does not end."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from dse.bench import proofs as bench
from dse.cli.application import build_application
from tests import ROOT
from tests.conftest import Dse

HARD = ROOT / "examples" / "proofs" / "cases.toml"
FIRST = HARD.with_name("first.toml")
FILE = """
[[cases]]
name = "fresh"
command = "certify --layer mlp:1 --accelerator edge --verify"
before = "3 s | in all"

[[cases]]
name = "kept"
command = "codesign --network mlp --hardware space.toml"
kept = true
before = "1 s"
"""
STAND_IN = """
import json, sys
with open("calls.jsonl", "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
print(json.dumps({"status": "optimal", "gap": 0.0, "verified": [{"passed": True}]}))
"""


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.toml"
    path.write_text(FILE)
    return path


def test_the_second_call_counts_fresh_or_with_what_the_first_has_kept(
    dse: Dse, cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "PROGRAM", (sys.executable, "-c", STAND_IN))
    ended = dse("bench", "proofs", str(cases), "--limit", "9", "--json", "--out", str(tmp_path / "table.md"))
    assert ended.code == 0
    for row in ended.json["proofs"]:
        assert (row["status"], row["gap_percent"]) == ("optimal, verified", 0)
        assert row["cpu_seconds"] > 0
        assert row["peak_mb"] > 1
        assert (row["start_seconds"] is None) == (row["case"] == "kept")
    calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    certify = ["certify", "--layer", "mlp:1", "--accelerator", "edge"]
    assert calls[0] == [*certify, "--json", "--time-limit", "1e-6", "--fresh"]
    assert calls[1] == [*certify, "--verify", "--json", "--time-limit", "9", "--fresh"]
    assert calls[2] == calls[3]
    assert calls[3][-4:-1] == ["--time-limit", "9", "--cache"]
    page = (tmp_path / "table.md").read_text()
    assert page.startswith("Written by `dse bench proofs`.\n\n# Named proofs\n")
    assert r"| optimal, verified | 0 | 3 s \| in all | dse certify --layer mlp:1 " in page
    assert "optimal, verified" in dse("bench", "proofs", str(cases), "kept").out


def test_of_a_first_answer_one_call_counts_that_finds_no_kernels(
    dse: Dse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = STAND_IN.replace("sys.argv[1:]", "[sys.argv[1], *os.listdir(os.environ['NUMBA_CACHE_DIR'])]")
    monkeypatch.setattr(bench, "PROGRAM", (sys.executable, "-c", told.replace("json, sys", "json, os, sys")))
    (tmp_path / "cases.toml").write_text(FILE.replace("kept = true", "first = true"))
    (row,) = dse("bench", "proofs", str(tmp_path / "cases.toml"), "kept", "--json").json["proofs"]
    assert row["wall_seconds"] > 0
    assert row["start_seconds"] is None
    assert (tmp_path / "calls.jsonl").read_text() == '["codesign"]\n'


def test_a_command_that_is_refused_is_a_failure_with_its_line(dse: Dse, cases: Path) -> None:
    cases.write_text(FILE.replace("mlp:1 ", "mlp:one "))
    ended = dse("bench", "proofs", str(cases), "fresh", "--json")
    (row,) = ended.json["proofs"]
    assert ended.code == 1
    assert row["status"].startswith("failed: 'mlp:one': unknown layer 'one' in mlp")
    assert row["gap_percent"] is None


def test_a_process_that_does_not_end_is_killed_and_its_seconds_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "BESIDES", 0.2)
    monkeypatch.setattr(bench, "COMPILING", 0.2)
    case = bench.Case("long", "certify --network vgg16 --accelerator edge", "1 s")
    row = bench.measure(case, tmp_path, 0.001)
    assert row["status"].startswith("killed after ")
    assert row["gap_percent"] is None
    assert row["cpu_seconds"] > 0


@pytest.mark.parametrize(
    ("found", "said", "words"),
    [
        ({"status": "optimal", "ties": {"status": "bounded"}}, "", "optimal, ties bounded"),
        ({"status": "optimal", "ties": None, "verified": [{"passed": True}]}, "", "optimal, verified"),
        ({"status": "optimal", "verified": [{"passed": False}]}, "", "optimal, not verified"),
        ({"status": "bounded"}, "dse: kernels were compiled: 9 s", "bounded, kernels compiled"),
    ],
)
def test_a_status_says_what_became_of_ties_checks_and_kernels(
    found: dict[str, object], said: str, words: str
) -> None:
    assert ", ".join(bench.words_of(found, found, said)) == words


@pytest.mark.parametrize(
    ("text", "names", "refusal"),
    [
        (
            FILE,
            ["network"],
            "unknown case 'network' in file of cases 'cases.toml'; expected one of fresh, kept",
        ),
        (FILE, ["fesh"], "did you mean 'fresh'?"),
        (FILE.replace('"kept"', '"fresh"'), [], "two cases have the name 'fresh'"),
        (FILE.replace("certify", "search"), [], "command must be 'certify ...' or 'codesign ...', got"),
        (FILE.replace("before", "befor"), [], "unknown key 'befor'"),
        ("cases = []", [], "one or more [[cases]] tables"),
    ],
)
def test_what_is_wrong_with_cases_is_said_before_the_first_begins(
    dse: Dse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, names: list[str], refusal: str
) -> None:
    (tmp_path / "cases.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert refusal in dse("bench", "proofs", "cases.toml", *names).refused()
    assert "--limit must be" in dse("bench", "proofs", "cases.toml", "--limit", "0").refused()


@pytest.mark.parametrize(
    "case", [*bench.read_cases(str(HARD)), *bench.read_cases(str(FIRST))], ids=lambda case: case.name
)
def test_the_committed_cases_name_options_and_files_that_there_are(case: bench.Case) -> None:
    name, *words = shlex.split(case.command)
    build_application().commands[name].make_context(name, [*words, "--time-limit", "1"])
    for word in words:
        if ".toml" in word:
            assert tomllib.loads((HARD.parent / word.partition(":")[0]).read_text())
