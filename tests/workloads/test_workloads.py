"""The tables of networks against published figures, and the names by which their layers are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dse.core.layer import Layer
from dse.support.errors import InputError
from tests import ROOT
from workloads import CONVENTIONS, NETWORKS, layer_specs, load, load_layer, load_layers, load_part

EXAMPLE = ROOT / "examples" / "network.toml"


def refusal(spec: str | Path) -> str:
    """The one line with which `load_layer` refuses."""
    with pytest.raises(InputError) as caught:
        load_layer(str(spec))
    text = str(caught.value)
    assert "\n" not in text
    return text


def weights(layer: Layer) -> int:
    return layer.K * layer.C * layer.R * layer.S


def channels(layer: Layer) -> int:
    return layer.C if layer.type == "DSCONV" else layer.K


# torchvision's `num_params` of each model's weights.
@pytest.mark.parametrize(
    ("network", "parameters", "biased"),
    [
        ("alexnet", 61_100_840, ()),
        ("vgg16", 138_357_544, ()),
        ("resnet18", 11_689_512, ("fc",)),
        ("resnet50", 25_557_032, ("fc",)),
        ("mobilenet_v2", 3_504_872, ("classifier",)),
        ("efficientnet_b0", 5_288_548, ("classifier", "squeeze", "excite")),
    ],
)
def test_a_network_has_its_published_number_of_parameters(
    network: str, parameters: int, biased: tuple[str, ...]
) -> None:
    # A layer has a bias a channel, or else a scale and a shift of batch normalisation.
    total = sum(
        layer.repeats
        * (weights(layer) + channels(layer) * (1 if not biased or layer.name.endswith(biased) else 2))
        for layer in load(network).layers
    )
    assert total == parameters


# torchvision's `_ops`, in billions, refined to what a count over all convolutions and products gives.
@pytest.mark.parametrize(
    ("network", "billions"),
    [
        ("alexnet", 0.714),
        ("vgg16", 15.470),
        ("resnet18", 1.814),
        ("resnet50", 4.089),
        ("mobilenet_v2", 0.3008),
        ("efficientnet_b0", 0.386),
    ],
)
def test_a_network_has_its_published_work(network: str, billions: float) -> None:
    assert load(network).macs == pytest.approx(billions * 1e9, rel=1e-3)


def test_the_encoder_of_bert_has_its_published_weights_and_its_heads_all_count() -> None:
    network = load("bert_base")
    # 12 layers of 7,087,872 parameters, less the biases and normalisations that are no products.
    per_layer = 7_087_872 - (4 * 768 + 3072 + 768) - 4 * 768
    products = [layer for layer in network.layers if layer.name not in ("scores", "context")]
    assert sum(weights(layer) * layer.repeats for layer in products) == 12 * per_layer
    assert network.layer("scores") == Layer.gemm(512, 512, 64)
    assert network.layer("context") == Layer.gemm(512, 64, 512)
    assert network.layer("scores").repeats == network.layer("context").repeats == 12 * 12
    assert network.layer("attention_output") is network.layer("query")
    assert network.layer("query").repeats == 4 * 12


def test_a_block_of_gpt2_has_its_published_weights() -> None:
    network = load("gpt2_block")
    products = [layer for layer in network.layers if layer.name not in ("attn.scores", "attn.context")]
    assert sum(weights(layer) * layer.repeats for layer in products) == 12 * 768 * 768
    assert network.layer("attn.scores").repeats == 12
    assert network.layer("attn.scores").macs == 1024 * 1024 * 64


def test_the_perceptron_has_the_widths_of_mlperf() -> None:
    network = load("mlp")
    assert network.layer("bottom1") == Layer.gemm(2048, 512, 13)
    assert network.layer("top1") == Layer.gemm(2048, 1024, 479)
    assert network.layer("top5") == Layer.gemm(2048, 1, 256)
    assert network.layer("top4") is network.layer("bottom2")


@pytest.mark.parametrize(
    ("spec", "name", "text"),
    [
        ("vgg16:1", "conv1_2", "CONV K64 C64 Y224 X224 R3 S3 padding 1"),
        ("resnet18:1", "layer1.0.conv1", "CONV K64 C64 Y56 X56 R3 S3 padding 1"),
        ("mobilenet_v2:1", "features.1.depthwise", "DSCONV K1 C32 Y112 X112 R3 S3 padding 1"),
        ("mobilenet_v2:3", "features.2.expand", "CONV K96 C16 Y112 X112 R1 S1"),
    ],
)
def test_indices_count_distinct_layers_from_0(spec: str, name: str, text: str) -> None:
    layer = load_layer(spec)
    assert (layer.name, str(layer)) == (name, text)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("alexnet:conv1", "CONV K64 C3 Y224 X224 R11 S11 stride 4 padding 2"),
        ("alexnet:conv2", "CONV K192 C64 Y27 X27 R5 S5 padding 2"),
        ("resnet18:layer2.0.conv1", "CONV K128 C64 Y56 X56 R3 S3 stride 2 padding 1"),
        ("resnet18:layer2.0.downsample", "CONV K128 C64 Y56 X56 R1 S1 stride 2"),
        ("resnet50:layer2.0.conv1", "CONV K128 C256 Y56 X56 R1 S1"),
        ("resnet50:layer2.0.conv2", "CONV K128 C128 Y56 X56 R3 S3 stride 2 padding 1"),
        ("mobilenet_v2:features.2.depthwise", "DSCONV K1 C96 Y112 X112 R3 S3 stride 2 padding 1"),
        ("efficientnet_b0:features.3.0.depthwise", "DSCONV K1 C144 Y56 X56 R5 S5 stride 2 padding 2"),
        ("efficientnet_b0:features.2.0.squeeze", "GEMM M1 N4 K96"),
    ],
)
def test_strides_and_paddings_are_the_true_ones(spec: str, text: str) -> None:
    assert str(load_layer(spec)) == text


def test_equal_layers_merge_under_the_first_name_and_every_name_still_finds_them() -> None:
    vgg16 = load("vgg16")
    assert [layer.name for layer in vgg16.layers] == [
        *("conv1_1", "conv1_2", "conv2_1", "conv2_2", "conv3_1", "conv3_2"),
        *("conv4_1", "conv4_2", "conv5_1", "fc6", "fc7", "fc8"),
    ]
    assert vgg16.members[8] == ("conv5_1", "conv5_2", "conv5_3")
    assert [layer.repeats for layer in vgg16.layers] == [1, 1, 1, 1, 1, 2, 1, 2, 3, 1, 1, 1]
    assert load_layer("vgg16:conv3_3") is load_layer("vgg16:conv3_2")


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_distinct_layers_that_their_names_find(name: str, convention: str) -> None:
    network = load(name, convention)
    assert (network.name, len(set(network.layers))) == (name, len(network.layers))
    names = [each for group in network.members for each in group]
    assert len(set(names)) == len(names)
    specs = layer_specs(name, convention)
    assert tuple(load_layer(spec, convention) for spec in specs) == load_layers(name, convention)
    for index, (layer, group) in enumerate(zip(network.layers, network.members, strict=True)):
        assert group[0] == layer.name
        assert {network.layer(each) for each in group} == {network.layer(index)} == {layer}
    assert network.source


# How often a network runs a convolution or a product: one for each module of torchvision's model.
@pytest.mark.parametrize(
    ("network", "runs"),
    [("alexnet", 8), ("vgg16", 16), ("resnet18", 21), ("resnet50", 54), ("mobilenet_v2", 53)],
)
def test_repeats_count_every_run_of_a_layer(network: str, runs: int) -> None:
    assert sum(layer.repeats for layer in load(network).layers) == runs


def test_the_gamma_convention_is_the_table_of_gamma_and_archgym() -> None:
    # K, C, Y, X, R, S of GAMMA's resnet18_m.csv, without its repetitions.
    table = [
        (64, 3, 224, 224, 7, 7),
        (64, 64, 56, 56, 3, 3),
        (128, 64, 56, 56, 3, 3),
        (128, 128, 28, 28, 3, 3),
        (128, 64, 56, 56, 1, 1),
        (256, 128, 28, 28, 3, 3),
        (256, 256, 14, 14, 3, 3),
        (256, 128, 28, 28, 1, 1),
        (512, 256, 14, 14, 3, 3),
        (512, 512, 7, 7, 3, 3),
        (512, 256, 14, 14, 1, 1),
    ]
    assert list(load("resnet18", convention="gamma").layers) == [Layer("CONV", *row) for row in table]


def test_layers_that_differ_in_stride_alone_merge_in_the_gamma_convention() -> None:
    # In mobilenet_v2_m.csv the depthwise layers of blocks 3 and 4 are both 1,144,56,56,3,3.
    true, gamma = load("mobilenet_v2"), load("mobilenet_v2", convention="gamma")
    assert true.layer("features.3.depthwise") != true.layer("features.4.depthwise")
    assert gamma.layer("features.3.depthwise") is gamma.layer("features.4.depthwise")
    assert gamma.layer("features.4.depthwise") == Layer("DSCONV", 1, 144, 56, 56, 3, 3)
    assert sum(layer.repeats for layer in gamma.layers) == 52


def test_the_gamma_convention_changes_no_product() -> None:
    assert load("bert_base", "gamma").layers == load("bert_base").layers


def test_the_classifier_has_no_place_in_the_gamma_convention() -> None:
    assert [layer.name for layer in load("alexnet", "gamma").layers] == [f"conv{i}" for i in range(1, 6)]


def test_a_whole_network_or_one_layer_may_be_asked_for() -> None:
    assert load_layers("alexnet") == load("alexnet").layers
    assert load_layers("alexnet:2") == load_layers("alexnet:conv3") == (load("alexnet").layers[2],)
    assert layer_specs("vgg16:conv3_3") == ("vgg16:conv3_2",)
    assert len(load_layers(f"{EXAMPLE}")) == 6
    assert load_layers(f"{EXAMPLE}:1")[0].name == "depthwise"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("vgg61:1", "unknown network 'vgg61'; did you mean 'vgg16'?"),
        ("zzz", "unknown network 'zzz'; expected one of alexnet,"),
        ("", "unknown network ''"),
        ("vgg16", "'vgg16' names no single layer; add one of its 12 as vgg16:0 or vgg16:conv1_1"),
        ("vgg16:", "'vgg16:' names no single layer"),
        ("vgg16:12", "layer index 12 is out of range; vgg16 has layers 0 to 11, counted from 0"),
        ("vgg16:-1", "layer index -1 is out of range"),
        ("vgg16:" + "9" * 5000, "is out of range"),
        ("vgg16:conv1-2", "unknown layer 'conv1-2' in vgg16; did you mean 'conv1_2'?"),
        (
            "vgg16:zzz",
            "unknown layer 'zzz' in vgg16; expected an index from 0 to 11 or a name such as 'conv1_1'",
        ),
        ("vgg16:1:2", "unknown network 'vgg16:1'"),
    ],
)
def test_a_spec_that_names_nothing_is_refused_with_what_would(spec: str, expected: str) -> None:
    text = refusal(spec)
    assert expected in text
    assert len(text) < 400


def test_an_unknown_convention_is_refused() -> None:
    with pytest.raises(InputError, match="unknown convention 'gama'; did you mean 'gamma'"):
        load("vgg16", convention="gama")


def test_importing_the_tables_loads_no_heavy_library() -> None:
    heavy = "'numba', 'pandas', 'torch', 'scipy', 'sklearn', 'matplotlib'"
    code = f"import sys, workloads; print(sorted(set([{heavy}]) & set(sys.modules)))"
    root = EXAMPLE.parent.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_network_may_be_that_of_one_layer() -> None:
    whole, alone = load("resnet18"), load_part("resnet18:3")
    assert alone.layers == (whole.layers[3],)
    assert load_part("resnet18") == whole
    assert alone.macs == whole.layers[3].macs * whole.layers[3].repeats
    with pytest.raises(InputError, match="unknown layer 'none' in resnet18"):
        load_part("resnet18:none")
