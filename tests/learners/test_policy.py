"""Saved policies: what is loaded does what was saved, and what is no policy is refused in a line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from learners.errors import InputError
from learners.maddpg import MADDPG
from learners.masac import MASAC
from learners.policy import Policy, load_policy, save_policy
from learners.team import Team
from tests.learners.toys import Signals

pytest.importorskip("safetensors")


def policy(boxes: bool = False, algorithm: type[MADDPG] | type[MASAC] = MADDPG) -> Policy:
    learner = algorithm(net_arch=(4,)).begin(Team.of(Signals(boxes=boxes)), np.random.default_rng(3))
    return learner.policy()


@pytest.mark.parametrize("algorithm", [MADDPG, MASAC])
@pytest.mark.parametrize("boxes", [False, True], ids=["discrete", "boxes"])
def test_a_loaded_policy_acts_as_the_saved_one(
    tmp_path: Path, algorithm: type[MADDPG] | type[MASAC], boxes: bool
) -> None:
    saved = policy(boxes, algorithm)
    save_policy(saved, tmp_path / "p", {"samples": 300})
    held = load_policy(tmp_path / "p")
    loaded, about = held.policy, held.about
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == [
        "policy.json",
        "policy.safetensors",
    ]
    assert about == {"samples": 300}
    assert loaded.team.names == saved.team.names
    seen = np.random.default_rng(0).random((3, saved.team.observed), dtype=np.float32)
    for seed in (None, 4):
        rngs = [None if seed is None else np.random.default_rng(seed) for _ in range(2)]
        np.testing.assert_array_equal(loaded.act(seen, rngs[0]), saved.act(seen, rngs[1]))


def test_what_is_no_policy_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_policy(tmp_path)
    save_policy(policy(), tmp_path)
    description = tmp_path / "policy.json"
    written = description.read_text()
    described = json.loads(written)
    for changed, complaint in (
        (described | {"format": "other"}, "policy.json: format must be 'dse-policy-1', got 'other'"),
        (described | {"weights": {}}, "the weights are not those that policy.json describes"),
        (described | {"head": "pickle"}, "unknown head .pickle."),
        (described | {"agents": [5]}, r"policy.json: agents\[0\] should be a valid string, got 5"),
        (described | {"observed": 1.5}, "policy.json: observed should be a valid integer, got 1.5"),
        (described | {"real": [[1]]}, r"policy.json: real\[0\]\[0\] should be a valid (array|list), got 1"),
        (
            described | {"about": None},
            "policy.json: about should be (an object|a valid dictionary), got None",
        ),
        (described | {"precision": None}, "policy.json: precision should be (an object|a valid dictionary)"),
    ):
        description.write_text(json.dumps(changed))
        with pytest.raises(InputError, match=complaint):
            load_policy(tmp_path)
    description.write_text(written)
    weights = tmp_path / "policy.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    with pytest.raises(InputError, match="is damaged"):
        load_policy(tmp_path)
