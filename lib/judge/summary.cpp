#include "lib/judge/summary.h"

#include <fmt/format.h>

namespace opreplay {

void Summary::add(Status status, bool known) {
  const std::int64_t as_known = known ? 1 : 0;
  switch (status) {
    case Status::invalid:
      ++invalid;
      return;
    case Status::pass:
      ++pass;
      break;
    case Status::substitute:
      ++substitute;
      known_substitute += as_known;
      break;
    case Status::blocked:
      ++blocked;
      known_blocked += as_known;
      break;
    case Status::pending:
      ++pending;
      known_pending += as_known;
      break;
  }
  ++cases;
}

void Summary::add_not_run(std::int64_t count) {
  pending += count;
  cases += count;
}

std::string closing_line(const Summary& s) {
  std::string line =
      fmt::format("cases:{} pass:{} substitute:{} blocked:{} pending:{} (invalid:{}) time:{:.1f}s",
                  s.cases, s.pass, s.substitute, s.blocked, s.pending, s.invalid, s.seconds);
  if (s.pass + s.substitute + s.blocked + s.pending != s.cases)
    throw Error(ExitCode::internal,
                "the parts of the summary do not sum to its cases: " + line + "; please report it");
  return line;
}

void parse_allow(std::string_view words, RunEnd& end) {
  while (true) {
    const auto comma = words.find(',');
    const std::string_view word = words.substr(0, comma);
    if (word == "pending") {
      end.allow_pending = true;
    } else if (word == "substitute") {
      end.allow_substitute = true;
    } else {
      throw Error(ExitCode::usage,
                  "--allow: expected pending, substitute or both with a comma, found '" +
                      std::string(word) + "'");
    }
    if (comma == std::string_view::npos) return;
    words.remove_prefix(comma + 1);
  }
}

ExitCode exit_code(const Summary& summary, const RunEnd& end) {
  if (end.interrupted) return ExitCode::interrupted;
  if (end.internal_error) return ExitCode::internal;
  if (end.output_failed) return ExitCode::output_failed;
  if (end.device_missing) return ExitCode::device_missing;
  if (summary.cases == 0) return ExitCode::nothing_selected;
  if (summary.blocked > summary.known_blocked) return ExitCode::blocked;
  if (!end.allow_pending && summary.pending > summary.known_pending) return ExitCode::incomplete;
  if (!end.allow_substitute && summary.substitute > summary.known_substitute)
    return ExitCode::incomplete;
  return ExitCode::ok;
}

}  // namespace opreplay
