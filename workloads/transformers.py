"""Transformers by their published configurations, as they are run: `llama3-8b@decode=1,kv=32768,batch=16`.

A run is so many new tokens of each of `batch` sequences. `prefill=N` begins sequences with N tokens;
`decode=N` goes on with N more. Each new token attends to `kv` keys, its own among them: by default to the
new tokens alone in prefill, and to DEFAULT_KEYS in decode.

- Grouped queries: the query heads that share keys are rows of one product, so that a mapping sees the
  sharing. `sharing=no` makes each head a product of its own, with its own copy of the keys.
- Experts: T tokens with k experts each are spread evenly over x = min(experts, T k) of them, ceil(T k / x)
  tokens an expert.
- Scores and context are whole products: a causal mask is applied to the scores afterwards.
- Latent attention: prefill makes every head's keys and values from the latents (`form=plain`); decode keeps
  to the latents and moves those products to queries and outputs (`form=absorbed`), as its authors do.
- The vocabulary's product is done for the last token of a sequence in prefill, as for generating text it must
  be (`logits=all`: for all), and for all new tokens in decode.

- Widths: `w=4,i=8,o=32` are bits of weights, activations and sums; `keys=8` those of keys and values, which
  have the activations' width otherwise. Without any, words are those of the hardware.

Left out is what is no matrix product: embeddings' look-ups, norms, positions, activations, softmax.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from dse.core.layer import Layer
from dse.core.widths import MAX_BITS, Widths
from dse.support.errors import InputError, shorten, unknown_name
from workloads.edges import attention, cached, encoder, latent_attention
from workloads.network import Network

DEFAULT_KEYS = 2048
"""Keys that a decoded token attends to, where a run does not say."""


@dataclass(frozen=True)
class Run:
    """How a transformer is run; None is the model's default."""

    prefill: int | None = None
    decode: int | None = None
    kv: int | None = None
    batch: int = 1
    sharing: str = "yes"
    logits: str = "last"
    form: str | None = None
    w: int | None = None
    i: int | None = None
    o: int | None = None
    keys: int | None = None

    @classmethod
    def of(cls, text: str, name: str) -> Run:
        """The run of "decode=1,kv=32768"; `name` is the network's, for messages. InputError if it is none."""
        known = [field.name for field in fields(cls)]
        found: dict[str, Any] = {}
        for entry in filter(None, text.split(",")):
            key, equals, value = (part.strip() for part in entry.partition("="))
            if key not in known:
                raise unknown_name("setting", key, known, name)
            if not equals or key in found:
                raise InputError(f"{name}: {shorten(entry)} must be {key}=VALUE, once")
            found[key] = _choice(name, key, value) if key in _CHOICES else _count(name, key, value)
        run = cls(**found)
        if run.prefill and run.decode:
            raise InputError(f"{name}: either prefill or decode, not both")
        if run.kv and run.kv < (run.prefill or run.decode or 1):
            raise InputError(f"{name}: kv counts the new tokens too, and must not be less than they are")
        return run

    def widths(self, product: str) -> Widths:
        """The bits of the words of a product, by its name."""
        of_keys = product in ("scores", "context")
        return Widths((self.keys or self.i) if of_keys else self.w, self.i, self.o)


_WIDTHS = ("w", "i", "o", "keys")
_CHOICES = {"sharing": ("yes", "no"), "logits": ("last", "all"), "form": ("plain", "absorbed")}
_MAX = 2**31 - 1


def _choice(name: str, key: str, value: str) -> str:
    if value not in _CHOICES[key]:
        raise unknown_name(key, value, _CHOICES[key], name)
    return value


def _count(name: str, key: str, value: str) -> int:
    most = MAX_BITS if key in _WIDTHS else _MAX
    if not (value.isascii() and value.isdecimal() and len(value) < 11 and 1 <= int(value) <= most):
        raise InputError(f"{name}: {key} must be a whole number from 1 to {most}, got {shorten(value)}")
    return int(value)


@dataclass(frozen=True)
class Product:
    """`count` products of M x N x K in each of `layers` layers.

    `weights` are the weight matrices that a layer has for it, 0 where both operands are activations.
    """

    name: str
    m: int
    n: int
    k: int
    count: int = 1
    weights: int = 1
    layers: int = 1


@dataclass(frozen=True)
class Latent:
    """Keys and values of all heads from one latent vector a token (DeepSeek-V2, arXiv:2405.04434).

    A head has `head_dim` dims without and `rope` dims with a position, and values of `head_dim`; the keys'
    rope dims are shared by all heads. `queries` is the queries' latent, 0 where they have none.
    """

    kv: int
    rope: int
    queries: int = 0


@dataclass(frozen=True)
class Transformer:
    """A published configuration. Sizes are those of its file config.json, or of the paper."""

    source: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ff: int
    vocab: int = 0
    head_dim: int = 128
    gated: bool = True
    tied: bool = False
    positions: int = 0
    biases: bool = False
    head_norms: bool = False
    experts: int = 0
    experts_per_token: int = 0
    shared_ff: int = 0
    dense_layers: int = 0
    dense_ff: int = 0
    expert_biases: bool = False
    latent: Latent | None = None
    tokens: int = DEFAULT_KEYS
    encoder: bool = False
    patch: tuple[int, int, int] | None = None
    classes: int = 0
    token_types: int = 0
    pooler: bool = False

    def network(self, name: str, convention: str = "true") -> Network:
        """The products of a run, `name` being "llama3-8b@prefill=2048", in one of the two conventions."""
        base, _, text = name.partition("@")
        run = self._completed(Run.of(text, base), base)
        products = self.products(run)
        layers = [
            Layer.gemm(p.m, p.n, p.k, name=p.name, repeats=p.count * p.layers, bits=run.widths(p.name))
            for p in products
            if p.layers
        ]
        if self.patch:
            channels, image, side = self.patch
            stem = Layer("CONV", K=self.hidden, C=channels, Y=image, X=image, R=side, S=side, name="patches",
                         stride=(side, side), batch=run.batch, bits=run.widths("patches"))  # fmt: skip
            layers.insert(0, stem)
        edges = latent_attention(layers) if self.latent else attention(layers)
        if self.token_types:
            edges = encoder(layers)
        also_read = () if self.encoder else cached(layers)
        network = Network.of(name, self.source, layers, edges=edges, also_read=also_read, times=self.layers)
        return network.in_convention(convention)

    def _completed(self, run: Run, name: str) -> Run:
        """The run with the model's defaults."""
        if run.decode and self.encoder:
            raise InputError(f"{name} is an encoder: it decodes nothing, prefill=N is its number of tokens")
        if run.form and not self.latent:
            raise InputError(f"{name} has no latent attention, and so no other form of it")
        if self.patch and run.prefill and run.prefill != self.tokens:
            raise InputError(f"{name} has {self.tokens} tokens, as its images and patches give them")
        if run.decode:
            keys = run.kv or max(DEFAULT_KEYS, run.decode)
            return replace(run, kv=keys, form=run.form or "absorbed")
        new = run.prefill or min(self.tokens, run.kv or self.tokens)
        if self.encoder and run.kv and run.kv != new:
            raise InputError(f"{name} is an encoder: its tokens attend to each other, and kv is not its own")
        return replace(run, prefill=new, kv=run.kv or new, form=run.form or "plain")

    def products(self, run: Run) -> list[Product]:
        """All products of a completed run, in the order in which a layer does them."""
        new = run.prefill or run.decode or 1
        rows, last = run.batch * new, run.batch * (new if run.decode or run.logits == "all" else 1)
        sparse = self.layers - self.dense_layers if self.experts else 0
        attention = self._latent_attention(run, rows) if self.latent else self._attention(run, rows)
        found = [replace(product, layers=self.layers) for product in attention]
        if self.experts:
            found += [replace(product, layers=sparse) for product in self._experts(rows)]
        dense = self._feed_forward(rows, self.dense_ff if self.experts else self.ff)
        found += [replace(product, layers=self.layers - sparse) for product in dense]
        if self.pooler:
            found.append(Product("pooler", run.batch, self.hidden, self.hidden))
        if self.classes:
            found.append(Product("head", run.batch, self.classes, self.hidden))
        if self.vocab and not self.encoder:
            found.append(Product("lm_head", last, self.vocab, self.hidden, weights=0 if self.tied else 1))
        return found

    def _attention(self, run: Run, rows: int) -> Iterator[Product]:
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        yield Product("q_proj", rows, queries, self.hidden)
        yield Product("k_proj", rows, keys, self.hidden)
        yield Product("v_proj", rows, keys, self.hidden)
        yield from self._scores(run, self.kv_heads, self.head_dim, self.head_dim)
        yield Product("o_proj", rows, self.hidden, queries)

    def _scores(self, run: Run, shared: int, width: int, values: int) -> Iterator[Product]:
        """Queries times keys, and scores times values: `shared` sets of keys for all heads."""
        sets = self.heads if run.sharing == "no" else shared
        new, keys = run.prefill or run.decode or 1, run.kv or 1
        together, count = new * (self.heads // sets), run.batch * sets
        yield Product("scores", together, keys, width, count, weights=0)
        yield Product("context", together, values, keys, count, weights=0)

    def _latent_attention(self, run: Run, rows: int) -> Iterator[Product]:
        latent, heads, width = self.latent, self.heads, self.head_dim
        assert latent is not None
        if latent.queries:
            yield Product("q_a_proj", rows, latent.queries, self.hidden)
        yield Product("q_proj", rows, heads * (width + latent.rope), latent.queries or self.hidden)
        yield Product("kv_a_proj", rows, latent.kv + latent.rope, self.hidden)
        if run.form == "absorbed":
            # One set of keys for all heads: the latents. What made keys of them is applied to the queries.
            yield Product("q_absorb", rows, latent.kv, width, heads)
            yield from self._scores(run, 1, latent.kv + latent.rope, latent.kv)
            yield Product("v_absorb", rows, width, latent.kv, heads)
        else:
            made = run.batch * (run.kv or 1)
            yield Product("kv_b_proj", made, 2 * heads * width, latent.kv)
            yield from self._scores(run, heads, width + latent.rope, width)
        yield Product("o_proj", rows, self.hidden, heads * width)

    def _experts(self, rows: int) -> Iterator[Product]:
        yield Product("router", rows, self.experts, self.hidden)
        chosen = rows * self.experts_per_token
        at_work = min(self.experts, chosen)
        for product in self._feed_forward(math.ceil(chosen / at_work), self.ff):
            yield replace(product, name=f"experts.{product.name}", count=at_work, weights=self.experts)
        if self.shared_ff:
            for product in self._feed_forward(rows, self.shared_ff):
                yield replace(product, name=f"shared.{product.name}")

    def _feed_forward(self, rows: int, width: int) -> Iterator[Product]:
        if self.gated:
            yield Product("gate_proj", rows, width, self.hidden)
        yield Product("up_proj", rows, width, self.hidden)
        yield Product("down_proj", rows, self.hidden, width)

    @property
    def parameters(self) -> int:
        """All parameters, counted from the products' weights and from what is no product."""
        run = self._completed(Run(form="plain" if self.latent else None), "model")
        products = self.products(run)
        norm = 2 * self.hidden if self.biases else self.hidden
        found = sum(p.n * p.k * p.weights * p.layers for p in products) + self.layers * 2 * norm
        if self.biases:
            found += sum(p.n * p.weights * p.layers for p in products if p.weights)
        if self.head_norms:
            found += self.layers * 2 * self.head_dim
        if self.latent:
            found += self.layers * (self.latent.kv + self.latent.queries)
        if self.expert_biases:
            found += (self.layers - self.dense_layers) * self.experts
        # Embeddings, and the norm before the first layer (BERT) or after the last (all others).
        found += (self.vocab + self.positions + self.token_types) * self.hidden + norm
        if self.patch:
            channels, _, side = self.patch
            found += self.hidden * (channels * side * side + 1) + self.hidden
        return found


TRANSFORMERS = {
    "llama3-8b": Transformer(
        "Meta 2024 (arXiv:2407.21783); meta-llama/Meta-Llama-3-8B, config.json",
        32, 4096, 32, 8, 14336, 128256,
    ),
    "llama3-70b": Transformer(
        "Meta 2024 (arXiv:2407.21783); meta-llama/Meta-Llama-3-70B, config.json",
        80, 8192, 64, 8, 28672, 128256,
    ),
    "gpt3-6.7b": Transformer(
        "Brown et al. 2020 (arXiv:2005.14165), Table 2.1; its sparse layers as dense ones",
        32, 4096, 32, 32, 16384, 50257, gated=False, tied=True, positions=2048, biases=True,
    ),
    "gpt3-175b": Transformer(
        "Brown et al. 2020 (arXiv:2005.14165), Table 2.1; its sparse layers as dense ones",
        96, 12288, 96, 96, 49152, 50257, gated=False, tied=True, positions=2048, biases=True,
    ),
    "mixtral-8x7b": Transformer(
        "Jiang et al. 2024 (arXiv:2401.04088); mistralai/Mixtral-8x7B-v0.1, config.json",
        32, 4096, 32, 8, 14336, 32000, experts=8, experts_per_token=2,
    ),
    "mixtral-8x22b": Transformer(
        "Mistral AI 2024, Mixtral 8x22B; mistralai/Mixtral-8x22B-v0.1, config.json",
        56, 6144, 48, 8, 16384, 32000, experts=8, experts_per_token=2,
    ),
    "qwen3-8b": Transformer(
        "Yang et al. 2025 (arXiv:2505.09388); Qwen/Qwen3-8B, config.json",
        36, 4096, 32, 8, 12288, 151936, head_norms=True,
    ),
    "qwen3-30b-a3b": Transformer(
        "Yang et al. 2025 (arXiv:2505.09388); Qwen/Qwen3-30B-A3B, config.json",
        48, 2048, 32, 4, 768, 151936, head_norms=True, experts=128, experts_per_token=8,
    ),
    "deepseek-v2-lite": Transformer(
        "DeepSeek-AI 2024 (arXiv:2405.04434); deepseek-ai/DeepSeek-V2-Lite, config.json",
        27, 2048, 16, 16, 1408, 102400, experts=64, experts_per_token=6, shared_ff=2816,
        dense_layers=1, dense_ff=10944, latent=Latent(512, 64),
    ),
    "deepseek-v3": Transformer(
        "DeepSeek-AI 2024 (arXiv:2412.19437); deepseek-ai/DeepSeek-V3, config.json, without its second head",
        61, 7168, 128, 128, 2048, 129280, experts=256, experts_per_token=8, shared_ff=2048,
        dense_layers=3, dense_ff=18432, expert_biases=True, latent=Latent(512, 64, queries=1536),
    ),
    "bert-large": Transformer(
        "Devlin et al. 2018 (arXiv:1810.04805); google-bert/bert-large-uncased, config.json",
        24, 1024, 16, 16, 4096, 30522, head_dim=64, gated=False, positions=512, biases=True, tokens=512,
        encoder=True, token_types=2, pooler=True,
    ),
    "vit-b16": Transformer(
        "Dosovitskiy et al. 2020 (arXiv:2010.11929), 224 x 224; torchvision.models.vit_b_16",
        12, 768, 12, 12, 3072, head_dim=64, gated=False, positions=197, biases=True, tokens=197,
        encoder=True, patch=(3, 224, 16), classes=1000,
    ),
}  # fmt: skip
"""The models by name: layers, hidden size, heads, heads of keys, feed-forward width, vocabulary."""
