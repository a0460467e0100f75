"""Functions of `dse` are short, and ask for little."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import dse
from tests import ROOT
from tests.import_graph import parsed

MOST_PARAMETERS, MOST_LINES = 8, 60
COMMANDS = ROOT / "dse" / "cli" / "commands"


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    """The functions of a file but commands, and what `dse` exports: their parameters are options."""
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.FunctionDef) or node.name in dse.__all__:
            continue
        if path.parent != COMMANDS or node.name.startswith("_"):
            yield node


def parameters(function: ast.FunctionDef) -> int:
    """How many it has, an object's own one left out."""
    found = function.args
    names = [one.arg for one in (*found.posonlyargs, *found.args, *found.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")]) + len(
        [one for one in (found.vararg, found.kwarg) if one]
    )


def lines(function: ast.FunctionDef) -> int:
    """How long it is, without its docstring."""
    assert function.end_lineno is not None
    whole = function.end_lineno - function.lineno + 1
    first = function.body[0]
    told = ast.get_docstring(function) is not None and first.end_lineno is not None
    return whole - (first.end_lineno - first.lineno + 1 if told and first.end_lineno else 0)


def test_no_function_has_many_parameters_or_many_lines() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {one.name}: {parameters(one)} parameters, {lines(one)} lines"
        for path in sorted((ROOT / "dse").rglob("*.py"))
        for one in functions(path)
        if parameters(one) > MOST_PARAMETERS or lines(one) > MOST_LINES
    ]
    assert long == []


def test_parameters_and_lines_are_counted_as_a_reader_counts_them() -> None:
    (found,) = ast.parse('def f(self, a, *b, c=1, **d):\n    """One\n    two."""\n    return a\n').body
    assert isinstance(found, ast.FunctionDef)
    assert (parameters(found), lines(found)) == (4, 2)
