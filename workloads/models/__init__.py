"""Networks out of models: ONNX files and PyTorch modules, operator by operator.

`convolutions` and `products` say which layers an operator is, whatever it comes from; `collected` gathers
them with what is left out; `onnx_file`, `onnx_operators` and `torch_module` read models; `toml_file` writes.
"""

from workloads.models.onnx_file import from_onnx
from workloads.models.torch_module import from_torch

__all__ = ["from_onnx", "from_torch"]
