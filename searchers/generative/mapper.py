"""A transformer that writes mappings token by token, told what they are for and how good they are to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from dse.support.arrays import FloatArray, IntArray
from searchers.generative.sequences import CHOICES, LENGTH, VOCABULARY

PATH = Path(__file__).with_name("taught.npz")
WIDTH, LAYERS, HEADS = 48, 2, 4


class Mapper(nn.Module):
    """Causal self-attention over a context and the tokens so far (Vaswani et al., 2017), norms first."""

    def __init__(self, inputs: int) -> None:
        """`inputs` numbers say what a sequence is for; the last of them is the target."""
        super().__init__()
        self.context = nn.Linear(inputs, WIDTH)
        self.tokens = nn.Embedding(VOCABULARY * LENGTH, WIDTH)
        self.places = nn.Parameter(torch.zeros(LENGTH, WIDTH))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2 * LAYERS + 1))
        self.mixing = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(LAYERS))
        self.joining = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.widening = nn.ModuleList(nn.Linear(WIDTH, 4 * WIDTH) for _ in range(LAYERS))
        self.narrowing = nn.ModuleList(nn.Linear(4 * WIDTH, WIDTH) for _ in range(LAYERS))
        self.last = nn.Linear(WIDTH, VOCABULARY)

    @property
    def weights(self) -> list[nn.Parameter]:
        """Those of the layers between the tokens read and the tokens written."""
        kinds = (self.mixing, self.joining, self.widening, self.narrowing)
        return [layer.weight for layers in kinds for layer in layers]  # type: ignore[misc]

    def forward(self, context: Tensor, tokens: Tensor) -> Tensor:
        """Logits of each next token, (n, m + 1, VOCABULARY), after contexts (n, inputs) and tokens (n, m)."""
        offsets = VOCABULARY * torch.arange(tokens.shape[1])
        rows = torch.cat([self.context(context)[:, None], self.tokens(tokens + offsets)], dim=1)
        length = min(rows.shape[1], LENGTH)
        rows = rows[:, :length] + self.places[:length]
        for layer in range(LAYERS):
            rows = rows + self.joining[layer](self._attended(layer, self.norms[2 * layer](rows)))
            wide = nn.functional.gelu(self.widening[layer](self.norms[2 * layer + 1](rows)))
            rows = rows + self.narrowing[layer](wide)
        logits: Tensor = self.last(self.norms[-1](rows))
        return logits.masked_fill(~_possible()[:length], -1e9)

    def _attended(self, layer: int, rows: Tensor) -> Tensor:
        parts = self.mixing[layer](rows).view(*rows.shape[:2], 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return found.transpose(1, 2).flatten(2)

    @torch.no_grad()
    def write(self, context: FloatArray, count: int, heat: float, rng: np.random.Generator) -> IntArray:
        """So many sequences drawn for a context (inputs,), at a temperature: (count, LENGTH)."""
        told = torch.from_numpy(np.tile(context, (count, 1)).astype(np.float32))
        tokens = torch.zeros((count, 0), dtype=torch.long)
        for _ in range(LENGTH):
            logits = self(told, tokens)[:, -1] / heat
            gumbel = torch.from_numpy(rng.gumbel(size=(count, VOCABULARY)))
            tokens = torch.cat([tokens, (logits + gumbel).argmax(dim=1, keepdim=True)], dim=1)
        return tokens.numpy()


def _possible() -> Tensor:
    """Which tokens there are at each place: (LENGTH, VOCABULARY)."""
    counts = torch.tensor([*CHOICES.values(), *[VOCABULARY] * (LENGTH - len(CHOICES))])
    return torch.arange(VOCABULARY) < counts[:, None]


def read_mapper(name: str = "mapper") -> tuple[Mapper, FloatArray, FloatArray]:
    """A mapper as it was taught, `sparse` by mixed sparsity; the mean and the deviation of its contexts."""
    with np.load(PATH) as held:
        middle, spread = held["middle"], held["spread"]
        with torch.device("meta"):
            # Without weights, for which torch would draw from what the whole process shares.
            mapper = Mapper(len(middle) + 1)
        weights = {
            key: torch.from_numpy(held[f"{name}.{key}"].astype(np.float32)) for key in mapper.state_dict()
        }
    mapper.load_state_dict(weights, assign=True)
    return mapper, middle, spread


def known_sequences() -> tuple[FloatArray, IntArray]:
    """The contexts that the mapper was taught by, (n, inputs - 1), and the best sequence of each."""
    with np.load(PATH) as held:
        return held["contexts"].astype(np.float64), held["best"].astype(np.int64)
