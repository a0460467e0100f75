"""Torch modules with a count of multiply-accumulates that somebody has published, without any weights."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

TOKENS, WIDTH, HEADS, BLOCKS, WORDS = 1024, 768, 12, 12, 50257
"""The smallest GPT-2 (Radford et al. 2019) over its whole context."""


class Block(nn.Module):
    """One block: its attention is a function, which no hook on modules sees."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        parts = self.attention(self.first(hidden)).chunk(3, dim=-1)
        query, key, value = (part.unflatten(-1, (HEADS, -1)).transpose(-3, -2) for part in parts)
        context = scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.projection(context.transpose(-3, -2).flatten(-2))
        return hidden + self.wide(self.second(hidden))


class GPT2(nn.Module):
    """The whole model; scores of words are a product with the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.last = nn.LayerNorm(WIDTH)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden = self.words(ids) + self.places(torch.arange(ids.shape[-1], device=ids.device))
        return self.last(self.blocks(hidden)) @ self.words.weight.T


def gpt2() -> nn.Module:
    """The model on the meta device, where it takes no memory."""
    with torch.device("meta"):
        return GPT2()


def hoffmann(tokens: int, width: int, heads: int, blocks: int, words: int) -> int:
    """Multiply-accumulates of a transformer by Hoffmann et al. 2022 (arXiv:2203.15556), appendix F.

    Half of the operations counted there, but for the embedding, which is a look-up, and the softmax.
    """
    size = width // heads
    projections, scores = 3 * tokens * width * (size * heads), tokens * tokens * (size * heads)
    reductions, last = tokens * tokens * (size * heads), tokens * (size * heads) * width
    dense = tokens * (width * 4 * width + 4 * width * width)
    return blocks * (projections + scores + reductions + last + dense) + tokens * width * words
