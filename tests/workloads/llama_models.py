"""A block of Llama-3-8B and its vocabulary in torch and in ONNX, as others write it, without weights."""

from __future__ import annotations

import onnx
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, silu

from tests.workloads.onnx_cases import model, operator

HIDDEN, HEADS, KEY_HEADS, WIDE, WORDS = 4096, 32, 8, 14336, 128256
SIZE, KEYS = HIDDEN // HEADS, KEY_HEADS * (HIDDEN // HEADS)
SHARING = {"grouped": "yes", "rows": "yes", "repeated": "no"}
"""By the way that the heads of the keys are shared: whether that is seen in the products."""


def attention(way: str, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Of heads (1, heads, tokens, size), whose keys are fewer, one of SHARING's ways."""
    if way == "grouped":
        return scaled_dot_product_attention(query, key, value, enable_gqa=True)
    if way == "rows":
        rows = query.unflatten(1, (KEY_HEADS, -1)).flatten(2, 3)
        return ((rows @ key.mT).softmax(-1) @ value).unflatten(2, (HEADS // KEY_HEADS, -1)).flatten(1, 2)
    key, value = (one.repeat_interleave(HEADS // KEY_HEADS, 1) for one in (key, value))
    return (query @ key.mT).softmax(-1) @ value


class Llama(nn.Module):
    """One block; with keys and values of earlier tokens it decodes."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way, self.words = way, nn.Embedding(WORDS, HIDDEN)
        self.first, self.second, self.last = (nn.RMSNorm(HIDDEN) for _ in range(3))
        sizes = {"q": (HIDDEN, HIDDEN), "k": (HIDDEN, KEYS), "v": (HIDDEN, KEYS), "o": (HIDDEN, HIDDEN)}
        sizes |= {"gate": (HIDDEN, WIDE), "up": (HIDDEN, WIDE), "down": (WIDE, HIDDEN)}
        sizes["head"] = (HIDDEN, WORDS)
        self.made = nn.ModuleDict({name: nn.Linear(*size, bias=False) for name, size in sizes.items()})

    def forward(self, ids: torch.Tensor, *past: torch.Tensor) -> torch.Tensor:
        made, hidden = self.made, self.words(ids)
        query, key, value = (
            made[name](self.first(hidden)).unflatten(-1, (-1, SIZE)).transpose(1, 2) for name in "qkv"
        )
        if past:
            key, value = (torch.cat(pair, 2) for pair in zip(past, (key, value), strict=True))
        hidden = hidden + made["o"](attention(self.way, query, key, value).transpose(1, 2).flatten(-2))
        inside = self.second(hidden)
        hidden = hidden + made["down"](silu(made["gate"](inside)) * made["up"](inside))
        return made["head"](self.last(hidden)[:, -1:])


def llama_onnx(tokens: int) -> onnx.ModelProto:
    """The same block in operators of ONNX, of which one is attention with shared keys; the norms left out."""
    weights = {"wq": HIDDEN, "wk": KEYS, "wv": KEYS, "wo": HIDDEN, "wg": WIDE, "wu": WIDE}
    return model(
        *(operator("MatMul", f"x w{name}", name) for name in "qkv"),
        operator("Attention", "q k v", "c", q_num_heads=HEADS, kv_num_heads=KEY_HEADS),
        operator("MatMul", "c wo", "o"),
        *(operator("MatMul", f"o w{name}", name) for name in "gu"),
        operator("Mul", "g u", "h"),
        operator("MatMul", "h wd", "y"),
        version=23,
        x=[1, tokens, HIDDEN],
        wd=[WIDE, HIDDEN],
        **{name: [HIDDEN, outputs] for name, outputs in weights.items()},
    )
