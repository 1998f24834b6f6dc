#pragma once
/// The one exception of the library: the command cannot go on.
/// What a device, an operator or a child process does is never an Error; it is an Outcome.

#include <stdexcept>
#include <string>

namespace opreplay {

/// Exit codes of the command; `Error` carries one of them.
enum class ExitCode : int {
  ok = 0,
  blocked = 1,
  usage = 2,
  invalid_input = 3,
  device_missing = 4,
  nothing_selected = 5,
  internal = 6,
  incomplete = 7,
  output_failed = 8,
  interrupted = 130,
};

/// Thrown where the command cannot go on (unreadable model, broken YAML, full disk, no device).
/// The message is complete: what, where, and what to do next; lower case, no final period.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace opreplay
