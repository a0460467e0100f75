"""How fast samples come, in words, on a terminal and in logs."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from dse.campaign import progress
from dse.campaign.progress import LineDisplay, Pace, in_words


@pytest.mark.parametrize(
    ("samples", "seconds", "left", "words"),
    [
        (490, 10.0, 1862, "49 samples/s, 0 min 38 s left"),
        (3, 2.0, 9000, "1.5 samples/s, 1 h 40 min left"),
        (0, 5.0, 10, "0 samples/s, some time left"),
        (10, 0.0, 10, "0 samples/s, some time left"),
    ],
)
def test_a_pace_in_words(samples: int, seconds: float, left: int, words: str) -> None:
    assert in_words(samples, seconds, left) == words


def test_neither_what_is_replayed_nor_the_wait_for_the_first_sample_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("dse.campaign.progress.time.monotonic", lambda: now[0])
    pace = Pace(200)
    for now[0], samples in ((5.0, 100), (65.0, 101)):
        assert pace.seen(samples, 100) == "0 samples/s, some time left"
    now[0] = 67.0
    assert pace.seen(121, 100) == "10 samples/s, 0 min 07 s left"


def test_a_log_has_a_line_on_the_pace_now_and_then(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    cells = {name: SimpleNamespace(cell=SimpleNamespace(budget=300)) for name in "ab"}
    campaign = SimpleNamespace(name="slow", budget=300)
    store = SimpleNamespace(share=cells, campaign=campaign, unfinished=lambda: list(cells.values()))
    log = io.StringIO()
    display = LineDisplay(log)
    display.begin(store, 2)  # type: ignore[arg-type]
    for now[0], drawn in ((30.0, 50), (61.0, 122), (90.0, 200), (130.0, 260)):
        display.look({"a": (drawn, 1.0)})
    assert log.getvalue().splitlines()[1:] == [
        "122 of 600 samples, 2 samples/s, 3 min 59 s left",
        "260 of 600 samples, 2 samples/s, 2 min 50 s left",
    ]
