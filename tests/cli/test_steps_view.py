"""What a command that takes long says on stderr where there is no terminal."""

from __future__ import annotations

import time

import pytest

from dse.cli.waiting_view import tell_of_steps
from dse.support.telling import now_and_then


def until(capsys: pytest.CaptureFixture[str], text: str) -> str:
    """What is said until `text` is."""
    said, end = "", time.monotonic() + 20
    while text not in said and time.monotonic() < end:
        time.sleep(0.01)
        said += capsys.readouterr().err
    return said


def test_a_long_step_is_said_once_in_its_midst(capsys: pytest.CaptureFixture[str]) -> None:
    with tell_of_steps(seconds=0.01) as tell:
        tell("the first\nstep")
        assert until(capsys, "step") == "the first step\n"
        time.sleep(0.05)
        tell("the second")
        assert until(capsys, "second") == "the second\n"


def test_a_command_that_is_soon_done_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with tell_of_steps(seconds=60) as tell:
        tell("a step")
    assert capsys.readouterr().err == ""


def test_of_many_steps_the_first_is_told_and_then_one_now_and_then() -> None:
    now, said = [0.0], []
    tell = now_and_then(said.append, seconds=5, clock=lambda: now[0])
    for second in range(12):
        now[0] = float(second)
        tell(f"step {second}")
    assert said == ["step 0", "step 5", "step 10"]
