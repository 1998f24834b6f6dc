#pragma once
/// Value statistics of a tensor. Part of lib/torch/interpreter.h.

#include <ATen/core/Tensor.h>

#include <optional>

#include "lib/base/graph_run.h"

namespace opreplay {

/// Sizes, strides, offset and dtype as they are; nothing for dtypes and layouts no case can name.
std::optional<TensorDesc> describe(const at::Tensor& tensor);

/// Everything but the path. Nothing where `describe` gives nothing.
std::optional<TensorStats> tensor_stats(const at::Tensor& tensor);

/// The elements row-major, views resolved. Requires describe(tensor).
std::vector<std::byte> dense_bytes(const at::Tensor& tensor);

}  // namespace opreplay
