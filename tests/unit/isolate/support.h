#pragma once
/// What the tests of this room share: the fake worker and requests for it.

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "lib/base/fd.h"
#include "lib/isolate/supervisor.h"

namespace opreplay::test {

/// For what must happen: only a failing test waits that long, on however busy a machine.
inline constexpr double k_patience_s = 120;

inline Profile fake_profile(const std::string& device = "test:0") {
  Profile profile;
  profile.name = "fake";
  profile.torch_device = device;
  profile.timeout_s = k_patience_s;
  // A crash must end the worker by its signal in a sanitized build too.
  profile.env["ASAN_OPTIONS"] = "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0";
  return profile;
}

inline SupervisorOptions fake_options() {
  SupervisorOptions options;
  options.launcher = OPREPLAY_LAUNCHER;
  options.worker = OPREPLAY_FAKE_WORKER;
  return options;
}

/// A request that the fake worker obeys.
inline ReplayRequest wish(const std::string& op, std::int64_t argument = 0) {
  ReplayRequest request;
  request.calls = {OpCall{op, {Arg{"n", Value{argument}, false}}}};
  return request;
}

/// Value of a line "key: value".
inline std::string line(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key + ": ");
  if (at == std::string::npos) return "no line " + key;
  const std::size_t from = at + key.size() + 2;
  return text.substr(from, text.find('\n', from) - from);
}

/// A process that is alive now, held so that its end can be waited for.
class Watched {
 public:
  explicit Watched(pid_t process) : fd_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}
  bool exists() const { return static_cast<bool>(fd_); }
  bool alive() const {
    pollfd fd{fd_.get(), POLLIN, 0};
    return poll(&fd, 1, 0) == 0;
  }
  /// Waits for the end; false if it does not come.
  bool ends() const {
    pollfd fd{fd_.get(), POLLIN, 0};
    return poll(&fd, 1, static_cast<int>(k_patience_s * 1000)) == 1;
  }

 private:
  Fd fd_;
};

}  // namespace opreplay::test
