"""The problems of `final2` are drawn as they are committed. Takes some seconds of proofs."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import draw_final2


def test_the_committed_problems_are_those_that_the_script_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = draw_final2.FOLDER
    monkeypatch.setattr(draw_final2, "FOLDER", tmp_path)
    draw_final2.main()
    drawn = sorted(tmp_path.rglob("*.toml"))
    assert len(drawn) == 27
    for path in drawn:
        assert path.read_text() == (committed / path.relative_to(tmp_path)).read_text()
