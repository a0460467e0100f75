"""Where a learner's time goes: what is measured adds up, is paired, and says what it could not read."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from learners import counters
from learners.counters import CountsMissing, count_events
from learners.maddpg import MADDPG
from learners.phases import ACTIONS, SAMPLING
from learners.profiling import PHASES, UPDATING, profile_arms
from learners.registry import arms_of, learner_names, make_learner, task_names
from tests.conftest import Dse
from tests.learners.toys import Signals

SMALL = {"net_arch": (16,), "batch_size": 32, "train_freq": 8}


def arms() -> dict[str, MADDPG]:
    return {arm: MADDPG(**{**settings, **SMALL}) for arm, settings in arms_of("maddpg").items()}


def test_phases_are_parts_of_a_whole() -> None:
    measured = profile_arms(arms(), Signals, 3, updates=6, held=200)
    assert [one.arm for one in measured] == ["per-agent", "neighbor", "contiguous", "stacked"]
    for one in measured:
        assert one.seconds.shape == (6, len(PHASES))
        assert (one.seconds > -1e-4).all()
        assert one.of(ACTIONS).min() > 0
        np.testing.assert_allclose(one.of(*UPDATING) + one.of(ACTIONS) + one.of("other"), one.of())
        assert 0 < one.share(*UPDATING) < 1
        assert 0 < one.hook < 1
        assert (one.of(SAMPLING) > 0).all()


SAID = "123456,,cache-misses:u,200,100.00,,\n789,,dTLB-load-misses:u,200,100.00,,\n"


def test_misses_are_read_where_perf_can_and_else_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counters.parse_counts(SAID) == {"cache-misses": 123456, "dTLB-load-misses": 789}
    unread = "<not supported>,,cache-misses:u,0,100.00,,\n789,,dTLB-load-misses:u,200,100.00,,\n"
    with pytest.raises(CountsMissing, match="perf cannot read cache-misses on this machine"):
        counters.parse_counts(unread)
    program = tmp_path / "perf"
    program.write_text(
        # A shell begins it: the path of an interpreter in its first line must not have a space.
        f"#!/bin/sh\n'''exec' {shlex.quote(sys.executable)} \"$0\" \"$@\"\n' '''\n"
        "import signal, sys\n"
        # A shell cannot trap what was ignored when it began, as jobs in the background ignore interrupts.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"try:\n    signal.pause()\nexcept KeyboardInterrupt:\n    sys.stderr.write({SAID!r})\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with count_events() as found:
        pass
    assert found["cache-misses"] == 123456
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CountsMissing, match="there is no program perf"), count_events():
        pass


def test_learners_and_tasks_are_found_by_name() -> None:
    assert set(learner_names()) >= {"maddpg", "masac"}
    assert set(task_names()) >= {"simple_tag", "simple_spread", "one-step", "construct", "refine"}
    assert make_learner("masac", {"ent_coef": 0.1}) == make_learner("masac", {"ent_coef": 0.1})


PROFILE = (
    "profile",
    "maddpg",
    "--set",
    "batch_size=16",
    "--set",
    "train_freq=4",
    "--updates",
    "2",
    "--held",
    "30",
)


def test_profile_prints_a_table_or_json_and_draws(dse: Dse, tmp_path: Path) -> None:
    place = ("--env", "refine", "--agents", "2,3", "--out", str(tmp_path / "p"))
    outcome = dse(*PROFILE, *place, "--json", "--arms", "per-agent,stacked")
    assert outcome.code == 0, outcome
    rows = outcome.json["profiles"]
    assert [(row["agents"], row["arm"]) for row in rows] == [
        (2, "per-agent"),
        (2, "stacked"),
        (3, "per-agent"),
        (3, "stacked"),
    ]
    for row in rows:
        assert sum(row["seconds"].values()) == pytest.approx(row["whole"])
        assert sum(row["of_update"].values()) == pytest.approx(1)
    assert {row["time"] for row in outcome.json["compared"]} == {"sampling", "update", "whole"}
    assert json.loads((tmp_path / "p" / "profile.json").read_text()) == outcome.json
    assert (tmp_path / "p" / "profile.png").read_bytes()[:4] == b"\x89PNG"
    table = dse(*PROFILE, "--env", "one-step", "--agents", "3", "--arms", "stacked")
    assert "maddpg on one-step: ms of an update with its steps, by the wall clock" in table.out
    assert "measuring takes" in table.out


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (("nobody",), "unknown learner 'nobody'"),
        (("maddpg", "--env", "nowhere"), "unknown task 'nowhere'"),
        (("maddpg", "--agents", "3,x"), "--agents must be numbers from 1 to 1000, as in 3,6,12, got 'x'"),
        (("maddpg", "--arms", "fast"), "unknown arm 'fast'"),
        (("maddpg", "--clock", "sun"), "unknown clock 'sun'"),
        (("maddpg", "--set", "batch_size=0"), "batch_size must be at least 1, got 0"),
        (("maddpg", "--set", "size=3"), "unknown key 'size'"),
        (("maddpg", "--updates", "1"), "--updates must be"),
        (("maddpg", "--env", "refine", "--agents", "14"), "agents must be at least 1 and at most 13"),
    ],
)
def test_profile_refuses_what_cannot_be(dse: Dse, given: tuple[str, ...], complaint: str) -> None:
    outcome = dse("profile", *given)
    assert outcome.code == 2, outcome
    assert complaint in outcome.err.splitlines()[-1]
    assert "Traceback" not in outcome.err
