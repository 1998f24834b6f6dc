#include "harness/simdevice/round_once.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "harness/simdevice/call.h"
#include "harness/simdevice/kernels.h"
#include "harness/simdevice/own_kernels.h"

namespace opreplay::sim {
namespace {

using c10::IValue;

bool is_half(c10::ScalarType type) { return type == c10::kHalf || type == c10::kBFloat16; }
bool is_half(const at::Tensor& tensor) { return is_half(tensor.scalar_type()); }

bool any_half(c10::ArrayRef<IValue> values) {
  return std::any_of(values.begin(), values.end(), [](const IValue& value) {
    const auto tensors = tensors_of(value);
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const at::Tensor& tensor) { return is_half(tensor); });
  });
}

/// The memory that a tensor reaches, gaps included, as a dense tensor on it.
at::Tensor reach_of(const at::Tensor& tensor) {
  std::int64_t reach = tensor.numel() == 0 ? 0 : 1;
  for (std::int64_t d = 0; d < tensor.dim() && reach > 0; ++d)
    reach += (tensor.size(d) - 1) * tensor.stride(d);
  return tensor.as_strided({reach}, {1});
}

/// A copy of the value in which nothing is half, laid out as it is: strides choose code paths, and
/// elements may share memory. What the call may write is a copy too: its schema does not mark
/// everything (running statistics).
IValue widened(const IValue& value, const c10::Argument& argument) {
  if (value.isInt() && names_dtype(argument) &&
      is_half(static_cast<c10::ScalarType>(value.toInt())))
    return static_cast<std::int64_t>(c10::kFloat);
  const bool written = is_written(argument);
  return with_tensors(value, [&](const at::Tensor& tensor) {
    if (!tensor.defined() || !(tensor.is_floating_point() || written)) return tensor;
    const auto type = is_half(tensor) ? c10::kFloat : tensor.scalar_type();
    at::Tensor wide = reach_of(tensor)
                          .to(type, /*non_blocking=*/false, /*copy=*/true)
                          .as_strided(tensor.sizes(), tensor.strides(), 0);
    // A number in a tensor's place takes part in type promotion as a number.
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
      wide.unsafeGetTensorImpl()->set_wrapped_number(true);
    return wide;
  });
}

std::vector<IValue> widened(const c10::FunctionSchema& schema, c10::ArrayRef<IValue> values) {
  std::vector<IValue> out;
  for (std::size_t i = 0; i < values.size(); ++i)
    out.push_back(widened(values[i], schema.arguments()[i]));
  return out;
}

bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == b.nbytes() &&
         (a.nbytes() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0);
}

/// Rounds every tensor of `wide` into its half twin in `narrow`.
void round_results(c10::ArrayRef<IValue> wide, c10::ArrayRef<IValue> narrow) {
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    const auto from = tensors_of(wide[i]), to = tensors_of(narrow[i]);
    for (std::size_t t = 0; t < to.size(); ++t)
      if (is_half(to[t]) && to[t].numel() > 0) to[t].copy_(from[t]);
  }
}

/// Likewise for arguments, but only those that the kernel changed: running statistics are written
/// without a mark in the schema.
void round_changed(c10::ArrayRef<IValue> before, c10::ArrayRef<IValue> after,
                   c10::ArrayRef<IValue> narrow) {
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    const auto old_values = tensors_of(before[i]), values = tensors_of(after[i]),
               to = tensors_of(narrow[i]);
    for (std::size_t t = 0; t < to.size(); ++t) {
      if (!is_half(to[t])) continue;
      const at::Tensor now = reach_of(values[t]);
      if (!same_bytes(reach_of(old_values[t]), now)) reach_of(to[t]).copy_(now);
    }
  }
}

}  // namespace

bool has_values_to_round(const c10::OperatorHandle& op) {
  static const std::set<std::string> moves_or_asks_dtype{
      "aten::copy_",      "aten::_to_copy",      "aten::clone",      "aten::resize_",
      "aten::nextafter",  "aten::nextafter.out", "aten::nan_to_num", "aten::nan_to_num.out",
      "aten::nextafter_", "aten::nan_to_num_"};
  if (moves_or_asks_dtype.contains(qualified_name(op))) return false;
  if (op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  const auto& returns = op.schema().returns();
  return std::none_of(returns.begin(), returns.end(), [](const c10::Argument& result) {
    return result.alias_info() != nullptr && !result.alias_info()->isWrite();
  });
}

void run_rounded_once(const c10::OperatorHandle& op, torch::jit::Stack& host, StackKernel kernel) {
  if (current_arithmetic().narrow_intermediates || !any_half(host)) return kernel(op, host);
  const std::vector<IValue> given(host.begin(), host.end());
  const std::vector<IValue> before = widened(op.schema(), given);
  const std::vector<IValue> wide = widened(op.schema(), given);
  torch::jit::Stack again(wide.begin(), wide.end());
  kernel(op, host);  // checks, shapes, dtypes, and every value that is not half
  if (!any_half(host) && !any_half(given)) return;
  kernel(op, again);
  round_results(again, host);
  round_changed(before, wide, given);
}

}  // namespace opreplay::sim
