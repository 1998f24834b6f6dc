#pragma once
/// YAML as plain data with positions: what a file says before anyone interprets it.
/// Plain and quoted scalars stay apart (`no` is text, never a guessed bool). Hostile input is
/// refused while it is parsed: depth, number of nodes, aliases that multiply, tags.
/// Next: yaml_reader.h reads typed values from it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/diagnostics.h"

namespace opreplay {

struct YamlNode {
  enum class Kind : std::uint8_t { null, plain, quoted, sequence, map };

  Kind kind = Kind::null;
  int line = 0, column = 0;      ///< 1-based
  std::string text;              ///< of a scalar
  std::vector<YamlNode> values;  ///< elements of a sequence, values of a map
  std::vector<YamlNode> keys;    ///< of a map, as many as values

  bool is_scalar() const { return kind == Kind::plain || kind == Kind::quoted; }
};

struct YamlLimits {
  int max_depth = 32;
  std::size_t max_nodes = std::size_t{1} << 20;  ///< aliases count as what they stand for
};

/// Parses a text of exactly one document; problems go to `diagnostics`, then nothing is returned.
std::optional<YamlNode> parse_yaml(std::string_view text, Diagnostics& diagnostics,
                                   const YamlLimits& limits = {});

/// What a node is, for messages: "a map", "nothing", "'text'".
std::string describe(const YamlNode& node);

/// Reads a whole regular file of at most `max_bytes`; a file that is larger, unreadable or no
/// regular file is reported and gives nothing.
std::optional<std::string> read_text_file(const std::string& file, std::int64_t max_bytes,
                                          Diagnostics& diagnostics);

}  // namespace opreplay
