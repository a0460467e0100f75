"""What a release says of itself in several places is the same in all of them."""

from __future__ import annotations

import re

import dse
from tests import ROOT


def test_the_version_is_the_same_wherever_it_stands() -> None:
    change = re.search(
        r"^## (\S+) - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert change is not None
    assert change.groups()[0] == dse.__version__
    assert f"\nversion: {change[1]}\ndate-released: {change[2]}\n" in citation


def test_contributors_are_told_of_every_package_and_every_group_of_entry_points() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "dse").glob("*/__init__.py")}
    assert [name for name in sorted(packages) if f"dse/{name}" not in text] == []
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    groups = re.findall(r'^\[project\.entry-points\."(.*)"\]$', project, re.MULTILINE)
    assert groups
    assert [name for name in groups if f"`{name}`" not in text and name != "dse.defaults"] == []
