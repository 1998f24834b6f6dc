#pragma once
/// The ledger row: one case, its outcome, its verdict, bound to an environment and an input.

#include <cstdint>
#include <string>
#include <vector>

#include "opreplay/case.h"
#include "opreplay/outcome.h"
#include "opreplay/verdict.h"

namespace opreplay {

struct Record {
  std::string case_text;         ///< canonical case string
  std::string case_id, call_id;  ///< 16 hex digits
  std::string op;                ///< of the last call
  bool workload = true;          ///< workload or edge
  std::string family;            ///< of the first variation; empty for workload
  std::int64_t count = 1;        ///< how often the model makes this call
  std::string module;            ///< first site
  std::string spec;              ///< spec file, empty for a case string
  std::string device;            ///< as given: "sim:faults.yaml"
  std::string environment;       ///< environment id
  std::string rules;             ///< hash of the rule set
  std::string repro;             ///< the command that runs exactly this case
  Outcome outcome;
  Verdict verdict;
  std::string known;  ///< why a spec declares this failure as known; empty = it does not
  std::string owner, next_step, not_covered;
  std::string time;  ///< UTC, ISO 8601
};

/// One JSON object on one line, without the newline. Key order is fixed.
std::string to_json_line(const Record& record);
/// Throws Error{invalid_input} naming the key that is missing or ill-typed.
Record record_from_json(const std::string& line);

}  // namespace opreplay
