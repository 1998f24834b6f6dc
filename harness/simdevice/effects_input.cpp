// Effects on what a kernel reads: strides and offsets ignored, values rounded or mapped, another
// dtype, another writer for duplicate indices.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "harness/simdevice/alias.h"
#include "harness/simdevice/call.h"
#include "harness/simdevice/effects.h"
#include "harness/simdevice/values.h"
#include "lib/torch/dtype_map.h"

namespace opreplay::sim {
namespace {

using c10::IValue;
using Change = std::function<at::Tensor(const at::Tensor& host)>;

/// The value with every tensor replaced by a device copy of `change(its CPU side)`.
IValue with_changed_tensors(const IValue& value, const Change& change) {
  return with_tensors(value, [&](const at::Tensor& tensor) {
    return tensor.defined() ? to_device(change(host_alias(tensor))) : tensor;
  });
}

bool is_integer(const at::Tensor& tensor) {
  return c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
}

/// Casts the tensors (and dtype arguments) that are of the same kind as `to`.
IValue in_dtype(const IValue& value, const c10::Argument& argument, c10::ScalarType to) {
  const bool floating = c10::isFloatingType(to);
  if (value.isInt() && names_dtype(argument)) {
    const auto named = static_cast<c10::ScalarType>(value.toInt());
    const bool same_kind =
        floating ? c10::isFloatingType(named) : c10::isIntegralType(named, /*includeBool=*/false);
    return same_kind ? IValue(static_cast<std::int64_t>(to)) : value;
  }
  return with_changed_tensors(value, [&](const at::Tensor& host) {
    const bool same_kind = floating ? host.is_floating_point() : is_integer(host);
    return same_kind ? host.to(to, /*non_blocking=*/false, /*copy=*/true) : host.clone();
  });
}

/// Index, source and values reversed along the dim they run over: of several writers to one place,
/// another comes last.
IValue reversed_writers(const IValue& value, const std::string& name, std::int64_t dim) {
  if (name != "index" && name != "src" && name != "source" && name != "values" && name != "indices")
    return with_changed_tensors(value, [](const at::Tensor& host) { return host.clone(); });
  return with_changed_tensors(value, [&](const at::Tensor& host) {
    if (host.dim() == 0) return host.clone();
    return host.flip({host.dim() > dim ? dim : 0});
  });
}

/// `tensor` as read by a kernel that takes it for dense or for starting at its storage's begin.
/// Memory beyond the storage reads as zero.
at::Tensor seen_wrongly(const at::Tensor& tensor, bool ignore_stride, bool ignore_offset) {
  const at::Tensor host = host_alias(tensor);
  std::vector<std::int64_t> strides = host.strides().vec();
  if (ignore_stride)
    for (std::int64_t dim = host.dim(), next = 1; dim-- > 0;) {
      strides[static_cast<std::size_t>(dim)] = next;
      next *= std::max<std::int64_t>(host.size(dim), 1);
    }
  const std::int64_t offset = ignore_offset ? 0 : host.storage_offset();
  if (host.numel() == 0) return tensor;
  std::int64_t last = offset;
  for (std::int64_t dim = 0; dim < host.dim(); ++dim)
    last += (host.size(dim) - 1) * strides[static_cast<std::size_t>(dim)];
  const auto held = static_cast<std::int64_t>(host.storage().nbytes() / host.itemsize());
  if (last < held) return tensor.as_strided(host.sizes(), strides, offset);
  at::Tensor padded = at::zeros({last + 1}, host.options());
  std::memcpy(padded.mutable_data_ptr(), host.storage().data(), host.storage().nbytes());
  return to_device(padded.as_strided(host.sizes(), strides, offset).clone());
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::int64_t writer_dim(const Call& call) {
  const IValue* dim = call.find("dim");
  const auto self = call.tensors("self");
  if (dim == nullptr || !dim->isInt() || self.empty()) return 0;
  return dim->toInt() < 0 ? dim->toInt() + self[0].dim() : dim->toInt();
}

}  // namespace

std::vector<IValue> misread(const Fault& fault, const Call& call, std::vector<IValue> args) {
  const Ignore* effect = find_effect<Ignore>(fault);
  if (effect == nullptr) return args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const c10::Argument& argument = call.schema().arguments()[i];
    if (contains(effect->scalars, argument.name()) && argument.default_value())
      args[i] = *argument.default_value();
    const bool stride = contains(effect->stride, argument.name());
    const bool offset = contains(effect->offset, argument.name());
    if ((stride || offset) && args[i].isTensor() && args[i].toTensor().defined())
      args[i] = seen_wrongly(args[i].toTensor(), stride, offset);
  }
  return args;
}

std::optional<std::vector<IValue>> changed_copies(const Fault& fault, const Call& call) {
  const auto* round = find_effect<RoundInputs>(fault);
  const auto* map = find_effect<MapInput>(fault);
  const auto* as_dtype = find_effect<AsDType>(fault);
  const auto* accumulate = find_effect<AccumulateIn>(fault);
  const bool narrow_integers = find_effect<Saturate>(fault) != nullptr ||
                               (accumulate != nullptr && !is_floating(accumulate->dtype));
  const bool other_writer = find_effect<PickOther>(fault) != nullptr;
  if (round == nullptr && map == nullptr && as_dtype == nullptr && !narrow_integers &&
      !other_writer)
    return std::nullopt;

  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  std::vector<IValue> args = call.args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const c10::Argument& argument = call.schema().arguments()[i];
    args[i] = with_changed_tensors(args[i], [&](const at::Tensor& host) {
      at::Tensor values = host.clone();
      if (map != nullptr) values = with_classes_mapped(map->map, values);
      if (round != nullptr && values.is_floating_point())
        values = with_mantissa(values, round->mantissa);
      return values;
    });
    if (as_dtype != nullptr) args[i] = in_dtype(args[i], argument, to_torch(as_dtype->dtype));
    if (narrow_integers) args[i] = in_dtype(args[i], argument, c10::kLong);
    if (other_writer) args[i] = reversed_writers(args[i], argument.name(), writer_dim(call));
  }
  return args;
}

at::Tensor narrowed(const Fault& fault, const at::Tensor& values, c10::ScalarType dtype) {
  const auto* accumulate = find_effect<AccumulateIn>(fault);
  if (!is_integer(values)) return values.to(dtype);
  const c10::ScalarType held = accumulate != nullptr && !is_floating(accumulate->dtype)
                                   ? to_torch(accumulate->dtype)
                                   : dtype;
  at::Tensor result = values;
  if (find_effect<Saturate>(fault) != nullptr)
    result = result.clamp(scalar_for({FillValue::Kind::min, 0}, held),
                          scalar_for({FillValue::Kind::max, 0}, held));
  return result.to(held).to(dtype);
}

}  // namespace opreplay::sim
