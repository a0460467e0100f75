"""`import dse`: what a new user sees of it in `dir`, `help` and a star import."""

from __future__ import annotations

import pydoc
import subprocess
import sys
import textwrap

import pytest

import dse


def in_a_fresh_process(code: str) -> str:
    """What a program prints that has not imported anything yet."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_dir_shows_the_public_names_before_any_is_loaded() -> None:
    shown = in_a_fresh_process("import dse, sys; print(*dir(dse)); print('numpy' in sys.modules)")
    names, numpy_loaded = shown.splitlines()
    assert names.split() == sorted([*dse.__all__, "__version__"])
    assert numpy_loaded == "False"


def test_every_public_name_is_there_and_has_a_docstring() -> None:
    assert sorted(dse.__all__) == list(dse.__all__)
    for name in dse.__all__:
        found = getattr(dse, name)
        assert callable(found)
        assert (found.__doc__ or "") or name == "search"
    namespace: dict[str, object] = {}
    exec("from dse import *", namespace)
    assert set(dse.__all__) <= set(namespace)
    with pytest.raises(AttributeError, match="module 'dse' has no attribute 'Serach'"):
        _ = dse.Serach


def test_help_begins_with_how_it_is_used_and_goes_through_the_public_names() -> None:
    text = pydoc.render_doc(dse, renderer=pydoc.plaintext)
    for name in ("Problem", "Result", "CostBatch"):
        assert f"    class {name}(" in text
    for name in ("certify", "compare", "verify"):
        assert f"    {name}(" in text
    assert text.index("dse.Problem(layer, edge") < text.index("PACKAGE CONTENTS")


def test_the_code_in_the_docstring_runs() -> None:
    lines = [line for line in (dse.__doc__ or "").splitlines() if line.startswith("    ")]
    code = textwrap.dedent("\n".join(lines)).replace("budget=1_000", "budget=50")
    code = code.replace('["team", "random"], budget=200, seeds=3', '["random"], budget=20, workers=1')
    names: dict[str, object] = {}
    exec(code, names)
    assert isinstance(names["result"], dse.Result)
    assert len(names["result"].history) == 50
