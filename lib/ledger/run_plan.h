#pragma once
/// plan.json: what a run set out to do. Cases without a record are pending; what could not be
/// planned is listed as not covered.

#include <cstdint>
#include <string>
#include <vector>

#include "lib/judge/objects.h"
#include "opreplay/plan.h"

namespace opreplay {

struct RunPlan {
  struct Entry {
    std::string case_text, case_id;
    bool workload = true;
    bool operator==(const Entry&) const = default;
  };
  std::string command;  ///< as typed, for the reader
  std::string device;   ///< as given: "sim:faults.yaml"
  std::string rules;    ///< hash of the rule set
  std::vector<Entry> cases;
  std::vector<NotCovered> not_covered;
  Scope scope;
};

/// Takes over cases, scopes and gaps of a plan.
RunPlan describe(const Plan& plan);

std::string to_json(const RunPlan& plan);
/// Throws Error{invalid_input} naming the key that is missing or ill-typed.
RunPlan run_plan_from_json(const std::string& text);

}  // namespace opreplay
