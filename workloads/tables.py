"""The networks that come with the framework, each with the source of its table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from dse.core.layer import Layer
from dse.support.errors import InputError
from workloads import edges
from workloads.convolutions import alexnet, efficientnet_b0, mobilenet_v2, resnet18, resnet50, vgg16
from workloads.network import Network, unpadded
from workloads.products import bert_base, gpt2_block, mlp
from workloads.transformers import TRANSFORMERS


class Known(Protocol):
    """What comes along: a table of layers, or a transformer that is run as its name says behind an @."""

    @property
    def source(self) -> str: ...

    def network(self, name: str, convention: str) -> Network: ...


@dataclass(frozen=True)
class Table:
    """A network's layers in the order in which it runs them.

    `classifier` names the fully connected layers at the end of a convolutional network: the tables of the
    `gamma` convention hold convolutions only. `edges` says which layer reads what, of their true sizes: all
    that reads the output of a layer that is a source there. What edges connect is run `times`.
    """

    source: str
    layers: Callable[[], Iterable[Layer]]
    classifier: tuple[str, ...] = ()
    edges: edges.Edges = edges.in_a_row
    times: int = 1

    def network(self, name: str, convention: str) -> Network:
        """The network in one of the two conventions. InputError where the name says how it is run."""
        base, at, _ = name.partition("@")
        if at:
            raise InputError(
                f"{base} is run in one way; only transformers such as {next(iter(TRANSFORMERS))} take "
                "settings behind an @"
            )
        layers = list(self.layers())
        if convention == "gamma":
            layers = [unpadded(layer) for layer in layers if layer.name not in self.classifier]
            return Network.of(name, self.source, layers)
        read = self.edges(layers)
        return Network.of(name, self.source, layers, edges=read, also_read=(), times=self.times)


NETWORKS: Mapping[str, Known] = {
    "alexnet": Table(
        "Krizhevsky 2014 (arXiv:1404.5997), one tower; torchvision.models.alexnet",
        alexnet,
        ("fc6", "fc7", "fc8"),
    ),
    "vgg16": Table(
        "Simonyan and Zisserman 2014 (arXiv:1409.1556), configuration D; torchvision.models.vgg16",
        vgg16,
        ("fc6", "fc7", "fc8"),
    ),
    "resnet18": Table(
        "He et al. 2015 (arXiv:1512.03385); torchvision.models.resnet18", resnet18, ("fc",), edges.resnet
    ),
    "resnet50": Table(
        "He et al. 2015 (arXiv:1512.03385), v1.5 with the stride in the 3x3; torchvision.models.resnet50",
        resnet50,
        ("fc",),
        edges.resnet,
    ),
    "mobilenet_v2": Table(
        "Sandler et al. 2018 (arXiv:1801.04381); torchvision.models.mobilenet_v2",
        mobilenet_v2,
        ("classifier",),
        edges.mobilenet_v2,
    ),
    "efficientnet_b0": Table(
        "Tan and Le 2019 (arXiv:1905.11946), squeeze and excitation included; "
        "torchvision.models.efficientnet_b0",
        efficientnet_b0,
        ("classifier",),
        edges.efficientnet,
    ),
    "bert_base": Table(
        "Devlin et al. 2018 (arXiv:1810.04805), the encoder's products at sequence length 512",
        bert_base,
        edges=edges.encoder,
        times=12,
    ),
    "gpt2_block": Table(
        "Radford et al. 2019 (Language Models are Unsupervised Multitask Learners), one block of the "
        "117M-parameter model at its context of 1024",
        gpt2_block,
        edges=edges.gpt2_block,
    ),
    "mlp": Table(
        "Naumov et al. 2019 (arXiv:1906.00091), the perceptrons of MLPerf's DLRM at its mini-batch of 2048",
        mlp,
    ),
    **TRANSFORMERS,
}
