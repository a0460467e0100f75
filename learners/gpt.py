"""A small language model whose layers may be sparse and whose attention may be: what MST pretrains.

Radford et al.'s GPT-2 in small: causal, norms first, GELU, learned places, one matrix for reading and writing
characters. Attention patterns are those of Child, Gray, Radford and Sutskever, "Generating Long Sequences
with Sparse Transformers" (2019, arXiv:1904.10509), a head one of them: `local`, the last few places;
`strided`, every so many places back; `fixed`, the last place of each block. All see the last few places.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, linear

from learners.sparse import forward_flops


@dataclass(frozen=True)
class Shape:
    """How large a model is."""

    characters: int
    width: int = 48
    layers: int = 4
    heads: int = 4
    length: int = 64
    """Characters that it looks back on."""


class GPT(nn.Module):
    """Logits of the next character."""

    def __init__(self, shape: Shape, generator: torch.Generator) -> None:
        super().__init__()
        self.shape = shape
        width = shape.width
        self.characters = _normal((shape.characters, width), generator)
        self.places = _normal((shape.length, width), generator)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * shape.layers + 1))
        sizes = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]
        self.weights = nn.ParameterList(
            _normal((outputs, inputs), generator) for _ in range(shape.layers) for inputs, outputs in sizes
        )
        self.biases = nn.ParameterList(
            torch.zeros(outputs) for _ in range(shape.layers) for _, outputs in sizes
        )

    def forward(self, text: Tensor, seen: Tensor) -> Tensor:
        """For characters (n, length), and which places each head sees (heads, length, length)."""
        rows = self.characters[text] + self.places[: text.shape[1]]
        for layer in range(self.shape.layers):
            mixed = self._attended(layer, self.norms[2 * layer](rows), seen)
            rows = rows + self._linear(4 * layer + 1, mixed)
            wide = gelu(self._linear(4 * layer + 2, self.norms[2 * layer + 1](rows)))
            rows = rows + self._linear(4 * layer + 3, wide)
        return linear(self.norms[-1](rows), self.characters)

    def flops(self, connections: int, seen: Tensor) -> float:
        """Of one character forward, with so many connections in its layers and what heads see.

        Norms, softmax and GELU are left out, as they are commonly.
        """
        shape = self.shape
        pairs = float(seen.sum()) / seen.shape[1]
        attention = 2 * 2 * pairs * shape.width / shape.heads * shape.layers
        biases = sum(len(bias) for bias in self.biases)
        return forward_flops(connections + shape.characters * shape.width, biases) + attention

    def _linear(self, place: int, rows: Tensor) -> Tensor:
        return linear(rows, self.weights[place], self.biases[place])

    def _attended(self, layer: int, rows: Tensor, seen: Tensor) -> Tensor:
        heads = self.shape.heads
        parts = self._linear(4 * layer, rows).view(*rows.shape[:2], 3, heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)
        return found.transpose(1, 2).flatten(2)


def dense_attention(shape: Shape) -> Tensor:
    """Every head sees all places before, and its own: (heads, length, length)."""
    places = torch.arange(shape.length)
    return (places[:, None] >= places).expand(shape.heads, -1, -1)


def hybrid_attention(shape: Shape, block: int = 8) -> Tensor:
    """The heads see local, strided and fixed places in turn: (heads, length, length)."""
    places = torch.arange(shape.length)
    back = places[:, None] - places
    near = (back >= 0) & (back < block // 2)
    patterns = (
        (back >= 0) & (back < block),
        near | ((back >= 0) & (back % block == 0)),
        near | ((back >= 0) & (places % block == block - 1)),
    )
    return torch.stack([patterns[head % len(patterns)] for head in range(shape.heads)])


def _normal(size: tuple[int, ...], generator: torch.Generator) -> nn.Parameter:
    return nn.Parameter(0.05 * torch.randn(size, generator=generator))
