#include "lib/torch/numbers.h"

#include <ATen/ops/view_as_real.h>

namespace opreplay {

at::Tensor real_view(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.detach().resolve_conj().resolve_neg().contiguous();
  return dense.is_complex() ? at::view_as_real(dense) : dense;
}

std::vector<double> doubles(const at::Tensor& tensor) {
  const at::Tensor dense = real_view(tensor).to(at::kDouble).contiguous();
  const double* data = dense.const_data_ptr<double>();
  return {data, data + dense.numel()};
}

std::span<const std::byte> bytes_of(const at::Tensor& dense) {
  if (!dense.defined()) return {};
  return {static_cast<const std::byte*>(dense.const_data_ptr()), dense.nbytes()};
}

}  // namespace opreplay
