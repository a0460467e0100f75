"""Functions and programs that price mappings, well and badly, for the tests of models that ask others."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np


def fair(layer: Any, accelerator: Any, mapping: Any) -> dict[str, float]:
    """More cycles and energy for smaller tiles."""
    steps = layer.macs // mapping.inner.tile["K"]
    return {"cycles": steps, "energy_nj": 0.5 * steps + mapping.cluster_size}


def fast(layer: Any, accelerator: Any, mapping: Any) -> dict[str, float]:
    """The same few cycles whatever the mapping, as of an array that is larger than its file says."""
    return {"cycles": 7, "energy_nj": 1.5}


def fair_batch(layer: Any, accelerator: Any, mappings: Any) -> dict[str, Any]:
    """The same, for a batch."""
    answers = [fair(layer, accelerator, mappings[index]) for index in range(len(mappings))]
    return {name: np.array([answer[name] for answer in answers]) for name in ("cycles", "energy_nj")}


def slow(layer: Any, accelerator: Any, mapping: Any) -> dict[str, float]:
    """The same, 20 milliseconds later."""
    time.sleep(0.02)
    return fair(layer, accelerator, mapping)


def fussy(layer: Any, accelerator: Any, mapping: Any) -> object:
    """Raises, refuses and lies, by the outer parallel dim."""
    match mapping.outer.parallel:
        case "K":
            raise ZeroDivisionError("no banks")
        case "C":
            return "too many banks"
        case "Y":
            return {"cycles": float("nan"), "energy_nj": 1}
    return fair(layer, accelerator, mapping)


def fussy_batch(layer: Any, accelerator: Any, mappings: Any) -> dict[str, Any]:
    """Raises where any of a batch has K parallel."""
    if any(mappings[index].outer.parallel == "K" for index in range(len(mappings))):
        raise ValueError("no banks")
    return fair_batch(layer, accelerator, mappings)


def ends(layer: Any, accelerator: Any, mapping: Any) -> object:
    """A script that ends itself where something is missing."""
    sys.exit("no licence")


def other_words(layer: Any, accelerator: Any, design: Any) -> None:
    """Its third parameter says neither that it takes a mapping nor that it takes a batch."""


LINES = """
import json, os, sys, time
for line in sys.stdin:
    case = json.loads(line)
    k = case["mapping"]["outer"]["tile"]["K"]
    {body}
    print(json.dumps({{"id": case["id"], "cycles": 10**9 + k, "energy_nj": k}}), flush=True)
"""


def line_program(path: Path, body: str = "pass") -> str:
    """A program that answers lines; `body` runs before each, with the `case` and its outer tile `k`."""
    path.write_text(LINES.format(body=textwrap.indent(textwrap.dedent(body), "    ").strip()))
    return shlex.join((sys.executable, str(path)))


# A script that a shell begins: the path of an interpreter in its first line must not have a space.
MAESTRO = """#!/bin/sh
'''exec' {python} "$0" "$@"
' '''
import json, os, pathlib, sys, time
options = dict(word[2:].split("=", 1) for word in sys.argv[1:])
file = pathlib.Path(options["Mapping_file"])
text = file.read_text()
{body}
head = "Neural Network Name, Layer Number, Runtime (Cycles), Activity count-based Energy (nJ), Area, Power, "
head += "  L2 SRAM Size Req (Bytes), L1 SRAM Size Req (Bytes), Num MACs"
line = [text.count("Map"), 0, cycles, 12.5, 3.25, 4.5, 600, 40, macs]
pathlib.Path(file.stem + ".csv").write_text(head + "\\n" + ",".join(map(str, line)) + "\\n")
print("done")
"""


def fake_maestro(path: Path, macs: int, body: str = "pass") -> str:
    """A program with MAESTRO's options and file of figures; `body` runs before it writes that."""
    given = f"cycles, macs = 10**9, {macs}\n{textwrap.dedent(body)}"
    path.write_text(MAESTRO.format(python=shlex.quote(sys.executable), body=given))
    path.chmod(0o755)
    return str(path)


def answers_of(path: Path) -> list[Any]:
    """What a program has noted in a file, a line of JSON each."""
    return [json.loads(line) for line in path.read_text().splitlines()]
