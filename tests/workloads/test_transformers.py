"""Transformers are what their published configurations say, run as their name says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dse.core.layer import Layer
from dse.support.errors import InputError
from tests.workloads.llama_models import KEY_HEADS, SHARING, SIZE, WORDS, Llama, llama_onnx
from tests.workloads.onnx_cases import written
from workloads import from_torch, load, load_layer
from workloads.network import Network
from workloads.transformers import TRANSFORMERS, Run

# As the models' pages count them, exactly; of GPT-3 the paper rounds (6.7B, 175.0B), of Mixtral 8x22B too.
PARAMETERS = {
    "llama3-8b": 8_030_261_248,
    "llama3-70b": 70_553_706_496,
    "mixtral-8x7b": 46_702_792_704,
    "qwen3-8b": 8_190_735_360,
    "qwen3-30b-a3b": 30_532_122_624,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v3": 671_026_419_200,
    "bert-large": 335_141_888,
    "vit-b16": 86_567_656,
}
ROUNDED = {"gpt3-6.7b": (6.7e9, 0.05e9), "gpt3-175b": (175e9, 0.5e9), "mixtral-8x22b": (141e9, 0.5e9)}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_parameters_counted_from_the_layers_are_the_published_ones(name: str) -> None:
    counted = TRANSFORMERS[name].parameters
    if name in ROUNDED:
        published, rounding = ROUNDED[name]
        assert abs(counted - published) <= rounding
    else:
        assert counted == PARAMETERS[name]


# AccelForge 1c1929c, examples/workloads/transformers: 2,048 tokens, and one that attends to 2,047 keys. It
# leaves out the product with the vocabulary, and routers.
MACS = {
    "llama3-8b": (15_393_162_788_864, 7_515_930_624),
    "gpt3-6.7b": (14_293_651_161_088, 6_979_059_712),
    "gpt3-175b": (366_137_372_049_408, 178_775_654_400),
    "mixtral-8x22b": (82_257_213_652_992, 40_163_966_976),
    "qwen3-8b": (15_461_882_265_600, 7_549_452_288),
    "qwen3-30b-a3b": (7_215_545_057_280, 3_522_822_144),
}


@pytest.mark.parametrize("name", MACS)
@pytest.mark.parametrize("place", [0, 1])
def test_macs_are_those_of_an_independent_count(name: str, place: int) -> None:
    network = load(f"{name}@{('prefill=2048', 'decode=1,kv=2047')[place]}")
    others = sum(macs(network, part) for part in ("lm_head", "router"))
    assert network.macs - others == MACS[name][place]


def macs(network: Network, name: str) -> int:
    """Those of the layers of a name, also of one that merged into another."""
    wholes = [layer for group in network.wholes for layer in group if layer.name == name]
    return sum(layer.macs * layer.repeats for layer in wholes)


def product(layer: Layer) -> tuple[int, int, int, int]:
    """M, N, K and repeats."""
    return (layer.Y, layer.K, layer.C, layer.repeats)


def test_query_heads_that_share_keys_are_rows_of_one_product() -> None:
    spec = "llama3-8b@decode=1,kv=32768,batch=16"
    assert product(load_layer(f"{spec}:scores")) == (4, 32768, 128, 32 * 16 * 8)
    assert product(load_layer(f"{spec}:context")) == (4, 128, 32768, 32 * 16 * 8)
    assert product(load_layer(f"{spec},sharing=no:scores")) == (1, 32768, 128, 32 * 16 * 32)
    assert load(spec).macs == load(f"{spec},sharing=no").macs


def test_a_prefill_makes_one_row_of_logits_a_sequence_unless_all_are_asked_for() -> None:
    assert product(load_layer("llama3-8b@prefill=512,batch=2:lm_head")) == (2, 128256, 4096, 1)
    assert product(load_layer("llama3-8b@prefill=512,batch=2,logits=all:lm_head")) == (1024, 128256, 4096, 1)
    assert product(load_layer("llama3-8b@decode=3,batch=2:lm_head")) == (6, 128256, 4096, 1)


def test_tokens_are_spread_over_the_experts_that_they_reach() -> None:
    few, many = load("mixtral-8x7b@decode=1,batch=3"), load("mixtral-8x7b@prefill=2048")
    assert product(few.layer("experts.down_proj")) == (1, 4096, 14336, 6 * 32)
    assert product(many.layer("experts.down_proj")) == (512, 4096, 14336, 8 * 32)
    assert product(few.layer("router")) == (3, 8, 4096, 32)


def test_latents_are_the_keys_of_all_heads_in_decode_and_make_keys_in_prefill() -> None:
    decode, prefill = load("deepseek-v3@decode=1,kv=2047"), load("deepseek-v3@prefill=2048")
    assert product(decode.layer("scores")) == (128, 2047, 512 + 64, 61)
    assert product(decode.layer("context")) == (128, 512, 2047, 61)
    assert product(decode.layer("q_absorb")) == (1, 512, 128, 61 * 128)
    assert product(prefill.layer("kv_b_proj")) == (2048, 32768, 512, 61)
    assert product(prefill.layer("scores")) == (2048, 2048, 192, 61 * 128)
    assert product(prefill.layer("shared.down_proj")) == (2048, 7168, 2048, 58)
    # AccelForge's count, which leaves out the 64 rope dims of queries, latents and scores, and the router.
    rope = 61 * (128 * 64 * 1536 + 64 * 7168 + 128 * 64 * 2047)
    others = macs(decode, "lm_head") + macs(decode, "router")
    assert decode.macs - rope - others == 51_162_513_408


def test_keys_are_counted_with_the_new_tokens_of_a_later_part() -> None:
    assert product(load_layer("qwen3-8b@prefill=512,kv=2048:scores")) == (4 * 512, 2048, 128, 36 * 8)
    assert load("qwen3-8b").macs == load("qwen3-8b@prefill=2048,kv=2048").macs


def test_an_encoder_is_run_at_its_own_length() -> None:
    assert load("vit-b16").layer("patches").sizes == "CONV K768 C3 Y224 X224 R16 S16"
    assert 17.5e9 < load("vit-b16").macs < 17.6e9  # torchvision's page says 17.56 G.
    assert product(load_layer("bert-large@prefill=128,batch=4:scores")) == (128, 128, 64, 4 * 16 * 24)


def block_of_llama(run: str) -> set[tuple[int, int, int, int]]:
    """The products of one block of Llama-3-8B and its vocabulary."""
    network = replace(TRANSFORMERS["llama3-8b"], layers=1).network(f"llama3-8b@{run}")
    return {product(layer) for layer in network.layers}


@pytest.mark.parametrize("way", SHARING)
def test_a_torch_module_of_llama_has_its_products(way: str) -> None:
    with torch.device("meta"):
        module, ids = Llama(way), torch.zeros(1, 512, dtype=torch.long)
        past = (torch.zeros(1, KEY_HEADS, 2047, SIZE),) * 2
    for inputs, run in ((ids, "prefill=512"), ((ids[:, :1], *past), "decode=1,kv=2048")):
        found = {product(layer) for layer in from_torch(module, inputs).layers}
        assert found == block_of_llama(f"{run},sharing={SHARING[way]}")


def test_an_onnx_model_of_llama_has_its_products(tmp_path: Path) -> None:
    found = load(written(tmp_path / "llama.onnx", llama_onnx(512)))
    products = {product(layer) for layer in found.layers}
    assert products == {one for one in block_of_llama("prefill=512") if one[1] != WORDS}


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("llama3-8b@prefil=3", "unknown setting 'prefil' in llama3-8b; did you mean 'prefill'?"),
        ("llama3-8b@prefill=0", "prefill must be a whole number from 1 to 2147483647, got '0'"),
        ("llama3-8b@decode=٣", "decode must be a whole number"),
        ("llama3-8b@decode", "'decode' must be decode=VALUE, once"),
        ("llama3-8b@decode=1,decode=2", "'decode=2' must be decode=VALUE, once"),
        ("llama3-8b@decode=4,kv=2", "kv counts the new tokens too"),
        ("llama3-8b@decode=4,prefill=2", "either prefill or decode, not both"),
        ("llama3-8b@sharing=maybe", "unknown sharing 'maybe' in llama3-8b"),
        ("llama3-8b@form=absorbed", "has no latent attention"),
        ("bert-large@decode=1", "bert-large is an encoder"),
        ("bert-large@prefill=8,kv=16", "its tokens attend to each other"),
        ("vit-b16@prefill=4", "vit-b16 has 197 tokens"),
        ("vgg16@batch=2", "only transformers such as llama3-8b take settings"),
        ("llama4@decode=1", "unknown network 'llama4'"),
        ("gpt3-175b@decode=1,kv=2000000000,batch=2000000000", "do not fit in 64 bits"),
    ],
)
def test_a_run_that_cannot_be_is_refused_in_one_line(spec: str, complaint: str) -> None:
    with pytest.raises(InputError) as refused:
        load(spec)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_run_is_read_with_spaces_and_in_any_order() -> None:
    assert Run.of(" kv = 64 , decode=2", "any") == Run(decode=2, kv=64)
    assert Run.of("", "any") == Run()
