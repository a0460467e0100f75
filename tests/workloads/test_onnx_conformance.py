"""MACs of some conformance models of ONNX are those of the arrays that they are run on; `prove` has all."""

from __future__ import annotations

from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")

from dse.support.errors import InputError  # noqa: E402
from tests.workloads.conformance_cases import models  # noqa: E402
from workloads import load  # noqa: E402

REASONS = (
    "is no layer here",
    "reads its input where other inputs say",
    "a convolution of 3 spatial dimensions",
    "is none of two operands with a named output",
    "a tool such as onnxsim may settle it",
)
"""Why a model is not read: in its own words."""


def judged(folder: Path, operator: str | None) -> tuple[int, int]:
    """How many models are read, with the MACs of their arrays, and how many refused for one of REASONS."""
    read = refused = 0
    for name, model, macs in models(operator):
        path = folder / "model.onnx"
        onnx.save(model, path)
        said = ""
        try:
            network = load(str(path))
        except InputError as error:
            said = str(error)
        if said:
            assert any(reason in said for reason in REASONS), (name, said)
            refused += 1
            continue
        known = [one.macs for one in network.left_out]
        assert None not in known, name
        assert network.macs + sum(filter(None, known)) == macs, name
        read += 1
    return read, refused


@pytest.mark.parametrize(
    ("operator", "models_read"), [("ConvTranspose", 9), ("Gemm", 11), ("LSTM", 3), ("QLinearMatMul", 4)]
)
def test_macs_are_those_of_the_arrays_of_a_conformance_model(
    tmp_path: Path, operator: str, models_read: int
) -> None:
    assert judged(tmp_path, operator)[0] >= models_read
