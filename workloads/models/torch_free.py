"""torch's operators that do no sum of products, and what each needs of its input to make a part.

Operators element by element are those that torch itself tags so, and some more. One that is not in this table
is not free: its work is unknown, and it needs all of what it reads. Names are those of ATen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workloads.models.traced import ALL, CHANGED, NO_VALUES, ORDER, Need, names_in

if TYPE_CHECKING:
    from workloads.models.torch_operators import Call

ELEMENTS = names_in("""
    _conj _to_copy alias alpha_dropout celu clone contiguous conj copy deg2rad detach detach_copy
    dropout frac feature_dropout feature_alpha_dropout fill float_power gelu glu_jvp hardshrink hardsigmoid
    hardswish
    hardtanh leaky_relu lift_fresh lift_fresh_copy log_sigmoid masked_fill mish native_dropout nan_to_num
    positive prelu relu relu6 resolve_conj resolve_neg rrelu selu silu softplus softshrink square
    threshold to type_as where dequantize fake_quantize_per_tensor_affine fake_quantize_per_channel_affine
    quantize_per_tensor quantize_per_channel
""")
REGROUPED = names_in("""
    _reshape_alias _unsafe_view flatten reshape squeeze unflatten unsqueeze view view_as reshape_as
    squeeze_copy unsqueeze_copy view_copy
""")
REDUCED = names_in("""
    all amax amin any argmax argmin logsumexp max mean median min nanmean nanmedian nansum norm prod std
    std_mean sum var var_mean linalg_vector_norm mode kthvalue
""")
OF_SHAPES = names_in("""
    _assert_scalar _assert_tensor_metadata arange dim empty empty_like empty_permuted
    empty_strided eye full full_like is_floating_point linspace logspace new_empty
    new_empty_strided new_full new_ones new_zeros numel ones ones_like rand rand_like randint randint_like
    randn randn_like randperm scalar_tensor size sym_constrain_range sym_constrain_range_for_size
    sym_numel sym_size sym_storage_offset sym_stride stride tril_indices triu_indices zeros zeros_like
""")
POOLED = ("adaptive_avg_pool", "adaptive_max_pool", "avg_pool", "lp_pool", "max_pool", "_adaptive_avg_pool")
"""How the names of operators begin that look at places alone."""
WHOLE = names_in("""
    _assert_async _local_scalar_dense is_nonzero item
    adjoint argsort as_strided atleast_1d atleast_2d atleast_3d bincount block_diag broadcast_tensors
    broadcast_to bucketize cartesian_prod cat channel_shuffle chunk col2im combinations concat concatenate
    constant_pad_nd count_nonzero cummax cummin cumprod cumsum cumulative_trapezoid diag
    diag_embed diagonal diagonal_copy diff dsplit dstack embedding embedding_bag _embedding_bag
    embedding_renorm expand expand_as expand_copy flip fliplr flipud gather glu grid_sampler
    grid_sampler_2d grid_sampler_3d histc hsplit hstack im2col index index_add index_copy index_fill
    index_put index_reduce index_select isin isclose logcumsumexp mT mH masked_scatter masked_select
    max_unpool2d max_unpool3d meshgrid moveaxis movedim multinomial bernoulli narrow narrow_copy nonzero
    nonzero_static numpy_T one_hot pad permute permute_copy pixel_shuffle pixel_unshuffle put quantile
    nanquantile ravel reflection_pad1d reflection_pad2d reflection_pad3d repeat repeat_interleave
    replication_pad1d replication_pad2d replication_pad3d roll rot90 row_stack column_stack scatter
    scatter_add scatter_reduce searchsorted select select_copy select_scatter slice slice_copy
    slice_scatter sort split split_copy split_with_sizes split_with_sizes_copy stack swapaxes swapdims t
    t_copy take take_along_dim tensor_split tile topk trace transpose transpose_copy tril triu unbind
    unbind_copy unfold unfold_copy unique_consecutive unique_dim _unique2 upsample_bicubic2d
    upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d
    upsample_trilinear3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d vsplit vstack vander view_as_complex view_as_real
    view_as_real_copy complex polar real imag normal normal_functional uniform exponential geometric
    random cosine_similarity pairwise_distance cross_entropy_loss nll_loss nll_loss_forward nll_loss2d
    l1_loss mse_loss smooth_l1_loss huber_loss binary_cross_entropy kl_div
    binary_cross_entropy_with_logits allclose equal sparse_mask
""")

NEEDS: dict[str, Need] = {
    **dict.fromkeys(ELEMENTS, ()),
    **dict.fromkeys(REGROUPED, ORDER),
    **dict.fromkeys(REDUCED, CHANGED),
    **dict.fromkeys(OF_SHAPES, NO_VALUES),
    **dict.fromkeys(WHOLE, ALL),
}


def need_of(call: Call) -> Need | None:
    """What a free operator needs; None of one that is not known to be free."""
    import torch

    name = call.operator.partition("::")[2]
    name = name if name in NEEDS else name.rstrip("_") or name
    if name == "where" and "self" not in call.arguments:
        return ALL  # the places of what is true
    if name in NEEDS:
        return NEEDS[name]
    if name.startswith(POOLED):
        return _places(call)
    normed = _normed(name, call)
    if normed is not None:
        return normed
    return () if torch.Tag.pointwise in call.node.target.tags else None  # type: ignore[union-attr]


def _normed(name: str, call: Call) -> Need | None:
    """What a softmax or a norm needs whole."""
    given = call.arguments
    rank = len(getattr(call.value(call.node.args[0]), "shape", ())) if call.node.args else 0
    if name in ("softmax", "_softmax", "log_softmax", "_log_softmax", "_safe_softmax", "gumbel_softmax"):
        return (int(given["dim"]),)
    if name in ("layer_norm", "native_layer_norm", "rms_norm", "_fused_rms_norm"):
        last = len(given["normalized_shape"])
        return tuple(range(rank - last, rank))
    if name in ("group_norm", "native_group_norm", "instance_norm", "local_response_norm"):
        return tuple(range(1, rank))
    if name.startswith(
        ("batch_norm", "native_batch_norm", "_native_batch_norm", "_batch_norm", "cudnn_batch_norm")
    ):
        return () if _inference(name, given) else ALL
    return None


def _inference(name: str, given: dict[str, Any]) -> bool:
    return "no_training" in name or not given.get("training", given.get("train", True))


def _places(call: Call) -> Need:
    """The axes of places: as many as the operator's name says, at the end."""
    name = call.operator.partition("::")[2].rstrip("_")
    axes = next((int(one) for one in "123" if f"{one}d" in name), 3)
    return tuple(range(-axes, 0))
