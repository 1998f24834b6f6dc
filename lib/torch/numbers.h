#pragma once
/// Tensors as plain fp64 numbers, the form the error models read.

#include <ATen/core/Tensor.h>

#include <vector>

namespace opreplay {

/// Dense; complex tensors as their real view (last dim 2).
at::Tensor real_view(const at::Tensor& tensor);

/// The elements of the real view in row-major order.
std::vector<double> doubles(const at::Tensor& tensor);

}  // namespace opreplay
