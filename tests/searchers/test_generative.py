"""generative: sequences stand for mappings of any layer; what was written or copied is searched on from."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import dse
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from dse.testing.toy_problem import ToySpace
from searchers.generative import TAUGHT_SAMPLES
from searchers.generative.mapper import PATH, known_sequences, read_mapper
from searchers.generative.sequences import LENGTH, context_vector, genes_of, has_sequences, tokens_of
from workloads import load_layer

PROBLEM = dse.Problem(
    load_layer("mobilenet_v2:features.3.project"), dse.load_accelerator("tpu-like"), "edp", "loopnest"
)
SPACE = PROBLEM.space


def test_sequences_stand_for_mappings_but_for_what_half_a_doubling_hides() -> None:
    genes = SPACE.canonical(SPACE.sample(np.random.default_rng(0), 200))
    tokens = tokens_of(SPACE, SPACE, genes)
    again = genes_of(SPACE, SPACE, tokens)
    assert tokens.shape == (200, LENGTH)
    assert np.abs(tokens_of(SPACE, SPACE, again) - tokens).max() <= 1
    assert (again == genes).mean() > 0.9


def test_a_layer_s_context_differs_by_objective_and_only_known_spaces_have_sequences() -> None:
    assert (context_vector(SPACE, "edp") != context_vector(SPACE, "latency")).sum() == 2
    assert has_sequences(SPACE, "edp")
    assert not has_sequences(SPACE, "power")
    assert not has_sequences(ToySpace(), "edp")


def drawn(source: str, samples: int, start: int = 0) -> tuple[np.ndarray, np.ndarray]:
    record = Record(len(SPACE.genes))
    evaluate = Evaluator(PROBLEM, samples, record=record)
    if start:
        evaluate.evaluate_start(SPACE.sample(np.random.default_rng(1), start))
    with suppress(BudgetExhausted):
        make_searcher("generative", {"source": source, "n_generated": 16}).search(
            evaluate, np.random.default_rng(0)
        )
    assert len(record) == samples
    return record.genes(), record.evaluations().loss


@pytest.mark.parametrize("source", ["transformer", "sparse", "nearest"])
def test_what_is_written_or_copied_is_better_than_chance_and_searched_on_from(source: str) -> None:
    genes, losses = drawn(source, 60)
    chance = PROBLEM.price(SPACE.sample(np.random.default_rng(0), 160)).loss
    # Sixteen that are written are as good as ten times as many at random.
    assert losses[:16].min() < chance.min()
    assert losses.min() < losses[:16].min()
    assert len(np.unique(SPACE.canonical(genes), axis=0)) == 60
    # Points that a user begins with are not lost.
    begun, _ = drawn(source, 20, start=5)
    assert (begun[5:15] == genes[:10]).all()


def test_what_it_was_taught_by_is_declared() -> None:
    with np.load(PATH) as held:
        assert int(held["samples"]) == TAUGHT_SAMPLES
    assert make_searcher("generative").samples_elsewhere == TAUGHT_SAMPLES
    contexts, best = known_sequences()
    assert contexts.shape[1] == len(read_mapper()[1]) == len(context_vector(SPACE, "edp"))
    assert best.shape == (len(contexts), LENGTH)


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="temperature must be"):
        make_searcher("generative", {"temperature": 0.0})
