"""The table of keys in docs/files.md is that of the readers."""

from __future__ import annotations

import re

from dse.core import timeloop_files
from dse.domains.levels.formats import zigzag as zigzag_mapping
from dse.domains.levels.formats import zigzag_machine
from dse.models.timeloop import yaml_schema
from tests import ROOT
from workloads.models import timeloop_problem, zigzag_workload

Row = tuple[set[str], set[str], set[str]]
"""Keys that are read, that change nothing, and that are refused where they say anything."""


def rows_of_the_readers() -> dict[tuple[str, str], Row]:
    """By file and table, what the readers do with its keys."""
    found: dict[tuple[str, str], Row] = {}
    for kind, read in yaml_schema.READ.items():
        refused = {one.key for one in yaml_schema.REFUSED if one.kind == kind}
        refused |= {"sparse_optimizations"} & set(read)
        names = {name.rstrip("_") for name in read} - refused
        found["Timeloop architecture", kind] = names, set(yaml_schema.NO_CHANGE[kind]), refused
    for kind, read in timeloop_problem.READ.items():
        found["Timeloop problem", kind] = set(read), set(timeloop_problem.NO_CHANGE[kind]), set()
    found["Timeloop problem", "instance"] = set(), set(), {"densities"}
    for kind, read in timeloop_files.READ.items():
        found["Timeloop mapping", kind] = set(read), set(timeloop_files.NO_CHANGE[kind]), set()
    for kind, read in zigzag_machine.READ.items():
        rest = zigzag_machine.NO_CHANGE[kind], zigzag_machine.SEEN[kind]
        found["ZigZag accelerator", kind] = set(read), set(rest[0]), set(rest[1])
    found["ZigZag mapping", "entry"] = set(zigzag_mapping.READ), set(zigzag_mapping.NO_CHANGE), set()
    found["ZigZag workload", "entry"] = set(zigzag_workload.KEYS), set(), set()
    return found


def test_the_page_of_files_says_what_is_read_of_those_of_other_tools() -> None:
    shown: dict[tuple[str, str], Row] = {}
    text = (ROOT / "docs" / "files.md").read_text()
    for line in text.partition("## Keys of other tools")[2].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and "`" in line:
            keys = [set(re.findall(r"`([^`]+)`", cell)) for cell in cells[2:]]
            shown[cells[0], cells[1]] = keys[0], keys[1], keys[2]
    assert shown == rows_of_the_readers()
