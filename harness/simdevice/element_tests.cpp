// What elements of a tensor are: classes, comparisons, indices held against their limits.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <limits>

#include "harness/simdevice/alias.h"
#include "harness/simdevice/conditions.h"
#include "lib/torch/dtype_map.h"

namespace opreplay::sim {
namespace {

constexpr double k_inf = std::numeric_limits<double>::infinity();

/// Smallest normal number of the dtype.
double least_normal(c10::ScalarType type) {
  const auto dtype = from_torch(type);
  return dtype ? std::ldexp(1.0, float_format(*dtype).min_exponent) : 0.0;
}

at::Tensor class_mask(Has has, const at::Tensor& values) {
  const bool floating = values.is_floating_point();
  switch (has) {
    case Has::nan:
      return values.isnan();
    case Has::inf:
      return values.eq(k_inf);
    case Has::neg_inf:
      return values.eq(-k_inf);
    case Has::neg_zero:
      return floating ? values.eq(0).logical_and(values.signbit())
                      : at::zeros_like(values, values.options().dtype(c10::kBool));
    case Has::denormal: {
      if (!floating) return at::zeros_like(values, values.options().dtype(c10::kBool));
      const at::Tensor size = values.to(c10::kDouble).abs();
      return size.gt(0).logical_and(size.lt(least_normal(values.scalar_type())));
    }
    case Has::negative:
      return values.lt(0);
    default:
      TORCH_CHECK(false, "not a property of one element");
  }
}

at::Tensor comparison_mask(const Comparison& comparison, const at::Tensor& values) {
  at::Tensor left = values.to(c10::kDouble);
  if (comparison.modulus != 0) left = left.fmod(comparison.modulus);
  const double right = comparison.value;
  switch (comparison.op) {
    case Comparison::Op::eq:
      return left.eq(right);
    case Comparison::Op::ne:
      return left.ne(right);
    case Comparison::Op::lt:
      return left.lt(right);
    case Comparison::Op::le:
      return left.le(right);
    case Comparison::Op::gt:
      return left.gt(right);
    case Comparison::Op::ge:
      return left.ge(right);
  }
  return left.ne(left);
}

/// Equal neighbours in the sorted last dim.
bool has_ties(const at::Tensor& values) {
  const at::Tensor rows = values.dim() == 0 ? values.reshape({1}) : values;
  const std::int64_t size = rows.size(-1);
  if (size < 2 || rows.numel() == 0) return false;
  const at::Tensor sorted = std::get<0>(rows.sort(-1));
  return sorted.narrow(-1, 1, size - 1).eq(sorted.narrow(-1, 0, size - 1)).any().item<bool>();
}

/// The size that values of an index tensor must stay below.
std::optional<std::int64_t> index_limit(const at::Tensor& index, const Call& call) {
  if (const auto weight = call.tensors("weight"); !weight.empty() && call.find("indices"))
    return weight[0].dim() == 0 ? 1 : weight[0].size(0);
  const auto self = call.tensors("self");
  if (self.empty() || self[0].dim() == 0) return std::nullopt;
  if (call.find("target")) return self[0].size(self[0].dim() > 1 ? 1 : 0);
  if (const c10::IValue* dim = call.find("dim"); dim != nullptr && dim->isInt())
    return self[0].size(dim->toInt());
  // index.Tensor, index_put: the n-th index goes with the n-th dim.
  if (const c10::IValue* indices = call.find("indices");
      indices != nullptr && indices->isOptionalTensorList()) {
    std::int64_t dim = 0;
    for (const auto& one : indices->toOptionalTensorVector()) {
      if (one && one->defined() && one->is_same(index)) return self[0].size(dim);
      ++dim;
    }
  }
  return self[0].size(0);
}

bool is_index(const at::Tensor& values) {
  return values.scalar_type() == c10::kLong || values.scalar_type() == c10::kInt;
}

bool whole_tensor_has(Has has, const at::Tensor& device, const at::Tensor& values,
                      const Call& call) {
  switch (has) {
    case Has::ties:
      return has_ties(values);
    case Has::constant:
      return values.numel() > 1 && values.eq(values.reshape({-1})[0]).all().item<bool>();
    case Has::duplicate_index:
      return is_index(values) && has_ties(values.reshape({-1}));
    case Has::out_of_range: {
      if (!is_index(values) || values.numel() == 0) return false;
      const auto limit = index_limit(device, call);
      return limit && values.ge(*limit).logical_or(values.lt(-*limit)).any().item<bool>();
    }
    default:
      return false;
  }
}

}  // namespace

at::Tensor element_mask(const ElementTest& test, const at::Tensor& host) {
  at::Tensor mask = at::zeros_like(host, host.options().dtype(c10::kBool));
  for (const Has has : test.has) mask = mask.logical_or(class_mask(has, host));
  if (test.value) mask = mask.logical_or(comparison_mask(*test.value, host));
  return mask;
}

bool meets(const ElementTest& test, Range range, const at::Tensor& tensor, const Call& call) {
  at::Tensor values = host_alias(tensor);
  if (values.is_complex()) values = at::view_as_real(values.resolve_conj());
  ElementTest elementwise{{}, test.value};
  for (const Has has : test.has) {
    if (is_elementwise(has)) {
      elementwise.has.push_back(has);
    } else if (whole_tensor_has(has, tensor, values, call)) {
      return true;
    }
  }
  if (values.numel() == 0) return false;
  const at::Tensor mask = element_mask(elementwise, values);
  switch (range) {
    case Range::some:
      return mask.any().item<bool>();
    case Range::all:
      return mask.all().item<bool>();
    case Range::row:
      return mask.dim() == 0 ? mask.item<bool>() : mask.all(-1).any().item<bool>();
  }
  return false;
}

}  // namespace opreplay::sim
