#pragma once
/// Typed values out of YAML nodes. Every problem becomes a diagnostic with its place, what was
/// expected and what was found; reading goes on, so that all problems of a file show at once.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/yaml_node.h"

namespace opreplay {

/// Adds a diagnostic at a node.
void complain(const YamlNode& node, std::string message, Diagnostics& diagnostics);
/// "<what>: expected <expected>, found <node>".
void complain_expected(const YamlNode& node, std::string_view what, std::string_view expected,
                       Diagnostics& diagnostics);

/// The keys of one map. Keys asked for are the keys allowed; `finish` reports the others.
class MapReader {
 public:
  /// A node that is no map is reported and then reads as an empty one; so are doubled keys.
  MapReader(const YamlNode& node, std::string what, Diagnostics& diagnostics);

  /// The value of `key`, or null.
  const YamlNode* find(std::string_view key);
  /// Like `find`, but a missing key is a problem.
  const YamlNode* require(std::string_view key);
  /// Reports `key`, if it is there, as a key of the format that this version cannot honour.
  void not_supported(std::string_view key, std::string_view instead);
  /// Reports every key that nobody asked for.
  void finish();

  const YamlNode& node() const { return node_; }
  bool is_map() const { return node_.kind == YamlNode::Kind::map; }

 private:
  const YamlNode* value_of(std::string_view key) const;

  const YamlNode& node_;
  std::string what_;
  Diagnostics& diagnostics_;
  std::vector<std::string_view> known_, refused_;
};

/// Any scalar as the text it was written with.
std::optional<std::string> read_text(const YamlNode& node, std::string_view what,
                                     Diagnostics& diagnostics);
/// A whole number in [min, max].
std::optional<std::int64_t> read_int(const YamlNode& node, std::string_view what,
                                     Diagnostics& diagnostics,
                                     std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                                     std::int64_t max = std::numeric_limits<std::int64_t>::max());
/// A number; `.nan`, `.inf`, `-.inf` (also without the dot) included.
std::optional<double> read_number(const YamlNode& node, std::string_view what,
                                  Diagnostics& diagnostics);
/// `true` or `false`, plain.
std::optional<bool> read_bool(const YamlNode& node, std::string_view what,
                              Diagnostics& diagnostics);
/// One of `words`, by its index.
std::optional<std::size_t> read_word(const YamlNode& node, std::string_view what,
                                     std::span<const std::string_view> words,
                                     Diagnostics& diagnostics);
/// The elements of a list; anything else is reported and gives none.
std::span<const YamlNode> read_list(const YamlNode& node, std::string_view what,
                                    Diagnostics& diagnostics);
/// A list of texts.
std::vector<std::string> read_texts(const YamlNode& node, std::string_view what,
                                    Diagnostics& diagnostics);

/// Whole-string conversions without locale; nothing if `text` is anything but one number.
std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<double> parse_number(std::string_view text);

}  // namespace opreplay
