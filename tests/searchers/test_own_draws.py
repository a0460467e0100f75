"""Libraries that draw from what the process shares draw, within a search, from its own: the same numbers."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from searchers.common.own_draws import Draws, inherit_draws, route_draws
from searchers.common.torch_apart import torch_apart

LIBRARY = """
import random
import threading
import numpy as np
from numpy import random as chance

def drawn():
    return random.random(), random.choice("abcdef"), np.random.rand(), np.random.choice(9), chance.normal()

class Worker(threading.Thread):
    def run(self):
        self.drawn = drawn()

def in_a_thread():
    worker = Worker()
    worker.start()
    worker.join()
    return worker.drawn

def sound():
    return np.random.default_rng(1).random(), random.Random(1).random(), np.pi, np.linalg.norm(np.ones(4))
"""


@pytest.fixture
def library() -> Iterator[ModuleType]:
    made = ModuleType("a_library.inner")
    exec(LIBRARY, vars(made))
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def shared(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the shared generator is what is looked at


def states() -> tuple[object, ...]:
    return random.getstate(), str(np.random.get_state())  # noqa: NPY002


def test_a_library_draws_the_same_from_own_streams_as_from_the_shared_ones(library: ModuleType) -> None:
    shared(3)
    expected = [library.drawn() for _ in range(3)]
    before, sound = states(), library.sound()
    route_draws("a_library")
    route_draws("a_library")
    draws = Draws.seeded(3, 3)
    found = []
    for _ in expected:
        with draws.used():
            found.append(library.drawn())
            assert library.sound() == sound
    assert found == expected
    assert states() == before
    shared(3)
    assert library.drawn() == expected[0]
    draws.seed(3)
    with draws.used():
        assert library.drawn() == expected[0]


def test_another_thread_draws_from_what_is_shared_unless_it_is_the_librarys_own(library: ModuleType) -> None:
    route_draws("a_library")
    shared(3)
    here = [library.drawn() for _ in range(2)]
    seen: list[object] = []
    for inherited in (False, True):
        if inherited:
            inherit_draws(library.Worker)
            inherit_draws(library.Worker)
        shared(3)
        with Draws.seeded(3, 3).used():
            assert library.drawn() == here[0]
            assert library.in_a_thread() == here[inherited]
            other = threading.Thread(target=lambda: seen.append(library.drawn()))
            other.start()
            other.join()
    assert seen == [here[1], here[0]]


def test_torch_draws_the_same_from_a_generator_that_it_is_handed_as_from_the_shared_one() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical, Gamma, Normal

    def drawn() -> list[float]:
        layer = nn.Linear(3, 2)
        nn.init.orthogonal_(layer.weight)
        found = [
            layer.weight,
            layer.bias,
            torch.rand(2),
            torch.randn(2),
            torch.randperm(9),
            torch.zeros(2).normal_(),
        ]
        found += [Normal(torch.zeros(3), 1.0).rsample(), Categorical(torch.ones(3, 4)).sample()]
        found += [Gamma(torch.ones(2), 1.0).sample(), torch.rand_like(found[2]), torch.randint(9, (2,))]
        return torch.cat([part.detach().flatten().float() for part in found]).tolist()

    found = torch.get_rng_state()
    torch.manual_seed(5)
    expected = [drawn(), drawn()]
    torch.manual_seed(1)
    before = torch.get_rng_state()
    with torch_apart(5):
        assert [drawn(), drawn()] == expected
        assert torch.rand(2, generator=torch.Generator().manual_seed(5)).tolist() != torch.rand(2).tolist()
    assert torch.equal(torch.get_rng_state(), before)
    torch.set_rng_state(found)
