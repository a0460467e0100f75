"""The benchmark of small budgets is drawn as it is committed. Takes half a minute."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import draw_small


def test_the_committed_problems_are_those_that_the_script_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = draw_small.FOLDER
    monkeypatch.setattr(draw_small, "FOLDER", tmp_path)
    monkeypatch.setattr(draw_small, "SMALL", tmp_path / "small")
    draw_small.main()
    drawn = sorted(path for path in tmp_path.rglob("*.toml"))
    assert len(drawn) == 41
    for path in drawn:
        assert path.read_text() == (committed / path.relative_to(tmp_path)).read_text()
