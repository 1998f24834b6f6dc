#pragma once
/// Reads value recipes (`values:` of a tensor, `domain:` of a rule) from YAML.
/// Format: docs/spec-format.md "Values".

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/spec/yaml_reader.h"
#include "opreplay/call.h"

namespace opreplay {

/// Words of the format, in the order of the enums Dist and Where (Where::index has none).
inline constexpr std::array<std::string_view, 7> k_dist_words = {
    "normal", "uniform", "randint", "bernoulli", "permutation", "labels", "signs"};
inline constexpr std::array<std::string_view, 5> k_where_words = {"first", "middle", "last", "all",
                                                                  "one_per_row"};

/// What a recipe belongs to.
struct ValuesContext {
  /// Literal data and places are checked against it; null = geometry unknown, then neither is
  /// allowed.
  const TensorDesc* desc = nullptr;
  /// `file:` must lie inside; null = no files.
  const std::filesystem::path* folder = nullptr;
  /// Called for a parameter that is no number; null = that is a problem.
  std::function<void(const std::string& key, const YamlNode& node)> expression;
};

/// Reads a recipe; what is wrong with it goes to `diagnostics`.
Values read_values(const YamlNode& node, const std::string& what, const ValuesContext& context,
                   Diagnostics& diagnostics);

}  // namespace opreplay
