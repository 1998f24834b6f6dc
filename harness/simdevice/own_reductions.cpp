// sum, mean, softmax, log_softmax, layer_norm: the reduced dims are brought to the front, so that
// each is a sum over the first dim of a [terms, outputs] matrix.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <set>

#include "harness/simdevice/own_common.h"
#include "harness/simdevice/own_kernels.h"

namespace opreplay::sim {
namespace {

using Inputs = c10::ArrayRef<c10::IValue>;
using Outputs = std::vector<at::Tensor>;

/// Sums `term(k, j)` of every column j; at most `k_tile` columns at once.
template <class T, class Term>
at::Tensor sum_columns(const Arithmetic& how, const at::Tensor& matrix, Term term) {
  constexpr std::int64_t k_tile = 1024;
  const std::int64_t terms = matrix.size(0), columns = matrix.size(1);
  at::Tensor sums = at::empty({columns}, matrix.options());
  const T* data = matrix.const_data_ptr<T>();
  for (std::int64_t from = 0; from < columns; from += k_tile) {
    const std::int64_t width = std::min(k_tile, columns - from);
    sum_terms<T>(how, terms, width, sums.mutable_data_ptr<T>() + from,
                 [=](std::int64_t k, T* into) {
                   const T* row = data + k * columns + from;
                   for (std::int64_t j = 0; j < width; ++j)
                     into[j] = term(row[j], from + j, into[j]);
                 });
  }
  return sums;
}

/// [terms, outputs] with the given dims as terms; no dims = all of them.
at::Tensor as_matrix(const at::Tensor& input, const std::vector<std::int64_t>& dims) {
  std::set<std::int64_t> reduced;
  for (const std::int64_t dim : dims) reduced.insert(dim < 0 ? dim + input.dim() : dim);
  std::vector<std::int64_t> order;
  std::int64_t terms = 1, outputs = 1;
  for (std::int64_t dim = 0; dim < input.dim(); ++dim) {
    if (!reduced.empty() && !reduced.contains(dim)) continue;
    order.push_back(dim);
    terms *= input.size(dim);
  }
  for (std::int64_t dim = 0; dim < input.dim(); ++dim) {
    if (reduced.empty() || reduced.contains(dim)) continue;
    order.push_back(dim);
    outputs *= input.size(dim);
  }
  return input.permute(order).reshape({terms, outputs}).contiguous();
}

void reduce(const Arithmetic& how, const at::Tensor& input, const std::vector<std::int64_t>& dims,
            bool mean, const at::Tensor& out) {
  // As torch does, a dtype= argument narrows the terms, not only the result.
  const at::Tensor terms = input.to(out.scalar_type()).to(working_type(out.scalar_type()));
  const at::Tensor matrix = terms.dim() == 0 ? terms.reshape({1, 1}) : as_matrix(terms, dims);
  at::Tensor sums = column_sums(how, matrix);
  if (mean) sums = sums.div(static_cast<double>(matrix.size(0)));
  out.copy_(sums.view(out.sizes()));
}

std::vector<std::int64_t> dims_of(const c10::IValue& value) {
  return value.isNone() ? std::vector<std::int64_t>{} : value.toIntVector();
}

/// Softmax in matrix form: the dim is the rows. Returns exp(x - max) or, for log_softmax, x - max,
/// beside the sums of the exponentials.
struct Exponentials {
  at::Tensor shifted, powers, sums;
};
Exponentials exponentials(const Arithmetic& how, const at::Tensor& input, std::int64_t dim) {
  const at::Tensor work = input.to(working_type(input.scalar_type()));
  const at::Tensor matrix = work.dim() == 0 ? work.reshape({1, 1}) : as_matrix(work, {dim});
  const at::Tensor shifted = stored_between(how, matrix.sub(matrix.amax(0)), input.scalar_type());
  const at::Tensor powers = stored_between(how, shifted.exp(), input.scalar_type());
  return {shifted, powers, column_sums(how, powers)};
}

void store_rows(const at::Tensor& matrix, std::int64_t dim, const at::Tensor& out) {
  const at::Tensor view = out.dim() == 0 ? out : out.movedim(dim, 0);
  view.copy_(matrix.view(view.sizes()));
}

}  // namespace

at::Tensor column_sums(const Arithmetic& how, const at::Tensor& matrix) {
  at::Tensor sums;
  with_working_type(matrix.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    sums = sum_columns<T>(how, matrix, [](T x, std::int64_t, T sum) { return sum + x; });
  });
  return sums;
}

at::Tensor column_square_sums(const Arithmetic& how, const at::Tensor& matrix,
                              const at::Tensor& means) {
  at::Tensor sums;
  const bool fused = how.order == Order::fused;
  with_working_type(matrix.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const T* mean = means.const_data_ptr<T>();
    sums = sum_columns<T>(how, matrix, [mean, fused](T x, std::int64_t column, T sum) {
      const T distance = x - mean[column];
      return fused ? multiply_add(distance, distance, sum) : sum + distance * distance;
    });
  });
  return sums;
}

void own_sum(const Arithmetic& how, Inputs inputs, const Outputs& outputs) {
  reduce(how, inputs[0].toTensor(), {}, false, outputs[0]);
}
void own_sum_dim(const Arithmetic& how, Inputs inputs, const Outputs& outputs) {
  reduce(how, inputs[0].toTensor(), dims_of(inputs[1]), false, outputs[0]);
}
void own_mean(const Arithmetic& how, Inputs inputs, const Outputs& outputs) {
  reduce(how, inputs[0].toTensor(), {}, true, outputs[0]);
}
void own_mean_dim(const Arithmetic& how, Inputs inputs, const Outputs& outputs) {
  reduce(how, inputs[0].toTensor(), dims_of(inputs[1]), true, outputs[0]);
}

void own_softmax(const Arithmetic& how, Inputs inputs, const Outputs& outputs) {
  if (outputs[0].numel() == 0) return;
  const std::int64_t dim = inputs[1].toInt();
  const Exponentials e = exponentials(how, inputs[0].toTensor(), dim);
  store_rows(e.powers.div(e.sums), dim, outputs[0]);
}

void own_log_softmax(const Arithmetic& how, Inputs inputs, const Outputs& outputs) {
  if (outputs[0].numel() == 0) return;
  const std::int64_t dim = inputs[1].toInt();
  const Exponentials e = exponentials(how, inputs[0].toTensor(), dim);
  store_rows(e.shifted.sub(e.sums.log()), dim, outputs[0]);
}

void own_layer_norm(const Arithmetic& how, Inputs inputs, const Outputs& outputs) {
  const at::Tensor& input = inputs[0].toTensor();
  if (input.numel() == 0) return;
  const std::vector<std::int64_t> shape = inputs[1].toIntVector();
  std::int64_t terms = 1;
  for (const std::int64_t size : shape) terms *= size;
  const auto type = working_type(input.scalar_type());
  const at::Tensor matrix = input.to(type).reshape({-1, terms}).t().contiguous();
  const double count = static_cast<double>(terms);

  const at::Tensor mean = column_sums(how, matrix).div(count);
  const at::Tensor variance = column_square_sums(how, matrix, mean).div(count);
  const at::Tensor rstd = variance.add(inputs[4].toDouble()).rsqrt();
  at::Tensor values = stored_between(how, matrix.sub(mean).mul(rstd), input.scalar_type());
  values = values.t().reshape(input.sizes());
  if (!is_absent(inputs[2])) values = values.mul(inputs[2].toTensor().to(type));
  if (!is_absent(inputs[3])) values = values.add(inputs[3].toTensor().to(type));

  outputs[0].copy_(values);
  outputs[1].copy_(mean.view(outputs[1].sizes()));
  outputs[2].copy_(rstd.view(outputs[2].sizes()));
}

}  // namespace opreplay::sim
