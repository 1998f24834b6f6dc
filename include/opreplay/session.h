#pragma once
/// The library in one class: load op-specs, plan cases, run them on a device, get verdicts. What
/// the command and the test adapters are made of.
///
///   opreplay::Session session({.device = "sim"});
///   for (const auto& c : session.plan(opreplay::load_specs("specs")).cases)
///     if (auto result = session.run(c); result.verdict.status != opreplay::Status::pass)
///       std::cerr << opreplay::failure_text(result) << '\n';

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "opreplay/outcome.h"
#include "opreplay/plan.h"
#include "opreplay/spec.h"
#include "opreplay/verdict.h"

namespace opreplay {

struct SessionOptions {
  std::string device;                              ///< "sim", "sim:FILE.yaml", "NAME:INDEX"
  std::vector<std::filesystem::path> rules;        ///< folders beside the shipped rules
  double timeout_s = 0;                            ///< deadline of one case; 0 = the profile's
  std::int64_t max_bytes = std::int64_t{4} << 30;  ///< of all inputs of one case
};

/// One case that ran: what happened and what it means.
struct CaseResult {
  PlannedCase planned;
  Outcome outcome;
  Verdict verdict;
  std::string known;  ///< why the spec declares this failure as known; empty = it does not
  std::string repro;  ///< the command line that runs exactly this case
};

/// One device, its worker processes and the rules. Workers start with the first case.
class Session {
 public:
  /// Throws Error{device_missing} if the device's profile is unknown or its libraries do not load,
  /// Error{invalid_input} on broken rules or faults.
  explicit Session(SessionOptions options);
  ~Session();
  Session(Session&&) noexcept;

  /// Throws Error{invalid_input | usage}.
  Plan plan(const std::vector<OpSpec>& specs, const PlanOptions& options = {}) const;
  /// A single case from its string. Throws Error{invalid_input}.
  PlannedCase parse(std::string_view case_text) const;

  /// Runs one case to its end. Never throws for what the device does; throws Error{invalid_input}
  /// if the case itself is impossible. `interrupted` is polled; true ends the case unjudged.
  CaseResult run(const PlannedCase& planned, const std::function<bool()>& interrupted = {});

  /// "key: value" lines about torch and the device, from the worker.
  std::string identity();
  /// Hash of the rule set in force.
  std::uint64_t rules_hash() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// What a reader of a failed test needs: verdict, case string, worst elements, repro line.
std::string failure_text(const CaseResult& result);

}  // namespace opreplay
