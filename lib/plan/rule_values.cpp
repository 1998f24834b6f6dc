// resolve_values: which recipe a tensor argument gets.

#include <charconv>
#include <string_view>

#include "lib/plan/expression.h"
#include "lib/plan/rules.h"

namespace opreplay {
namespace {

// Standard normal for floats: zero mean and both signs, the fill that shows precision loss best
// (docs/oracle.md, "Levels"). Integers small enough for products to stay exact.
Values default_values(DType dtype) {
  Values values;
  if (dtype == DType::boolean) {
    values.dist = Dist::bernoulli;
  } else if (!is_floating(dtype) && !is_complex(dtype)) {
    const bool is_unsigned = dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 ||
                             dtype == DType::u64 || dtype == DType::quint8;
    values.dist = Dist::randint;
    values.low = is_unsigned ? 0 : -8;
    values.high = is_unsigned ? 16 : 8;
  }
  return values;
}

Values evaluate_domain(const Domain& domain, const OpCall& call, std::int64_t position,
                       const TensorDesc& desc) {
  Values values = domain.base;
  for (const auto& [key, expression] : domain.expressions) {
    const auto number = static_cast<double>(evaluate(expression, call, position));
    if (key == "mean") values.mean = number;
    if (key == "std") values.std = number;
    if (key == "low") values.low = number;
    if (key == "high") values.high = number;
    if (key == "p") values.p = number;
  }
  // Distinct numbers below `high`, as long as there are enough of them.
  if (values.dist == Dist::permutation && domain.expressions.contains("high")) {
    const auto elements = numel(desc);
    if (!elements || static_cast<double>(*elements) > values.high)
      values.dist = Dist::randint;
    else
      values.high = Values{}.high;
  }
  // An index into nothing: no value is legal, and there is rarely an element to hold one.
  if (values.dist == Dist::randint && values.high <= values.low) values.high = values.low + 1;
  return values;
}

}  // namespace

Values resolve_values(const Rule* rule, const OpCall& call, const std::string& path,
                      const TensorArg& tensor) {
  if (tensor.values) return *tensor.values;
  const auto dot = path.find('.');
  const auto domain =
      rule ? rule->domain.find(path.substr(0, dot)) : decltype(rule->domain.end()){};
  if (!rule || domain == rule->domain.end()) return default_values(tensor.desc.dtype);
  // Where an index is legal, so is a mask of truth values; no range applies to it.
  const bool mask = tensor.desc.dtype == DType::boolean;
  if (mask && domain->second.base.dist != Dist::bernoulli) return default_values(DType::boolean);
  std::int64_t position = 0;
  if (dot != std::string::npos)
    std::from_chars(path.data() + dot + 1, path.data() + path.size(), position);
  return evaluate_domain(domain->second, call, position, tensor.desc);
}

}  // namespace opreplay
