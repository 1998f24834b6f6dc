#include "harness/simdevice/yaml_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "opreplay/error.h"

namespace opreplay::sim {
namespace {

/// Levenshtein distance, one row at a time.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string describe(const YAML::Node& node) {
  if (!node.IsDefined() || node.IsNull()) return "nothing";
  if (node.IsScalar()) return "'" + node.Scalar() + "'";
  return node.IsSequence() ? "a list" : "a mapping";
}

}  // namespace

std::optional<double> parse_number(const std::string& text) {
  if (text == "nan" || text == ".nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf" || text == ".inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf" || text == "-.inf") return -std::numeric_limits<double>::infinity();
  if (text.empty() || text.find_first_not_of("+-.0123456789eE") != std::string::npos)
    return std::nullopt;
  std::size_t used = 0;
  try {
    const double number = std::stod(text, &used);
    if (used == text.size()) return number;
  } catch (const std::exception&) {  // no digits, or out of a double's range
  }
  return std::nullopt;
}

void YamlReader::problem(const YAML::Node& at, const std::string& text) {
  std::string where = file_;
  if (const YAML::Mark mark = at.Mark(); !mark.is_null())
    where += ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
  problems_.push_back(where + ": " + text);
}

void YamlReader::expected(const YAML::Node& at, const std::string& what) {
  problem(at, "expected " + what + ", found " + describe(at));
}

void YamlReader::unknown(const YAML::Node& at, const std::string& what,
                         const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  std::string text = "unknown " + what + " " + describe(at) + ": expected one of " + list;
  if (at.IsScalar() && !known.empty()) {
    const auto nearest = std::min_element(
        known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
          return distance(a, at.Scalar()) < distance(b, at.Scalar());
        });
    // A word of which more than half must change is no typing error.
    if (distance(*nearest, at.Scalar()) * 2 <= at.Scalar().size())
      text += "; did you mean '" + *nearest + "'?";
  }
  problem(at, text);
}

void YamlReader::each(
    const YAML::Node& node, const std::string& what,
    const std::function<void(const std::string& key, const YAML::Node& value)>& read) {
  if (!node.IsMap()) return expected(node, what);
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      expected(entry.first, "a word as key");
    } else if (!seen.insert(entry.first.Scalar()).second) {
      problem(entry.first, "repeated key '" + entry.first.Scalar() + "': give it once");
    } else {
      read(entry.first.Scalar(), entry.second);
    }
  }
}

void YamlReader::map(const YAML::Node& node, const std::string& what, const Keys& keys) {
  if (!node.IsMap()) return expected(node, what);
  std::vector<std::string> known;
  for (const auto& [name, read] : keys) known.push_back(name);
  for (const auto& entry : node)
    if (entry.first.IsScalar() && !keys.contains(entry.first.Scalar()))
      unknown(entry.first, "key", known);
  each(node, what, [&](const std::string& key, const YAML::Node& value) {
    if (const auto found = keys.find(key); found != keys.end()) found->second(value);
  });
}

void YamlReader::items(const YAML::Node& node, const Read& read) {
  if (!node.IsSequence()) return read(node);
  for (const YAML::Node& item : node) read(item);
}

std::optional<std::string> YamlReader::text(const YAML::Node& node, const std::string& what) {
  if (node.IsScalar() && !node.Scalar().empty()) return node.Scalar();
  expected(node, what);
  return std::nullopt;
}

std::optional<double> YamlReader::number(const YAML::Node& node, const std::string& what) {
  if (node.IsScalar())
    if (const auto number = parse_number(node.Scalar())) return number;
  expected(node, what);
  return std::nullopt;
}

std::optional<std::int64_t> YamlReader::integer(const YAML::Node& node, const std::string& what,
                                                std::int64_t least) {
  constexpr double k_exact = 9007199254740992.0;  // 2^53: larger doubles skip integers
  if (node.IsScalar()) {
    const auto number = parse_number(node.Scalar());
    if (number && std::floor(*number) == *number && std::abs(*number) <= k_exact &&
        *number >= static_cast<double>(least))
      return static_cast<std::int64_t>(*number);
  }
  expected(node, what);
  return std::nullopt;
}

std::optional<bool> YamlReader::flag(const YAML::Node& node, const std::string& what) {
  if (node.IsScalar() && node.Scalar() == "true") return true;
  if (node.IsScalar() && node.Scalar() == "false") return false;
  expected(node, what);
  return std::nullopt;
}

void YamlReader::finish() const {
  if (problems_.empty()) return;
  std::string all;
  for (const std::string& one : problems_) all += (all.empty() ? "" : "\n") + one;
  throw Error(ExitCode::invalid_input, all);
}

}  // namespace opreplay::sim
