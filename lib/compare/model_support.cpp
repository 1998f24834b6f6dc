#include "lib/compare/model_support.h"

#include <charconv>

#include "opreplay/error.h"

namespace opreplay {

Roundoff roundoff(DType dtype) {
  const FloatFormat format = float_format(dtype);
  const bool wide = format.precision > 24;
  const FloatFormat accumulator = wide ? format : float_format(DType::f32);
  const double u = std::ldexp(1, -accumulator.precision);
  const double tiny = std::ldexp(1, accumulator.min_exponent);
  return {u,    2 * u,        std::ldexp(1, -format.precision),
          tiny, tiny * 2 * u, format.precision < accumulator.precision};
}

double deviations(std::size_t outputs) {
  const double n = outputs == 0 ? 1 : static_cast<double>(outputs);
  return std::sqrt(2 * std::log(2 * n / 1e-9));
}

double number_attribute(const Evidence& evidence, const std::string& name, double otherwise) {
  const auto found = evidence.attributes.find(name);
  if (found == evidence.attributes.end()) return otherwise;
  const std::string& text = found->second;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Error(ExitCode::invalid_input, "oracle attribute '" + name +
                                             "': expected a number, found '" + text +
                                             "'; correct the rule of this operator");
  return value;
}

std::string word_attribute(const Evidence& evidence, const std::string& name,
                           const std::string& otherwise) {
  const auto found = evidence.attributes.find(name);
  return found == evidence.attributes.end() ? otherwise : found->second;
}

std::optional<double> scalar(const Evidence& evidence, const std::string& name) {
  const auto found = evidence.scalars.find(name);
  if (found == evidence.scalars.end() || found->second.empty()) return std::nullopt;
  return found->second.front();
}

const Array* find_input(const Evidence& evidence, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = evidence.inputs.find(name);
    if (found != evidence.inputs.end()) return &found->second;
  }
  return nullptr;
}

const Array& need_input(const Evidence& evidence, std::initializer_list<const char*> names,
                        std::string_view model) {
  if (const Array* input = find_input(evidence, names)) return *input;
  std::string expected;
  for (const char* name : names)
    expected += (expected.empty() ? "'" : " or '") + std::string(name) + "'";
  throw Error(ExitCode::invalid_input, "oracle model '" + std::string(model) +
                                           "': expected an argument " + expected +
                                           ", found none; correct the rule of this operator");
}

const Array& need_like_output(const Evidence& evidence, std::string_view model) {
  const Array& input = need_input(evidence, {"self", "input"}, model);
  if (input.data.size() != evidence.reference.data.size())
    throw Error(ExitCode::invalid_input,
                "oracle model '" + std::string(model) + "': expected an output of " +
                    std::to_string(input.data.size()) + " elements as its input has, found " +
                    std::to_string(evidence.reference.data.size()) +
                    "; correct the rule of this operator");
  return input;
}

Rows rows_along(const std::vector<std::int64_t>& sizes, std::int64_t dim) {
  Rows rows;
  if (sizes.empty()) return rows;
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const std::int64_t at = dim < 0 ? dim + rank : dim;
  if (at < 0 || at >= rank)
    throw Error(ExitCode::invalid_input,
                "oracle: reduced dim " + std::to_string(dim) + " is outside a tensor of rank " +
                    std::to_string(rank) + "; correct `reduce` in the rule of this operator");
  for (std::int64_t d = 0; d < rank; ++d) {
    const auto size = static_cast<std::size_t>(sizes[static_cast<std::size_t>(d)]);
    (d < at ? rows.outer : d == at ? rows.length : rows.inner) *= size;
  }
  return rows;
}

std::int64_t reduced_dim(const Evidence& evidence) {
  const auto found = evidence.attributes.find("reduce");
  if (found == evidence.attributes.end()) return -1;
  if (const auto value = scalar(evidence, found->second)) return static_cast<std::int64_t>(*value);
  return static_cast<std::int64_t>(number_attribute(evidence, "reduce", -1));
}

Groups groups_over(const std::vector<std::int64_t>& sizes, const std::vector<double>& dims) {
  const auto rank = static_cast<std::int64_t>(sizes.size());
  std::vector<bool> reduced(sizes.size(), dims.empty());
  for (const double dim : dims) {
    const auto given = static_cast<std::int64_t>(dim), at = given < 0 ? given + rank : given;
    if (rank == 0 && (at == 0 || at == -1)) continue;
    if (at < 0 || at >= rank)
      throw Error(ExitCode::invalid_input,
                  "oracle: reduced dim " + std::to_string(given) + " is outside a tensor of rank " +
                      std::to_string(rank) + "; correct `reduce` in the rule of this operator");
    reduced[static_cast<std::size_t>(at)] = true;
  }
  Groups groups;
  std::size_t elements = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const auto size = static_cast<std::size_t>(sizes[d]);
    (reduced[d] ? groups.length : groups.count) *= size;
    elements *= size;
  }
  groups.of.resize(elements);
  std::vector<std::size_t> strides(sizes.size(), 0);
  std::size_t stride = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (reduced[d]) continue;
    strides[d] = stride;
    stride *= static_cast<std::size_t>(sizes[d]);
  }
  for (std::size_t i = 0; i < elements; ++i) {
    std::size_t rest = i, group = 0;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      const auto size = static_cast<std::size_t>(sizes[d]);
      group += rest % size * strides[d];
      rest /= size;
    }
    groups.of[i] = group;
  }
  return groups;
}

std::vector<double> reduced_dims(const Evidence& evidence) {
  const auto found = evidence.attributes.find("reduce");
  if (found == evidence.attributes.end()) return {};
  const auto argument = evidence.scalars.find(found->second);
  if (argument != evidence.scalars.end()) return argument->second;
  // An optional argument that is absent reduces everything.
  const bool number = found->second.find_first_not_of("-0123456789") == std::string::npos;
  return number ? std::vector<double>{number_attribute(evidence, "reduce", -1)}
                : std::vector<double>{};
}

Exponentials exponentials(const std::vector<double>& x, const Rows& rows, std::size_t row) {
  Exponentials out;
  const std::size_t begin = rows.begin(row);
  for (std::size_t k = 0; k < rows.length; ++k)
    out.max = std::max(out.max, x[begin + k * rows.inner]);
  double sum = 0, weighted = 0;
  for (std::size_t k = 0; k < rows.length; ++k) {
    const double d = out.max - x[begin + k * rows.inner], e = std::exp(-d);
    sum += e;
    if (e > 0) weighted += e * d;  // a masked element weighs nothing
  }
  out.log_sum = std::log(sum);
  out.weighted = weighted / sum;
  return out;
}

}  // namespace opreplay
