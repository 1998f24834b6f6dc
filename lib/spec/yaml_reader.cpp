#include "lib/spec/yaml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "lib/base/text.h"

namespace opreplay {

void complain(const YamlNode& node, std::string message, Diagnostics& diagnostics) {
  diagnostics.add(node.line, node.column, std::move(message));
}

void complain_expected(const YamlNode& node, std::string_view what, std::string_view expected,
                       Diagnostics& diagnostics) {
  complain(node, fmt::format("{}: expected {}, found {}", what, expected, describe(node)),
           diagnostics);
}

MapReader::MapReader(const YamlNode& node, std::string what, Diagnostics& diagnostics)
    : node_(node), what_(std::move(what)), diagnostics_(diagnostics) {
  if (!is_map()) {
    complain_expected(node, what_, "a map of keys and values", diagnostics);
    return;
  }
  std::set<std::string_view> seen;
  for (const YamlNode& key : node.keys) {
    if (!key.is_scalar())
      complain_expected(key, what_, "a word as key", diagnostics);
    else if (!seen.insert(key.text).second)
      complain(key, fmt::format("{}: key {} stands twice", what_, excerpt(key.text)), diagnostics);
  }
}

const YamlNode* MapReader::value_of(std::string_view key) const {
  for (std::size_t i = 0; i < node_.keys.size(); ++i)
    if (node_.keys[i].is_scalar() && node_.keys[i].text == key) return &node_.values[i];
  return nullptr;
}

const YamlNode* MapReader::find(std::string_view key) {
  known_.push_back(key);
  return value_of(key);
}

const YamlNode* MapReader::require(std::string_view key) {
  const YamlNode* value = find(key);
  if (!value && is_map())
    complain(node_, fmt::format("{}: key {} is missing", what_, key), diagnostics_);
  return value;
}

void MapReader::not_supported(std::string_view key, std::string_view instead) {
  refused_.push_back(key);
  if (const YamlNode* value = value_of(key))
    complain(*value,
             fmt::format("{}: key {} is not supported by this version; {}", what_, key, instead),
             diagnostics_);
}

void MapReader::finish() {
  const auto among = [](const std::vector<std::string_view>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  for (const YamlNode& key : node_.keys) {
    if (diagnostics_.full()) return;
    if (!key.is_scalar() || among(known_, key.text) || among(refused_, key.text)) continue;
    complain(key,
             fmt::format("{}: unknown key {}; expected {}{}", what_, excerpt(key.text),
                         fmt::join(known_, ", "), nearest_hint(nearest_word(key.text, known_))),
             diagnostics_);
  }
}

std::optional<std::string> read_text(const YamlNode& node, std::string_view what,
                                     Diagnostics& diagnostics) {
  if (node.is_scalar()) return node.text;
  complain_expected(node, what, "a text", diagnostics);
  return std::nullopt;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  if (text == ".nan" || text == ".NaN" || text == "nan") return std::nan("");
  if (text == ".inf" || text == "inf") return HUGE_VAL;
  if (text == "-.inf" || text == "-inf") return -HUGE_VAL;
  // from_chars also takes "infinity" and "nan(...)", which are no numbers here.
  if (text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> read_int(const YamlNode& node, std::string_view what,
                                     Diagnostics& diagnostics, std::int64_t min, std::int64_t max) {
  std::optional<std::int64_t> value;
  if (node.kind == YamlNode::Kind::plain) value = parse_int(node.text);
  if (value && *value >= min && *value <= max) return value;
  std::string expected = "a whole number";
  if (max != std::numeric_limits<std::int64_t>::max())
    expected += fmt::format(" from {} to {}", min, max);
  else if (min != std::numeric_limits<std::int64_t>::min())
    expected += fmt::format(" of at least {}", min);
  complain_expected(node, what, expected, diagnostics);
  return std::nullopt;
}

std::optional<double> read_number(const YamlNode& node, std::string_view what,
                                  Diagnostics& diagnostics) {
  if (node.kind == YamlNode::Kind::plain)
    if (const auto value = parse_number(node.text)) return value;
  complain_expected(node, what, "a number", diagnostics);
  return std::nullopt;
}

std::optional<bool> read_bool(const YamlNode& node, std::string_view what,
                              Diagnostics& diagnostics) {
  if (node.kind == YamlNode::Kind::plain && node.text == "true") return true;
  if (node.kind == YamlNode::Kind::plain && node.text == "false") return false;
  complain_expected(node, what, "true or false", diagnostics);
  return std::nullopt;
}

std::optional<std::size_t> read_word(const YamlNode& node, std::string_view what,
                                     std::span<const std::string_view> words,
                                     Diagnostics& diagnostics) {
  if (node.is_scalar()) {
    const auto found = std::find(words.begin(), words.end(), node.text);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  }
  complain(node,
           fmt::format("{}: expected one of {}, found {}{}", what, fmt::join(words, ", "),
                       describe(node),
                       node.is_scalar() ? nearest_hint(nearest_word(node.text, words)) : ""),
           diagnostics);
  return std::nullopt;
}

std::span<const YamlNode> read_list(const YamlNode& node, std::string_view what,
                                    Diagnostics& diagnostics) {
  if (node.kind == YamlNode::Kind::sequence) return node.values;
  complain_expected(node, what, "a list", diagnostics);
  return {};
}

std::vector<std::string> read_texts(const YamlNode& node, std::string_view what,
                                    Diagnostics& diagnostics) {
  std::vector<std::string> texts;
  for (const YamlNode& item : read_list(node, what, diagnostics))
    if (auto text = read_text(item, what, diagnostics)) texts.push_back(std::move(*text));
  return texts;
}

}  // namespace opreplay
