#pragma once
/// Ctrl-C and kill as a flag the run loop polls, so that nothing reported is lost.

namespace opreplay::command {

/// While it lives, SIGINT, SIGTERM and SIGHUP set the flag; a second SIGINT ends the process as
/// usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
};

/// Writing to a closed pipe is an error code, not a signal.
void block_sigpipe();

}  // namespace opreplay::command
