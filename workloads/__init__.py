"""Workloads: the layers of well-known networks, and of the user's own from a TOML file.

load("resnet18").layers           every distinct layer, in order of first appearance
load_layer("vgg16:conv3_3")       one layer, by name or by index ("vgg16:1" is conv1_2)
load_layers("examples/network.toml")
load("model.onnx")                from_torch(module, example_inputs)
"""

from workloads.loading import find, layer_specs, load, load_layer, load_layers, load_part
from workloads.models import from_onnx, from_torch
from workloads.network import CONVENTIONS, LeftOut, Network
from workloads.tables import NETWORKS

__all__ = [
    "CONVENTIONS",
    "NETWORKS",
    "LeftOut",
    "Network",
    "find",
    "from_onnx",
    "from_torch",
    "layer_specs",
    "load",
    "load_layer",
    "load_layers",
    "load_part",
]
