#pragma once
/// Walks a YAML file and collects every problem with its position, so that a person mends a file
/// in one go. Unknown keys are problems; each names the nearest known one.

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace opreplay::sim {

class YamlReader {
 public:
  using Read = std::function<void(const YAML::Node&)>;
  using Keys = std::map<std::string, Read>;

  explicit YamlReader(std::string file) : file_(std::move(file)) {}

  /// Notes "file:line:column: text".
  void problem(const YAML::Node& at, const std::string& text);
  /// "expected WHAT, found ..."
  void expected(const YAML::Node& at, const std::string& what);
  /// "unknown WHAT 'x': expected one of ...; did you mean 'y'?"
  void unknown(const YAML::Node& at, const std::string& what,
               const std::vector<std::string>& known);

  /// Calls the reader of every key of a mapping; unknown and repeated keys are problems.
  void map(const YAML::Node& node, const std::string& what, const Keys& keys);
  /// The same for keys that the file makes up (argument names).
  void each(const YAML::Node& node, const std::string& what,
            const std::function<void(const std::string& key, const YAML::Node& value)>& read);
  /// Calls `read` for every item of a list, or for the node itself if it is a scalar.
  void items(const YAML::Node& node, const Read& read);

  // Nothing, and a problem noted, if the node is something else.
  std::optional<std::string> text(const YAML::Node& node, const std::string& what);
  std::optional<double> number(const YAML::Node& node, const std::string& what);
  std::optional<std::int64_t> integer(const YAML::Node& node, const std::string& what,
                                      std::int64_t least);
  std::optional<bool> flag(const YAML::Node& node, const std::string& what);
  /// One of the words of a table.
  template <class T>
  std::optional<T> word(const YAML::Node& node, const std::string& what,
                        const std::map<std::string, T>& table) {
    if (node.IsScalar())
      if (const auto found = table.find(node.Scalar()); found != table.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [name, value] : table) known.push_back(name);
    unknown(node, what, known);
    return std::nullopt;
  }

  /// Throws Error{invalid_input} with all problems, if there are any.
  void finish() const;

 private:
  std::string file_;
  std::vector<std::string> problems_;
};

/// A plain number, "nan", "inf" or "-inf"; nothing for any other text.
std::optional<double> parse_number(const std::string& text);

}  // namespace opreplay::sim
