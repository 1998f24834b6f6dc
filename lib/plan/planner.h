#pragma once
/// Makes a plan, and turns a planned case into what the worker is sent. Pure functions.

#include <string>

#include "lib/base/request.h"
#include "lib/base/schema.h"
#include "lib/plan/rules.h"
#include "opreplay/plan.h"

namespace opreplay {

/// Every selected case of the specs: the unvaried calls, then the families' variations interleaved.
/// Throws Error{invalid_input} on a broken filter or unknown family.
Plan make_plan(const std::vector<OpSpec>& specs, const RuleSet& rules, const PlanOptions& options);

/// A single case given as a string.
PlannedCase plan_case(Case c);

/// Applies the variations, settles every tensor's values, adds the oracle's rule.
/// Throws Error{invalid_input} if a variation does not apply.
ReplayRequest resolve(const Case& c, const RuleSet& rules, const SchemaSource& schemas);

/// Why the inputs of a case are too large: "the inputs need 8 bytes, the limit is 4 ..."; empty if
/// all its storages together stay within `max_bytes`.
std::string over_limit(const ReplayRequest& request, std::int64_t max_bytes);

}  // namespace opreplay
