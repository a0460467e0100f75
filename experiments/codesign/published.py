"""Network EDPs that DOSA published, beside proven ones: on the same machine, and on the best of 1,008.

    python -m experiments.codesign.published

writes results/codesign/published.md. The best of 1,008 machines is that of `experiments.codesign.machines`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dse.domains.codesign.reading import space_from_dict
from dse.optimum.codesign import codesign
from dse.support.toml import read_toml
from experiments import RESULTS, keep
from experiments.comparisons.showing import table
from workloads import load

HERE, FOLDER = Path(__file__).parent, RESULTS / "codesign"
UNIT = 1e15
"""Of joule seconds at 1 GHz, uJ x cycles."""
PRINTED = 3e-6
"""By so much of itself a published figure may be off: its energies have six digits."""


def on_machine(row: dict[str, Any]) -> float:
    """The least EDP of a network on the machine of a row, proven."""
    data = read_toml(str(HERE / "dosa.toml"), "dosa.toml")
    data["parameters"] = {name: [row[name]] for name in ("pe", "scratchpad_kb", "accumulator_kb")}
    found = codesign(load(str(HERE / "dosa" / f"{row['network']}.toml")), space_from_dict(data), "edp")
    assert found.status == "optimal"
    return found.lower_bound * UNIT


def verdict(published: float, proven: float) -> str:
    """What a published figure is against the proven least of its machine."""
    if abs(published / proven - 1) <= PRINTED:
        return "optimal"
    return f"{published / proven - 1:.1%} above" if published > proven else "below: wrong"


def main() -> None:
    """Prove, print and write the table."""
    rows = []
    for row in json.loads((HERE / "dosa" / "published.json").read_text(encoding="utf-8"))["rows"]:
        proven, network = on_machine(row), row["network"]
        best = json.loads((FOLDER / f"dosa-{network}.json").read_text(encoding="utf-8"))["best"]
        machine = f"{row['pe']}, {row['scratchpad_kb']}, {row['accumulator_kb']}"
        figures = [f"{row['edp']:.5g}", f"{proven:.5g}", verdict(row["edp"], proven)]
        over = f"{row['edp'] / (best['value'] * UNIT):.3g}"
        rows.append([row["set"], network, machine, *figures, f"{best['value'] * UNIT:.5g}", over])
    heads = [
        "set", "network", "PE side, KB, KB", "published", "proven least, same machine", "verdict",
        "proven least, 1,008 machines", "published over it",
    ]  # fmt: skip
    keep(FOLDER / "published.md", "experiments.codesign.published", table(heads, rows))


if __name__ == "__main__":
    main()
