"""Small spaces are bounded as large ones are: these tests are of the bounds."""

from __future__ import annotations

import pytest

from dse.models.timeloop.proof import boxes


@pytest.fixture(autouse=True)
def _bound_small_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "MAX_WHOLE", 0)
