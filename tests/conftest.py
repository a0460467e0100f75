"""What several test files use: the command line, and campaigns, run in this process."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from dse.campaign import executors, runner
from dse.campaign.executors import InProcess
from dse.cli import main

if TYPE_CHECKING:
    from dse.analysis.findings import Findings
    from dse.analysis.study import Study
    from dse.report.plots.drawing import Drawing

# The same examples in every run, and more of them in `make prove`, which has `long`; `fresh` draws others.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("long", derandomize=True, deadline=None, max_examples=500)
settings.register_profile("fresh", deadline=None)
settings.load_profile("same")


def pytest_configure() -> None:
    """Compare small numbers by shares, and have Ctrl-C reach what tests start from a shell's background too.

    pytest.approx takes numbers that differ by less than 1e-12 for the same, whatever their size; an EDP in
    joule seconds is 1e-13, so a wrong one would pass.
    """
    compared = type(pytest.approx(1.0))
    compared.DEFAULT_ABSOLUTE_TOLERANCE = 0.0
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Look for garbage in what tests make alone: going through all objects of libraries each time is slow."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say beside the summary what was not tested, and what that would need: skips are silent otherwise."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} test{'s' * (count > 1)} skipped: {reason}", yellow=True)


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout as one JSON value, which it must be, alone."""
        return json.loads(self.out, parse_constant=pytest.fail)

    @property
    def lines(self) -> list[Any]:
        """Stdout as a JSON value a line."""
        return [json.loads(line, parse_constant=pytest.fail) for line in self.out.splitlines()]

    def refused(self) -> str:
        """The one line on stderr with which wrong input was refused."""
        assert self.code == 2, self
        assert self.out == ""
        assert self.err.startswith("dse: error: ")
        assert self.err.count("\n") == 1
        assert "Traceback" not in self.err
        return self.err.removeprefix("dse: error: ").rstrip("\n")


Dse = Callable[..., Outcome]


@pytest.fixture(scope="session", autouse=True)
def campaigns_in_process() -> Iterator[None]:
    """Campaigns run in this process unless a test names an executor: workers take seconds to start."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (executors, runner):
            patch.setattr(module, "LocalProcesses", InProcess)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """What is written need not outlast the machine: no test takes its power away. A report syncs 80 times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(autouse=True)
def few_random_mappings(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks of optima draw fewer mappings, but for tests that prove at length; the rest is as it is."""
    if not request.path.name.startswith("prove_"):
        monkeypatch.setattr("dse.optimum.front.RANDOM_MAPPINGS", 2000)
        monkeypatch.setattr("dse.optimum.verification.RANDOM_MAPPINGS", 2000)
        monkeypatch.setattr("dse.optimum.verification.near.DRAWN", 2000)


@pytest.fixture(autouse=True)
def no_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output is as wide as in a pipe, though tests may run in processes that are told a terminal's width."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    """What is logged meanwhile, by loggers that tell no others of it too.

    Pytest's own plugin is off: it goes through all loggers three times a test, and torch has made fifty.
    """
    handler = logging.Handler()
    records = list[logging.LogRecord]()
    handler.emit = records.append  # type: ignore[method-assign]
    loggers = [logging.getLogger()]
    loggers += [one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)]
    heard = [one for one in loggers if one is logging.root or not one.propagate]
    for logger in heard:
        logger.addHandler(handler)
    yield records
    for logger in heard:
        logger.removeHandler(handler)


@pytest.fixture
def one_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports have the first of their figures alone, of few dots: all take seconds to draw."""
    from dse.report import pictures
    from dse.report.plots import files
    from dse.report.plots.drawing import draw_figures

    def first(study: Study, findings: Findings) -> dict[str, Drawing]:
        return dict([*draw_figures(study, findings).items()][:1])

    monkeypatch.setattr(pictures, "draw_figures", first)
    monkeypatch.setattr(files, "DPI", 50)


@pytest.fixture
def dse(capsys: pytest.CaptureFixture[str]) -> Dse:
    """`dse("space", "--layer", ...)` runs the command line and returns its Outcome."""

    def run(*arguments: str) -> Outcome:
        code = main(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run
