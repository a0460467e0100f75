"""The page of suites and the examples that it names: each runs, with the real library if it is installed."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

import dse
from dse.suite.tables import write_table
from tests import ROOT

PAGE = (ROOT / "docs" / "suites.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^##+ ([^\n]*)\n(?:(?!^#).)*?```python\n(.*?)```", re.DOTALL | re.MULTILINE)
EXAMPLES = sorted((ROOT / "examples" / "suites").glob("*.py"))
BLOCKS = dict(BLOCK.findall(PAGE)) | {path.name: path.read_text(encoding="utf-8") for path in EXAMPLES}
PLACES = "[6:8]"
"""The problems that examples are run on here, with fewer samples."""


def shortened(code: str) -> str:
    """The code on two problems, with 8 or 5 samples each."""
    code = code.replace('in dse.suite("short")', f'in dse.suite("short"){PLACES}').replace(
        "range(12)", "range(6, 8)"
    )
    return re.sub(r"\b20\b", "5", re.sub(r"\b100\b", "8", code))


@pytest.mark.parametrize("title", BLOCKS)
def test_an_example_of_the_page_runs(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = BLOCKS[title]
    for name in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE) + re.findall(
        r"(?:adapters|torch\.utils)\.(\w+)", code
    ):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    monkeypatch.chdir(tmp_path)
    if "tables/" in code:
        name = "resnet50:layer4.0.downsample on gemmini-32-64-128, edp"
        write_table(dse.suite("gemmini")[name], Path("tables"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(shortened(code), title, "exec"), {})
    if "out=" in code:
        runs = Counter(path.name.split("--")[3] for path in tmp_path.rglob("cells/*.parquet"))
        assert list(runs.values()) == [2]


def test_every_library_of_the_adapters_has_an_example() -> None:
    adapters = {path.stem for path in (ROOT / "searchers" / "adapters").glob("[a-z]*.py")} - {"common"}
    used = re.findall(r"searchers\.adapters\.(\w+) import", "".join(BLOCKS.values()))
    assert adapters == set(used)
    assert all(f"examples/suites/{path.name})" in PAGE for path in EXAMPLES)


@pytest.mark.parametrize("title", BLOCKS)
def test_an_example_is_ten_lines_beside_what_it_imports(title: str) -> None:
    code = re.sub(r'^"""[^\n]*"""\n', "", BLOCKS[title])
    lines = [line for line in code.splitlines() if line.strip() and not re.match("import |from ", line)]
    assert len(lines) <= 10
