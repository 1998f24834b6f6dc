#pragma once
/// Tensors as plain fp64 numbers, the form the error models read, and as bytes.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <vector>

namespace opreplay {

/// Dense; complex tensors as their real view (last dim 2).
at::Tensor real_view(const at::Tensor& tensor);

/// The elements of the real view in row-major order.
std::vector<double> doubles(const at::Tensor& tensor);

/// The bytes of a dense CPU tensor; none of an undefined one.
std::span<const std::byte> bytes_of(const at::Tensor& dense);

}  // namespace opreplay
