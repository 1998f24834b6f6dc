#pragma once
/// From cases to what people decide about: each call, op, layer and the model takes the worst
/// verdict of its required cases; other findings are listed beside it. docs/verdicts.md "Objects".

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "opreplay/verdict.h"

namespace opreplay {

/// What roll-up needs of a record.
struct JudgedCase {
  std::string case_text, call_id, op, module;
  bool workload = true;
  Status status = Status::pending;
  Reason reason = Reason::not_run;
};

/// Edge cases that count for the status, per op: "shape" (the family), "values.nan" (one member).
struct Scope {
  std::vector<std::string> defaults = {"shape.empty_batch", "values.nan", "values.inf",
                                       "values.neg_inf"};
  std::map<std::string, std::vector<std::string>> per_op;  ///< from the specs' `scope:`
};

/// The variations of a case string, "values.nan", without place and arguments.
std::vector<std::string> variations_of(std::string_view case_text);

/// The operator of the last call of a case string: "aten.softmax.int".
std::string op_of(std::string_view case_text);

/// True if every variation of the case is in the scope of its op; workload cases always are.
bool is_required(const JudgedCase& c, const Scope& scope);

struct ObjectVerdict {
  std::string name;                 ///< call id, op, module path, or empty for the model
  Status status = Status::pending;  ///< of the required cases
  Reason reason = Reason::not_run;  ///< of the first required case that has this status
  std::string worst_case;           ///< that case
  std::int64_t required = 0, pass = 0, substitute = 0, blocked = 0, pending = 0, invalid = 0;
  std::int64_t edge_findings = 0;  ///< non-passing cases outside the scope
  std::string first_edge_finding;  ///< the first of them
};

/// Streams verdicts in; memory grows with the number of objects, not of cases.
class ObjectRollUp {
 public:
  explicit ObjectRollUp(Scope scope = {}) : scope_(std::move(scope)) {}

  void add(const JudgedCase& c);

  /// Sorted by name.
  std::vector<ObjectVerdict> calls() const;
  std::vector<ObjectVerdict> ops() const;
  std::vector<ObjectVerdict> modules() const;
  const ObjectVerdict& model() const { return model_; }

 private:
  Scope scope_;
  std::map<std::string, ObjectVerdict> calls_, ops_, modules_;
  ObjectVerdict model_;
};

}  // namespace opreplay
