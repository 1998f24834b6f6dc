// mm, bmm, addmm, baddbmm, mv, addmv, dot: one product routine under all of them.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

#include "harness/simdevice/own_common.h"
#include "harness/simdevice/own_kernels.h"

namespace opreplay::sim {
namespace {

/// A few outputs of very many terms waste the row loop: compute the transpose instead, whose terms
/// are the same.
constexpr std::int64_t k_narrow = 8;

template <class T>
void multiply_batches(const Arithmetic& how, const at::Tensor& a, const at::Tensor& b,
                      const at::Tensor& out) {
  const std::int64_t m = a.size(1), k = a.size(2), n = b.size(2);
  for (std::int64_t i = 0; i < a.size(0); ++i)
    multiply<T>(how, m, n, k, a.const_data_ptr<T>() + i * m * k, b.const_data_ptr<T>() + i * k * n,
                out.mutable_data_ptr<T>() + i * m * n);
}

/// Vectors as matrices: [k] is a row on the left, a column on the right.
at::Tensor as_left(const at::Tensor& t) { return t.dim() == 1 ? t.unsqueeze(0) : t; }
at::Tensor as_right(const at::Tensor& t) { return t.dim() == 1 ? t.unsqueeze(1) : t; }

}  // namespace

at::Tensor product(const Arithmetic& how, const at::Tensor& a, const at::Tensor& b) {
  if (b.size(-1) < k_narrow && a.size(-2) > b.size(-1))
    return product(how, b.transpose(-2, -1), a.transpose(-2, -1)).transpose(-2, -1);
  const auto type = working_type(a.scalar_type());
  const bool batched = a.dim() == 3;
  const at::Tensor left = (batched ? a : a.unsqueeze(0)).to(type).contiguous();
  const at::Tensor right = (batched ? b : b.unsqueeze(0)).to(type).contiguous();
  at::Tensor out = at::empty({left.size(0), left.size(1), right.size(2)}, left.options());
  with_working_type(type,
                    [&](auto zero) { multiply_batches<decltype(zero)>(how, left, right, out); });
  return batched ? out : out.squeeze(0);
}

void own_mm(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
            const std::vector<at::Tensor>& outputs) {
  const at::Tensor values =
      product(how, as_left(inputs[0].toTensor()), as_right(inputs[1].toTensor()));
  outputs[0].copy_(values.view_as(outputs[0]));
}

void own_addmm(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
               const std::vector<at::Tensor>& outputs) {
  const at::Tensor& out = outputs[0];
  const auto type = working_type(out.scalar_type());
  const c10::Scalar beta = inputs[3].toScalar(), alpha = inputs[4].toScalar();
  at::Tensor values = product(how, inputs[1].toTensor(), as_right(inputs[2].toTensor()));
  values = values.reshape(out.sizes());
  // A factor of zero means "leave this part out", NaN in it included.
  values = alpha.toComplexDouble() == 0.0 ? at::zeros_like(values) : values.mul(alpha);
  values = stored_between(how, values, out.scalar_type());
  if (beta.toComplexDouble() != 0.0) values = values.add(inputs[0].toTensor().to(type).mul(beta));
  out.copy_(values);
}

}  // namespace opreplay::sim
