"""What every problem is tested for that has a whole network, or a chain, where others have a layer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dse.campaign.curves import open_curves
from dse.core.domains import definition_of, problem_from_definition, problem_from_identity
from tests.conftest import Dse


def is_made_again(asked: Any) -> None:
    """From the plain data that a folder has of it."""
    plain: Any = json.loads(json.dumps([definition_of(asked), asked.identity]))
    again = problem_from_definition(plain[0], asked.model_spec), problem_from_identity(plain[1])
    assert [one.fingerprint for one in again] == [asked.fingerprint] * 2
    points = asked.space.sample(np.random.default_rng(0), 20)
    assert (again[0].price(points).loss == asked.price(points).loss).all()


def read_from_files(asked: Any) -> list[tuple[Any, Any, Any]]:
    """Some canonical vectors, what each stands for, and that as it is read from its file: judged alike."""
    points = asked.space.canonical(asked.space.sample(np.random.default_rng(1), 12))
    designs = asked.space.decode(points)
    found = [
        (row, one, asked.read_mapping(json.loads(one.to_json())))
        for row, one in zip(points, designs, strict=True)
    ]
    for _, _, read in found:
        assert asked.judge(read).feasible == (asked.explain(read) == "feasible")
    assert (asked.evaluate(designs).loss == asked.price(points).loss).all()
    return found


def campaign_of(dse: Dse, folder: Path, texts: Mapping[str, str]) -> dict[str, Any]:
    """The only optimum of a campaign, the first of these files, which no search is below."""
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
    out = folder / "out"
    campaign = str(folder / f"{next(iter(texts))}.toml")
    found = dse("run", campaign, "--out", str(out), "--workers", "1", "--tables-only")
    assert found.code == 0, found.err
    kept = open_curves(out / "curves.parquet")
    (optimum,) = kept.about["optima"].values()
    assert optimum["status"] == "optimal"
    best = [cell.best for cell in kept.summaries()]
    assert len(best) == 4
    assert optimum["lower_bound"] <= min(best) < np.inf
    return dict(optimum)
