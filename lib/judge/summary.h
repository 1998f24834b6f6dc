#pragma once
/// Counts of a run, its closing line and its exit code. docs/verdicts.md "Exit codes".

#include <cstdint>
#include <string>
#include <string_view>

#include "opreplay/error.h"
#include "opreplay/verdict.h"

namespace opreplay {

/// Every selected case is counted once; invalid ones stand apart from `cases`.
struct Summary {
  std::int64_t cases = 0, pass = 0, substitute = 0, blocked = 0, pending = 0, invalid = 0;
  /// Of these, failures that the specs declare as `known`: counted as what they are in the closing
  /// line, as nothing in the exit code.
  std::int64_t known_substitute = 0, known_blocked = 0, known_pending = 0;
  double seconds = 0;

  void add(Status status, bool known = false);
  /// Selected cases that never ran (interrupted, -x): pending.
  void add_not_run(std::int64_t count);
  bool operator==(const Summary&) const = default;
};

/// `cases:N pass:N substitute:N blocked:N pending:N (invalid:M) time:1.2s`
/// Throws Error{internal} if the parts do not sum to N.
std::string closing_line(const Summary& summary);

/// What else decides the exit code.
struct RunEnd {
  bool allow_pending = false, allow_substitute = false;  ///< --allow
  bool interrupted = false, internal_error = false, output_failed = false, device_missing = false;
};

/// Adds the words of `--allow pending,substitute`. Throws Error{usage} on any other word.
void parse_allow(std::string_view words, RunEnd& end);

/// Precedence 130 > 6 > 8 > 4 > 1 > 7 > 0; nothing selected, or only invalid cases, is 5 where no
/// failure of the run itself comes first.
ExitCode exit_code(const Summary& summary, const RunEnd& end);

}  // namespace opreplay
