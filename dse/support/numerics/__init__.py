"""Arithmetic that gives the same bits on every CPU, for whatever a decision hangs on.

NumPy, SciPy and BLAS choose their code by the CPU that they find: sums in another order, other polynomials
for exp and log. The last bits differ, a search takes another turn some hundred samples later, and the same
cell has another record. What is here is compiled from fixed orders of IEEE operations. Square roots, sums
over one axis and comparisons are the same in NumPy everywhere.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse.support.arrays import FloatArray
from dse.support.jit import load_kernels

AnyFloats = NDArray[Any]


def exp(values: ArrayLike) -> FloatArray:
    """e to the power of each."""
    return _each("exp_all", values)


def exp2(values: ArrayLike) -> FloatArray:
    """2 to the power of each."""
    return _each("exp2_all", values)


def log(values: ArrayLike) -> FloatArray:
    """The natural logarithm of each: -inf of 0, NaN below."""
    return _each("log_all", values)


def log2(values: ArrayLike) -> FloatArray:
    """The logarithm of each to base 2."""
    return _each("log2_all", values)


def tanh(values: ArrayLike) -> FloatArray:
    """The hyperbolic tangent of each."""
    return _each("tanh_all", values)


def ndtr(values: ArrayLike) -> FloatArray:
    """The chance that a standard normal variable is below each."""
    return _each("ndtr_all", values)


def log_ndtr(values: ArrayLike) -> FloatArray:
    """The logarithm of that chance."""
    return _each("log_ndtr_all", values)


def matmul(ones: AnyFloats, others: AnyFloats) -> AnyFloats:
    """The product of matrices (..., n, k) and (..., k, m), or a vector (k,), of one kind of number."""
    right = others[:, np.newaxis] if others.ndim == 1 else others
    stack = np.broadcast_shapes(ones.shape[:-2], right.shape[:-2])
    left, right = (_stacked(matrices, stack, ones.dtype) for matrices in (ones, right))
    out = np.zeros((len(left), left.shape[1], right.shape[2]), ones.dtype)
    _algebra().products(left, right, out)
    found: AnyFloats = out.reshape(*stack, *out.shape[1:])
    return found[..., 0] if others.ndim == 1 else found


def _stacked(matrices: AnyFloats, stack: tuple[int, ...], kind: Any) -> AnyFloats:
    """Matrices as one stack of contiguous ones, repeated where the other side has more."""
    whole = np.broadcast_to(matrices, (*stack, *matrices.shape[-2:]))
    # Such as may not be written are of another type, for which kernels would be compiled anew.
    return np.require(whole, kind, ["C", "W"]).reshape(math.prod(stack), *matrices.shape[-2:])


def cholesky(covariances: FloatArray) -> FloatArray:
    """The upper factor (n, n) of covariances of known points, noise included; LinAlgError without one."""
    factor = np.array(covariances, np.float64, order="C")
    if not _algebra().factorise(factor):
        raise np.linalg.LinAlgError("covariances that are not positive definite")
    return factor


def solve(factor: FloatArray, targets: FloatArray) -> FloatArray:
    """Weights (n, m) by which covariances with the known points add up to what is expected elsewhere."""
    weights = np.array(targets, np.float64, order="C")
    _algebra().forward(factor, weights)
    _algebra().backward(factor, weights)
    return weights


def explained(factor: FloatArray, shared: FloatArray) -> FloatArray:
    """What the n known points explain of m others, whose covariances (m, n) with them are `shared`: (n, m).

    The inner products of its columns are what knowing takes from the covariances of the others.
    """
    found = np.array(shared.T, np.float64, order="C")
    _algebra().forward(factor, found)
    return found


def non_negative(columns: FloatArray, targets: FloatArray) -> FloatArray | None:
    """Weights (k,), none below 0, by which columns (n, k) add up to targets (n,) in the least squares.

    None if they are not found: columns that are as good as sums of each other.
    """
    weights = np.empty(columns.shape[1])
    squares = matmul(np.ascontiguousarray(columns.T), columns)
    ended = _algebra().non_negative(squares, matmul(np.ascontiguousarray(columns.T), targets), weights)
    return weights if ended else None


def _each(name: str, values: ArrayLike) -> FloatArray:
    given = np.asarray(values, np.float64)
    flat = np.ascontiguousarray(given).ravel()
    out = np.empty_like(flat)
    getattr(load_kernels("dse.support.numerics.elementary"), name)(flat, out)
    return out.reshape(given.shape)


def _algebra() -> ModuleType:
    return load_kernels("dse.support.numerics.algebra")
