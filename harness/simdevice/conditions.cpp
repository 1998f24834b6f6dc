#include "harness/simdevice/conditions.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <functional>

#include "harness/simdevice/device.h"
#include "lib/torch/dtype_map.h"
#include "opreplay/dtype.h"

namespace opreplay::sim {
namespace {

bool has_trait(const at::Tensor& tensor, Trait trait) {
  switch (trait) {
    case Trait::empty:
      return tensor.numel() == 0;
    case Trait::contiguous:
      return tensor.is_contiguous();
    case Trait::offset:
      return tensor.storage_offset() != 0;
    case Trait::stride0:
      for (std::int64_t dim = 0; dim < tensor.dim(); ++dim)
        if (tensor.stride(dim) == 0 && tensor.size(dim) > 1) return true;
      return false;
    case Trait::channels_last:
      if (tensor.dim() == 4) return tensor.is_contiguous(c10::MemoryFormat::ChannelsLast);
      if (tensor.dim() == 5) return tensor.is_contiguous(c10::MemoryFormat::ChannelsLast3d);
      return false;
  }
  return false;
}

std::optional<double> number_of(const c10::IValue& value) {
  if (value.isBool()) return value.toBool() ? 1.0 : 0.0;
  if (value.isInt()) return static_cast<double>(value.toInt());
  if (value.isDouble()) return value.toDouble();
  return std::nullopt;
}

bool equals(const Literal& literal, const c10::IValue& value, const c10::Argument& argument);

struct LiteralEquals {
  const c10::IValue& value;
  const c10::Argument& argument;

  bool operator()(std::monostate) const { return value.isNone(); }
  bool operator()(bool flag) const { return number_of(value) == (flag ? 1.0 : 0.0); }
  bool operator()(double number) const { return number_of(value) == number; }
  bool operator()(const Comparison& comparison) const {
    const auto number = number_of(value);
    return number && comparison.holds(*number);
  }
  bool operator()(const std::string& text) const {
    if (value.isString()) return value.toStringRef() == text;
    // A dtype argument travels as torch's number.
    const auto dtype = parse_dtype(text);
    return dtype && value.isInt() && names_dtype(argument) &&
           value.toInt() == static_cast<std::int64_t>(to_torch(*dtype));
  }
  bool operator()(const std::vector<Literal>& list) const {
    if (!value.isList()) return false;
    const auto items = value.toListRef();
    return std::equal(
        list.begin(), list.end(), items.begin(), items.end(),
        [&](const Literal& one, const c10::IValue& item) { return equals(one, item, argument); });
  }
};

bool equals(const Literal& literal, const c10::IValue& value, const c10::Argument& argument) {
  return std::visit(LiteralEquals{value, argument}, literal.data);
}

/// One condition against one call.
struct Holds {
  const Fault& fault;
  const Call& call;
  bool assume_backward;

  template <class Test>
  bool some(const std::string& arg, Test test) const {
    const auto tensors = call.tensors(arg);
    return std::any_of(tensors.begin(), tensors.end(), test);
  }

  bool operator()(const DTypeIs& c) const {
    return some(c.arg, [&](const at::Tensor& t) {
      const auto dtype = from_torch(t.scalar_type());
      return dtype && std::find(c.any_of.begin(), c.any_of.end(), *dtype) != c.any_of.end();
    });
  }
  bool operator()(const NumelIs& c) const {
    return some(c.arg,
                [&](const at::Tensor& t) { return c.is.holds(static_cast<double>(t.numel())); });
  }
  bool operator()(const RankIs& c) const {
    return some(c.arg,
                [&](const at::Tensor& t) { return c.is.holds(static_cast<double>(t.dim())); });
  }
  bool operator()(const SizeIs& c) const {
    return some(c.arg, [&](const at::Tensor& t) { return size_holds(t.sizes(), c.dim, c.is); });
  }
  bool operator()(const OutSizeIs& c) const { return size_holds(call.result_sizes(), c.dim, c.is); }
  bool operator()(const TraitIs& c) const {
    return some(c.arg, [&](const at::Tensor& t) { return has_trait(t, c.trait) == c.expected; });
  }
  bool operator()(const MisalignedTo& c) const {
    return some(c.arg, [&](const at::Tensor& t) {
      const auto address = reinterpret_cast<std::uintptr_t>(t.const_data_ptr());
      return address % static_cast<std::uintptr_t>(c.bytes) != 0;
    });
  }
  bool operator()(const ElementIs& c) const {
    return some(c.arg, [&](const at::Tensor& t) { return meets(c.test, c.range, t, call); });
  }
  bool operator()(const ArgumentIs& c) const {
    for (std::size_t i = 0; i < call.args.size(); ++i)
      if (call.schema().arguments()[i].name() == c.arg)
        return equals(c.is, call.args[i], call.schema().arguments()[i]);
    return false;
  }
  bool operator()(const PresentIs& c) const {
    const c10::IValue* value = call.find(c.arg);
    const bool present = value != nullptr && !value->isNone() &&
                         !(value->isTensor() && !value->toTensor().defined());
    return present == c.expected;
  }
  bool operator()(const CallIs& c) const {
    return c.number.holds(static_cast<double>(call.entry.number));
  }
  bool operator()(const AfterOp& c) const { return matches_glob(c.pattern, call.entry.previous); }
  bool operator()(const GradIs& c) const {
    const bool enabled = c10::GradMode::is_enabled();
    const bool wanted =
        some(c.arg, [&](const at::Tensor& t) { return enabled && t.requires_grad(); });
    return wanted == c.expected;
  }
  bool operator()(const InPlaceIs& c) const {
    const auto& arguments = call.schema().arguments();
    const bool inplace =
        !arguments.empty() && is_written(arguments[0]) && !arguments[0].kwarg_only();
    return inplace == c.expected;
  }
  bool operator()(const PhaseIs& c) const {
    return c.backward == (call.backward || assume_backward);
  }
  bool operator()(const Chance& c) const {
    const std::uint64_t key = mix(std::hash<std::string>{}(fault.name), call.entry.serial);
    // The top 53 bits as a number in [0, 1).
    const double drawn = static_cast<double>(mix(process_state().nonce(), key) >> 11) * 0x1.0p-53;
    return drawn < c.probability;
  }
  bool operator()(const ReducedIs& c) const {
    const auto length = reduced_length(call);
    return length && c.length.holds(static_cast<double>(*length));
  }
  bool operator()(const HistoryHas& c) const {
    const Signature now = signature_of(call.args);
    const OpPast& past = call.entry.past;
    switch (c.past) {
      case Past::other_shape:
        return differs(past.shapes, now.shape);
      case Past::other_dtype:
        return differs(past.dtypes, now.dtype);
      case Past::other_scalar:
        return differs(past.scalars, now.scalar);
    }
    return false;
  }

 private:
  static bool size_holds(c10::IntArrayRef sizes, std::int64_t dim, const Comparison& is) {
    const auto rank = static_cast<std::int64_t>(sizes.size());
    const std::int64_t index = dim < 0 ? dim + rank : dim;
    return index >= 0 && index < rank &&
           is.holds(static_cast<double>(sizes[static_cast<std::size_t>(index)]));
  }
  static bool differs(const std::set<std::uint64_t>& earlier, std::uint64_t now) {
    return std::any_of(earlier.begin(), earlier.end(),
                       [&](std::uint64_t other) { return other != now; });
  }
};

}  // namespace

bool applies(const Fault& fault, const Call& call, bool assume_backward) {
  const Holds holds{fault, call, assume_backward};
  return std::all_of(fault.when.begin(), fault.when.end(),
                     [&](const Condition& condition) { return std::visit(holds, condition); });
}

}  // namespace opreplay::sim
