"""Networks of matrix products: two transformers and a multi-layer perceptron.

A product of (m x k) by (k x n) is `Layer.gemm(m, n, k)`: m counts tokens or samples, n outputs, k inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dse.core.layer import Layer


def bert_base() -> Iterator[Layer]:
    """The encoder: 12 layers of 12 heads of 64, over one sequence of 512 tokens.

    Embeddings are look-ups; the pooler and the task's head are left out, as in ArchGym's table.
    """
    tokens, hidden, wide, heads, depth = 512, 768, 3072, 12, 12
    head = hidden // heads
    for name in ("query", "key", "value"):
        yield Layer.gemm(tokens, hidden, hidden, name=name, repeats=depth)
    yield Layer.gemm(tokens, tokens, head, name="scores", repeats=depth * heads)
    yield Layer.gemm(tokens, head, tokens, name="context", repeats=depth * heads)
    yield Layer.gemm(tokens, hidden, hidden, name="attention_output", repeats=depth)
    yield Layer.gemm(tokens, wide, hidden, name="intermediate", repeats=depth)
    yield Layer.gemm(tokens, hidden, wide, name="output", repeats=depth)


def gpt2_block() -> Iterator[Layer]:
    """One block of the smallest GPT-2 (12 heads of 64) over its full context of 1024 tokens.

    Scores and context are whole products: the causal mask is applied to the scores afterwards.
    """
    tokens, hidden, heads = 1024, 768, 12
    head = hidden // heads
    yield Layer.gemm(tokens, 3 * hidden, hidden, name="attn.c_attn")
    yield Layer.gemm(tokens, tokens, head, name="attn.scores", repeats=heads)
    yield Layer.gemm(tokens, head, tokens, name="attn.context", repeats=heads)
    yield Layer.gemm(tokens, hidden, hidden, name="attn.c_proj")
    yield Layer.gemm(tokens, 4 * hidden, hidden, name="mlp.c_fc")
    yield Layer.gemm(tokens, hidden, 4 * hidden, name="mlp.c_proj")


def mlp() -> Iterator[Layer]:
    """Bottom and top perceptron of MLPerf's recommendation model, over a mini-batch of 2048 samples."""
    samples, vectors, width = 2048, 27, 128
    # The top one reads every pair of the 26 embeddings and the bottom's output, and that output.
    interactions = vectors * (vectors - 1) // 2 + width
    for part, widths in (("bottom", [13, 512, 256, width]), ("top", [interactions, 1024, 1024, 512, 256, 1])):
        for index, (inputs, outputs) in enumerate(pairwise(widths), start=1):
            yield Layer.gemm(samples, outputs, inputs, name=f"{part}{index}")
