#include "lib/torch/tensor_stats.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/base/numeric.h"
#include "lib/torch/dtype_map.h"
#include "lib/torch/numbers.h"

namespace opreplay {
namespace {

/// A dense copy on the CPU without conjugate or negative bit.
at::Tensor dense(const at::Tensor& tensor) {
  return tensor.detach().to(at::kCPU).resolve_conj().resolve_neg().contiguous();
}

bool is_exact(DType dtype) { return is_integral(dtype) || dtype == DType::boolean; }

}  // namespace

std::optional<TensorDesc> describe(const at::Tensor& tensor) {
  const auto dtype = from_torch(tensor.scalar_type());
  if (!dtype || tensor.layout() != c10::kStrided) return std::nullopt;
  TensorDesc desc;
  desc.dtype = *dtype;
  desc.sizes = tensor.sizes().vec();
  desc.strides = tensor.strides().vec();
  desc.offset = tensor.storage_offset();
  return desc;
}

std::optional<TensorStats> tensor_stats(const at::Tensor& tensor) {
  auto desc = describe(tensor);
  if (!desc || tensor.is_quantized()) return std::nullopt;
  TensorStats stats;
  stats.desc = std::move(*desc);
  stats.elements = tensor.numel();
  const DType dtype = component_type(stats.desc.dtype);
  const at::Tensor flat = dense(tensor);
  const std::span<const std::byte> bytes = bytes_of(flat);
  const std::size_t step = size_of(dtype);
  // Welford's update: one pass, no cancellation.
  double mean = 0, squares = 0;
  stats.min = INFINITY;
  stats.max = -INFINITY;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const double value = load_element(dtype, bytes.data() + at);
    if (!std::isfinite(value)) continue;
    const double delta = value - mean;
    mean += delta / static_cast<double>(++stats.finite);
    squares += delta * (value - mean);
    stats.min = std::min(stats.min, value);
    stats.max = std::max(stats.max, value);
  }
  if (stats.finite == 0) {
    stats.min = stats.max = 0;
  } else {
    stats.mean = mean;
    stats.std = std::sqrt(squares / static_cast<double>(stats.finite));
  }
  if (stats.elements > k_verbatim_elements) return stats;
  if (is_exact(dtype)) {
    const at::Tensor wide = flat.to(at::kLong);
    const auto* from = wide.const_data_ptr<std::int64_t>();
    stats.int_data.assign(from, from + wide.numel());
  } else if (dtype == stats.desc.dtype && stats.finite < stats.elements) {
    stats.data = load_elements(dtype, bytes);
  }
  return stats;
}

std::vector<std::byte> dense_bytes(const at::Tensor& tensor) {
  const at::Tensor flat = dense(tensor);
  const auto bytes = bytes_of(flat);
  return {bytes.begin(), bytes.end()};
}

}  // namespace opreplay
