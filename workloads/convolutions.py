"""Convolutional networks for ImageNet at 224 x 224, walked stage by stage as torchvision builds them."""

from __future__ import annotations

from collections.abc import Iterator

from dse.core.layer import Layer

IMAGE, CLASSES = 224, 1000


def conv(
    name: str,
    outputs: int,
    inputs: int,
    size: int,
    window: int,
    *,
    stride: int = 1,
    padding: int | None = None,
) -> Layer:
    """A square convolution of `inputs` channels of size x size; `padding` keeps the size unless given."""
    pad = window // 2 if padding is None else padding
    return Layer("CONV", outputs, inputs, size, size, window, window, (stride, stride), (pad, pad), name)


def depthwise(name: str, channels: int, size: int, window: int, *, stride: int = 1) -> Layer:
    """A square convolution that filters each channel by itself, padded to keep the size."""
    pad = window // 2
    return Layer("DSCONV", 1, channels, size, size, window, window, (stride, stride), (pad, pad), name)


def alexnet() -> Iterator[Layer]:
    """One tower of 64, 192, 384, 256 and 256 channels; 3 x 3 pooling of stride 2 after conv1, 2 and 5."""
    yield conv("conv1", 64, 3, IMAGE, 11, stride=4, padding=2)
    yield conv("conv2", 192, 64, 27, 5)
    yield conv("conv3", 384, 192, 13, 3)
    yield conv("conv4", 256, 384, 13, 3)
    yield conv("conv5", 256, 256, 13, 3)
    yield Layer.fc(4096, 256 * 6 * 6, name="fc6")
    yield Layer.fc(4096, 4096, name="fc7")
    yield Layer.fc(CLASSES, 4096, name="fc8")


def vgg16() -> Iterator[Layer]:
    """Configuration D: five stages of 3 x 3 convolutions, each followed by 2 x 2 pooling."""
    inputs, size = 3, IMAGE
    for stage, (outputs, depth) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)], start=1):
        for index in range(1, depth + 1):
            yield conv(f"conv{stage}_{index}", outputs, inputs, size, 3)
            inputs = outputs
        size //= 2
    yield Layer.fc(4096, 512 * size * size, name="fc6")
    yield Layer.fc(4096, 4096, name="fc7")
    yield Layer.fc(CLASSES, 4096, name="fc8")


def resnet18() -> Iterator[Layer]:
    """Four stages of two basic blocks; the first block of stages 2 to 4 halves the size."""
    yield conv("conv1", 64, 3, IMAGE, 7, stride=2)
    inputs, size = 64, IMAGE // 4
    for stage, width in enumerate([64, 128, 256, 512], start=1):
        for block in range(2):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            yield conv(f"{name}.conv1", width, inputs, size, 3, stride=stride)
            yield conv(f"{name}.conv2", width, width, size // stride, 3)
            if stride == 2:
                yield conv(f"{name}.downsample", width, inputs, size, 1, stride=stride)
            inputs, size = width, size // stride
    yield Layer.fc(CLASSES, inputs, name="fc")


def resnet50() -> Iterator[Layer]:
    """Four stages of bottleneck blocks, v1.5: a block's stride is in its 3 x 3, not in its first 1 x 1."""
    yield conv("conv1", 64, 3, IMAGE, 7, stride=2)
    inputs, size = 64, IMAGE // 4
    for stage, (width, depth) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], start=1):
        for block in range(depth):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            yield conv(f"{name}.conv1", width, inputs, size, 1)
            yield conv(f"{name}.conv2", width, width, size, 3, stride=stride)
            yield conv(f"{name}.conv3", 4 * width, width, size // stride, 1)
            if block == 0:
                yield conv(f"{name}.downsample", 4 * width, inputs, size, 1, stride=stride)
            inputs, size = 4 * width, size // stride
    yield Layer.fc(CLASSES, inputs, name="fc")


def mobilenet_v2() -> Iterator[Layer]:
    """Seventeen inverted residual blocks: `features.i` is torchvision's block i."""
    yield conv("features.0", 32, 3, IMAGE, 3, stride=2)
    inputs, size, index = 32, IMAGE // 2, 1
    for expansion, outputs, depth, first_stride in [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]:
        for stride in [first_stride, *[1] * (depth - 1)]:
            yield from _inverted_residual(
                f"features.{index}", inputs, expansion * inputs, outputs, size, 3, stride
            )
            inputs, size, index = outputs, size // stride, index + 1
    yield conv("features.18", 1280, inputs, size, 1)
    yield Layer.fc(CLASSES, 1280, name="classifier")


def efficientnet_b0() -> Iterator[Layer]:
    """Sixteen inverted residual blocks with squeeze and excitation: `features.i.j` is torchvision's block."""
    yield conv("features.0", 32, 3, IMAGE, 3, stride=2)
    inputs, size = 32, IMAGE // 2
    stages = [
        (1, 3, 1, 16, 1),
        (6, 3, 2, 24, 2),
        (6, 5, 2, 40, 2),
        (6, 3, 2, 80, 3),
        (6, 5, 1, 112, 3),
        (6, 5, 2, 192, 4),
        (6, 3, 1, 320, 1),
    ]
    for stage, (expansion, window, first_stride, outputs, depth) in enumerate(stages, start=1):
        for block, stride in enumerate([first_stride, *[1] * (depth - 1)]):
            yield from _inverted_residual(
                f"features.{stage}.{block}",
                inputs,
                expansion * inputs,
                outputs,
                size,
                window,
                stride,
                # A quarter of the block's inputs, not of its expanded channels.
                squeezed=inputs // 4,
            )
            inputs, size = outputs, size // stride
    yield conv("features.8", 1280, inputs, size, 1)
    yield Layer.fc(CLASSES, 1280, name="classifier")


def _inverted_residual(
    name: str,
    inputs: int,
    hidden: int,
    outputs: int,
    size: int,
    window: int,
    stride: int,
    *,
    squeezed: int = 0,
) -> Iterator[Layer]:
    """A 1 x 1 expansion where it widens, a depthwise filter, squeeze and excitation if any, a projection."""
    if hidden != inputs:
        yield conv(f"{name}.expand", hidden, inputs, size, 1)
    yield depthwise(f"{name}.depthwise", hidden, size, window, stride=stride)
    if squeezed:
        # torchvision writes these two as 1 x 1 convolutions of the pooled 1 x 1 image: the same loops.
        yield Layer.fc(squeezed, hidden, name=f"{name}.squeeze")
        yield Layer.fc(hidden, squeezed, name=f"{name}.excite")
    yield conv(f"{name}.project", outputs, hidden, size // stride, 1)
