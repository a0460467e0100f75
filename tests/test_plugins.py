"""`dse.plugins` is all that packages of others import: light, documented, and enough for the examples."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from dse import plugins
from tests import ROOT

SUITES = ROOT / "examples" / "suites"
"""Examples of optimisers and loggers that call `dse`, and are no plug-ins of it."""
EXAMPLES = sorted({*(ROOT / "examples").rglob("*.py")} - {*SUITES.rglob("*.py")})
PAGES = ("docs/extending.md",)
"""Where it is said how to add a searcher and a cost model."""
PUBLIC = {"dse", "dse.plugins", "dse.testing", "dse.searchers", "dse.cost_models", "dse.domains"}
"""What such a page may name: the public modules, the contract suites, and the entry points."""
HEAVY = ("numba", "torch", "sklearn", "scipy", "pandas", "pyarrow", "pydantic", "matplotlib", "rich", "typer")


def modules_of_dse(source: str) -> Iterator[str]:
    """The modules of `dse` that Python imports in a text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (name for name in names if name.partition(".")[0] == "dse")


def python_of(page: str) -> list[str]:
    """The blocks of Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_of_a_plug_in_imports_nothing_deeper(path: Path) -> None:
    assert set(modules_of_dse(path.read_text("utf-8"))) <= {"dse.plugins"}


@pytest.mark.parametrize("path", sorted(SUITES.rglob("*.py")), ids=lambda path: path.name)
def test_an_example_of_a_suite_imports_nothing_deeper(path: Path) -> None:
    assert set(modules_of_dse(path.read_text("utf-8"))) <= {"dse", "dse.search.callbacks"}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_for_authors_of_plug_ins_names_no_module_below(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert {name for source in python_of(page) for name in modules_of_dse(source)} <= PUBLIC
    modules = {found for found in re.findall(r"`(dse\.[a-z_.]+)`", text) if found not in PUBLIC}
    public = {f"dse.plugins.{name}" for name in plugins.__all__}
    assert modules <= public


def test_the_examples_are_of_searchers_and_of_cost_models() -> None:
    importing = [path.name for path in EXAMPLES if "dse.plugins" in modules_of_dse(path.read_text("utf-8"))]
    assert {"dse_annealing.py", "dse_roofline.py", "conflicts.py"} <= set(importing)


def test_the_page_lists_what_a_searcher_may_declare_with_its_defaults() -> None:
    text = (ROOT / "docs" / "extending.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| `(\w+)(?:\(space\))?` \| (.+?) \| .+ \|$", text, re.MULTILINE))
    able = plugins.Abilities()
    defaults = {item.name: f"`{getattr(able, item.name)}`" for item in fields(able)} | {
        "version": "its package's"
    }
    assert {name: listed.get(name) for name in defaults} == defaults


def test_importing_it_loads_no_heavy_library() -> None:
    code = f"import dse.plugins, sys; print([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_every_name_is_in_its_summary_and_says_what_it_means() -> None:
    summary = plugins.__doc__ or ""
    documented = set(re.findall(r"\w+", summary))
    assert set(plugins.__all__) <= documented
    for name in plugins.__all__:
        found = getattr(plugins, name)
        if callable(found) and name != "Keep":
            assert re.match(r"\S.*\S", found.__doc__ or ""), name
            assert not (found.__doc__ or "").startswith(f"{name}("), name


def test_what_the_summary_names_is_there() -> None:
    named = re.findall(r"^    ((?:\w+, )*\w+)", plugins.__doc__ or "", re.MULTILINE)
    names = {name for line in named for name in line.split(", ")}
    assert len(names) > 30
    assert names <= set(plugins.__all__)
