"""The site's table of keys of other tools' files is that of their readers."""

from __future__ import annotations

import runpy

import pytest

from dse.models.timeloop import yaml_schema
from tests import ROOT
from workloads.models import zigzag_workload

HOOKS = runpy.run_path(str(ROOT / "docs" / "hooks.py"))


@pytest.fixture(scope="module")
def page() -> str:
    made: str = HOOKS["on_page_markdown"]((ROOT / "docs" / "files.md").read_text(encoding="utf-8"))
    return made


def test_the_page_of_files_has_each_key_that_is_read_of_a_workload_of_zigzag(page: str) -> None:
    (line,) = [line for line in page.splitlines() if line.startswith("| ZigZag workload | entry |")]
    assert [key for key in zigzag_workload.KEYS if f"`{key}`" not in line] == []


def test_a_key_of_an_architecture_stands_in_the_column_of_what_is_done_with_it(page: str) -> None:
    (line,) = [
        line for line in page.splitlines() if line.startswith("| Timeloop architecture | attributes |")
    ]
    _, _, _, read, unchanged, refused, _ = line.split("|")
    assert "`read_bandwidth`" in read
    assert [key for key in yaml_schema.NO_CHANGE["attributes"] if f"`{key}`" not in unchanged] == []
    assert "`min_utilization`" in refused


def test_no_key_is_in_two_columns() -> None:
    for read, unchanged, refused in HOOKS["rows_of_the_readers"]().values():
        assert not read & unchanged
        assert not (read | unchanged) & refused
