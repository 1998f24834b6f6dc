#pragma once
/// A rule table from outcome to verdict; the first match wins. Order: docs/design.md "Verdicts".

#include <string>
#include <vector>

#include "opreplay/case.h"
#include "opreplay/outcome.h"
#include "opreplay/verdict.h"

namespace opreplay {

/// What judging needs beside the outcome.
struct JudgeContext {
  bool has_rule = true;         ///< an error model was known for the op
  bool workload = true;         ///< an unvaried call (edge cases otherwise)
  bool family_invalid = false;  ///< a case meant to be rejected
  std::vector<std::string> unsupported_patterns, error_patterns, allow;  ///< of the profile
};

Verdict judge(const Outcome& outcome, const JudgeContext& context);

/// The verdict of an object from those of its required cases: the worst; pending if there is none.
Status roll_up(const std::vector<Status>& required);

}  // namespace opreplay
