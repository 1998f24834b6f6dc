#pragma once
/// Runs cases in worker processes and turns everything that can happen to a worker into an Outcome.
/// supervisor (here) -> launcher (harness/worker) -> workers. See docs/isolation.md.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "lib/base/request.h"
#include "lib/isolate/profile.h"
#include "opreplay/outcome.h"

namespace opreplay {

struct SupervisorOptions {
  std::filesystem::path launcher;  ///< the launcher program
  std::filesystem::path worker;    ///< libopreplay_worker.so, loaded by the launcher
  double timeout_s = 0;            ///< 0 = the profile's
  std::int64_t max_bytes = std::int64_t{4} << 30;
  int recycle_after = 0;  ///< cases per worker process; 0 = no limit
};

/// One launcher, one worker slot. Not thread-safe. Installs no signal handlers.
class Supervisor {
 public:
  /// Starts the launcher; workers start on demand, with one spare kept ready.
  /// Throws Error{device_missing} if the profile's libraries do not load (with the loader's text).
  Supervisor(Profile profile, SupervisorOptions options);
  ~Supervisor();

  /// Runs one case to its end: answer, crash, hang or loss. Never throws for what the device does.
  /// `interrupted` is polled; when it returns true the worker is killed and Ending::lost returned.
  Outcome run(const ReplayRequest& request, const std::function<bool()>& interrupted = {});

  /// What the worker says about itself and the device, as "key: value" lines.
  std::string identity();

  /// Number of worker processes started so far (1 if nothing ever died).
  int workers_started() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace opreplay
