#pragma once
/// Makes a plan, and turns a planned case into what the worker is sent. Pure functions.

#include <optional>

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

/// Bytes of all input storages together; nothing if a tensor is impossible or the sum overflows.
std::optional<std::int64_t> input_bytes(const ReplayRequest& request);

}  // namespace opreplay
