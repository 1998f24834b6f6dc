#pragma once
/// Plan: from calls to cases. A pure function of (specs, rules, selection, seed).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opreplay/case.h"
#include "opreplay/spec.h"

namespace opreplay {

/// A case chosen to run, and what a record says of it beside its string.
struct PlannedCase {
  Case c;
  std::string text;  ///< canonical case string
  bool workload = true;
  std::string family;  ///< of the variation; empty for workload
  std::int64_t count = 1;
  std::string module;                  ///< first site
  std::string spec;                    ///< spec file name; empty for a case string
  std::vector<std::string> scope;      ///< families that count for the status; empty = the default
  std::vector<KnownFailure> known;     ///< failures the spec declares
  std::optional<Tolerance> tolerance;  ///< a looser bound the spec asks for
  /// The string alone does not reproduce the case: values or parameters come from the spec.
  bool needs_spec = false;
};

/// A family that could not run on an op, and why.
struct NotCovered {
  std::string op, family, why;
  bool operator==(const NotCovered&) const = default;
};

struct PlanOptions {
  /// Families to vary; "all" = every one, as a spec's `vary` edits it; empty = none.
  std::vector<std::string> vary = {"all"};
  std::string filter;  ///< -k expression over case strings; empty = all
  std::uint64_t seed = 0;
};

struct Plan {
  std::vector<PlannedCase> cases;  ///< workload cases first, then families interleaved
  std::vector<NotCovered> not_covered;
};

/// Names of the variation families with a sentence on each.
struct FamilyInfo {
  std::string_view name, sentence;
};
std::vector<FamilyInfo> variation_families();

}  // namespace opreplay
