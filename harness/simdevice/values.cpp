#include "harness/simdevice/values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/simdevice/conditions.h"
#include "lib/torch/dtype_map.h"

namespace opreplay::sim {
namespace {

struct Limits {
  double min, max;
};

Limits limits_of(c10::ScalarType type) {
  const auto dtype = from_torch(type);
  if (dtype && (is_floating(*dtype) || is_complex(*dtype))) {
    const double max = float_format(*dtype).max;
    return {-max, max};
  }
  const double bits = static_cast<double>(c10::elementSize(type) * 8);
  switch (type) {
    case c10::kBool:
      return {0, 1};
    case c10::kByte:
    case c10::kUInt16:
    case c10::kUInt32:
    case c10::kUInt64:
      return {0, std::ldexp(1.0, static_cast<int>(bits)) - 1};
    default:
      return {-std::ldexp(1.0, static_cast<int>(bits) - 1),
              std::ldexp(1.0, static_cast<int>(bits) - 1) - 1};
  }
}

Has as_has(ValueClass which) {
  switch (which) {
    case ValueClass::nan:
      return Has::nan;
    case ValueClass::inf:
      return Has::inf;
    case ValueClass::neg_inf:
      return Has::neg_inf;
    case ValueClass::neg_zero:
      return Has::neg_zero;
    case ValueClass::denormal:
      return Has::denormal;
  }
  return Has::nan;
}

}  // namespace

c10::Scalar scalar_for(const FillValue& value, c10::ScalarType type) {
  const Limits limits = limits_of(type);
  double number = value.number;
  if (value.kind == FillValue::Kind::max) number = limits.max;
  if (value.kind == FillValue::Kind::min) number = limits.min;
  if (c10::isFloatingType(type) || c10::isComplexType(type)) return number;
  if (std::isnan(number)) return std::int64_t{0};
  // As doubles, the extremes of i64 and u64 are powers of two beyond the last value.
  if (number >= 0x1p63)
    return type == c10::kUInt64 ? c10::Scalar(std::numeric_limits<std::uint64_t>::max())
                                : c10::Scalar(std::numeric_limits<std::int64_t>::max());
  if (number <= -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(std::min(std::max(number, limits.min), limits.max));
}

at::Tensor with_classes_mapped(const ClassMap& map, const at::Tensor& host) {
  at::Tensor result = host.clone();
  for (const auto& [from, to] : map)
    result.masked_fill_(element_mask({{as_has(from)}, std::nullopt}, host),
                        scalar_for(to, host.scalar_type()));
  return result;
}

at::Tensor with_mantissa(const at::Tensor& host, int bits) {
  at::Tensor wide = host.to(c10::kDouble, /*non_blocking=*/false, /*copy=*/true).contiguous();
  double* values = wide.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    if (!std::isfinite(values[i])) continue;
    int exponent = 0;
    // A fraction in [0.5, 1): one implicit and `bits` explicit digits.
    const double digits = std::ldexp(std::frexp(values[i], &exponent), bits + 1);
    values[i] = std::ldexp(std::nearbyint(digits), exponent - bits - 1);
  }
  return wide.to(host.scalar_type());
}

}  // namespace opreplay::sim
