#pragma once
/// The launcher as its supervisor sees it: a child process with a control socket.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/launcher_protocol.h"
#include "lib/isolate/clock.h"
#include "lib/isolate/output_tail.h"

namespace opreplay {

/// What a launcher is started with.
struct LauncherSetup {
  std::filesystem::path program;
  std::string config;                    ///< lines "key=value", see launcher_protocol.h
  std::vector<std::string> environment;  ///< "NAME=value", complete
};

class LauncherProcess {
 public:
  /// Starts the program and waits until it has loaded its libraries. Throws Error{device_missing}
  /// with the loader's text if they do not load, Error{internal} if the program does not start,
  /// Error{interrupted} if `interrupted` says so.
  LauncherProcess(const LauncherSetup& setup, Deadline deadline,
                  const std::function<bool()>& interrupted);
  LauncherProcess(const LauncherProcess&) = delete;
  LauncherProcess& operator=(const LauncherProcess&) = delete;
  /// Lets it end its workers, then ends it.
  ~LauncherProcess();

  int control_fd() const { return control_.get(); }
  OutputTail& output() { return output_; }

  bool send(const ControlMessage& message, std::span<const int> descriptors = {}) {
    return send_control(control_.get(), message, descriptors);
  }
  /// `closed` also for a launcher that sends what it must not.
  Received receive(ControlMessage& message);

  /// Ends the process, if it has not ended yet, and says how it ended: "was killed by signal 9
  /// (Killed)", with what it printed last.
  std::string end();

 private:
  void start(const LauncherSetup& setup);
  void wait_until_ready(Deadline deadline, const std::function<bool()>& interrupted);
  void reap();

  Fd control_;
  OutputTail output_;
  pid_t process_ = -1;
  int status_ = -1;  ///< wait status; -1 = unknown
};

/// "exited with code 3", "was killed by signal 11 (Segmentation fault)".
std::string describe_wait_status(int status);

}  // namespace opreplay
