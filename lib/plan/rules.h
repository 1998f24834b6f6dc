#pragma once
/// Op knowledge as data (opspecs/rules/*.yaml): error model and legal inputs per overload.
/// Format: docs/rules.md. Unknown keys are errors; later folders override earlier ones per op.
/// Next: expression.h evaluates the numbers of a domain on a call.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/request.h"
#include "lib/base/schema.h"
#include "opreplay/values.h"

namespace opreplay {

/// A recipe whose numbers may be expressions over the call: "size(weight,0)".
struct Domain {
  Values base;
  std::map<std::string, std::string> expressions;  ///< "high" -> "size(weight,0)"
};

struct Rule {
  std::string op;  ///< overload, or a prefix followed by '*'
  OracleRule oracle;
  std::map<std::string, Domain> domain;  ///< by argument name
  std::vector<std::string> parameters;   ///< tensor arguments that are weights: shapes stay
  std::vector<std::string> written;      ///< arguments written without a mark in the schema
  std::vector<std::string> not_covered;  ///< families that cannot run here, "shape: why"
  std::vector<std::string> shape;        ///< relations: "prod(self) == prod(size)"
  std::vector<std::string> equivalent;
  std::string citation;  ///< where the knowledge comes from (key `source`)
  std::string source;    ///< file:line of the rule
};

class RuleSet {
 public:
  /// The rule of an overload: its own, else the one of the longest matching prefix, else null.
  const Rule* find(const std::string& op) const;
  /// Every rule by its op or prefix.
  const std::map<std::string, Rule>& all() const { return rules_; }
  /// Hash of all rules as loaded (what they say, not where); recorded with every run.
  std::uint64_t hash() const { return hash_; }

  /// Loads every *.yaml of the folders, in name order. Throws Error{invalid_input} with all
  /// diagnostics; two rules of one folder for the same op are one.
  static RuleSet load(const std::vector<std::filesystem::path>& folders);

 private:
  std::map<std::string, Rule> rules_;
  std::uint64_t hash_ = 0;
};

/// The values one tensor argument gets: what the spec says, else the rule's domain evaluated on the
/// call, else the default of its dtype (standard normal; small integers; fair bits).
/// Throws Error{invalid_input} if a domain's expression names what the call lacks.
Values resolve_values(const Rule* rule, const OpCall& call, const std::string& path,
                      const TensorArg& tensor);

}  // namespace opreplay
