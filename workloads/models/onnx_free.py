"""ONNX's operators that do no sum of products, and what each needs of its input to make a part.

An operator that is not in this table is not free: its work is unknown, and it needs all of what it reads.
Names and attributes are those of the standard (onnx.ai/onnx/operators), for all its versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workloads.models.traced import ALL, CHANGED, NO_VALUES, ORDER, Need, names_in

if TYPE_CHECKING:
    from workloads.models.onnx_operators import Node

ELEMENTS = names_in("""
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BatchNormalization BitCast BitShift BitwiseAnd BitwiseNot
    BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip Cos Cosh DequantizeLinear Div Dropout Elu Equal Erf
    Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less
    LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow QuantizeLinear Reciprocal Relu Round Selu
    Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor
""")
REGROUPED = names_in("""
    Flatten Reshape Squeeze Unsqueeze
""")
REDUCED = names_in("""
    ArgMax ArgMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare
""")
OF_SHAPES = names_in("""
    ConstantOfShape EyeLike RandomNormalLike RandomUniformLike SequenceLength Shape Size
""")
POOLED = names_in("""
    AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool
""")
WHOLE = names_in("""
    Bernoulli BlackmanWindow CenterCropPad Col2Im Compress Concat ConcatFromSequence Constant CumProd
    CumSum DepthToSpace DynamicQuantizeLinear Expand Gather GatherElements GatherND
    GridSample HammingWindow HannWindow ImageDecoder MaxRoiPool MaxUnpool Multinomial
    NegativeLogLikelihoodLoss NonMaxSuppression NonZero OneHot Optional OptionalGetElement
    OptionalHasElement Pad RandomNormal RandomUniform Range RegexFullMatch Resize
    ReverseSequence RoiAlign RotaryEmbedding Scatter ScatterElements ScatterND SequenceAt
    SequenceConstruct SequenceEmpty SequenceErase SequenceInsert Slice SoftmaxCrossEntropyLoss
    SpaceToDepth Split SplitToSequence StringConcat StringNormalizer StringSplit SwiGLU TensorScatter
    TfIdfVectorizer Tile TopK Transpose Trilu Unique Upsample ArrayFeatureExtractor Binarizer CastMap
    CategoryMapper DictVectorizer FeatureVectorizer Imputer LabelEncoder Normalizer OneHotEncoder Scaler
    TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ZipMap
""")


def _rank(node: Node) -> int:
    return len(node.shapes.get(node.proto.input[0], ()))


def _from_axis(node: Node, usual: int) -> Need:
    """An axis and all behind it: before version 13 a softmax took them as one."""
    rank = _rank(node)
    first = node.attribute("axis", None)
    start = min(usual % max(rank, 1), rank - 1) if first is None else first % max(rank, 1)
    return tuple(range(start, rank))


def _places(node: Node) -> Need:
    """All axes of places, behind samples and channels."""
    return tuple(range(2, _rank(node)))


def _channels_and_places(node: Node) -> Need:
    return tuple(range(1, _rank(node)))


def _per_channel(node: Node) -> Need:
    """Mean and variance over the axes that are said."""
    rank = _rank(node)
    return tuple(axis % max(rank, 1) for axis in node.attribute("axes", [0, 2, 3]))


def _training(node: Node) -> Need:
    """In training statistics are of all samples; before version 14 more outputs than one said so."""
    trains = node.attribute("training_mode", 0) or len([name for name in node.proto.output if name]) > 1
    return ALL if trains else ()


NEEDS: dict[str, Need | Callable[[Node], Need]] = {
    **dict.fromkeys(ELEMENTS, ()),
    **dict.fromkeys(REGROUPED, ORDER),
    **dict.fromkeys(REDUCED, CHANGED),
    **dict.fromkeys(OF_SHAPES, NO_VALUES),
    **dict.fromkeys(POOLED, _places),
    **dict.fromkeys(WHOLE, ALL),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), lambda node: _from_axis(node, 1)),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), lambda node: _from_axis(node, -1)),
    "LpNormalization": lambda node: _from_axis(node, -1),
    "InstanceNormalization": _places,
    "GroupNormalization": _channels_and_places,
    "MeanVarianceNormalization": _per_channel,
    "BatchNormalization": _training,
    "LRN": (1,),
}


def need_of(node: Node) -> Need | None:
    """What a free operator needs; None of one that is not known to be free."""
    need = NEEDS.get(node.operator)
    return need(node) if callable(need) else need
