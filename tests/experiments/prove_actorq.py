"""ActorQ with all its processes, once; run by `make prove`."""

from __future__ import annotations

from experiments.actorq.asynchronous import PHASES, run
from experiments.actorq.setting import Setting


def test_a_short_run_ends_and_tells_where_its_time_went() -> None:
    setting = Setting("CartPole-v1", communication=8, inference=8, steps=2600, pull_every=50, actors=2)
    found = run(setting, judge=1)
    (whole,) = found["run"]
    assert found["breakdown"]
    assert whole["messages"] > 2
    assert [line["steps"] for line in found["curve"]] == [173 * place for place in range(1, 16)]
    # One of the actors may have begun late.
    assert {line["actor"] for line in found["breakdown"]} <= {0, 1}
    assert all(line[f"{phase}_s"] > 0 for line in found["breakdown"] for phase in PHASES)
    # Weights in a byte each, biases and scales beside them: four times less than in single precision.
    assert {line["message_bytes"] for line in found["breakdown"]} < set(range(5_000, 6_500))
