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
  bool has_rule = true;         ///< a rule names an error model for the op
  bool workload = true;         ///< an unvaried call (edge cases otherwise)
  bool family_invalid = false;  ///< a case meant to be rejected
  std::vector<std::string> unsupported_patterns{}, error_patterns{}, allow{};  ///< of the profile
};

/// The failure type a reason belongs to; none for a pass and for what is not yet decided.
Kind kind_of(Reason reason);

/// Decides what one outcome means. Depends on its arguments only.
/// Throws Error{invalid_input} if a pattern of the profile is no regular expression.
Verdict judge(const Outcome& outcome, const JudgeContext& context);

/// The verdict of an object from those of its required cases: the worst; pending if there is none
/// or all are invalid.
Status roll_up(const std::vector<Status>& required);

}  // namespace opreplay
