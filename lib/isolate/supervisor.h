#pragma once
/// Runs cases in worker processes and turns everything that can happen to a worker into an Outcome.
/// supervisor (here) -> launcher (harness/worker) -> workers. See docs/isolation.md.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/base/request.h"
#include "lib/base/worker_protocol.h"
#include "lib/isolate/profile.h"
#include "opreplay/outcome.h"

namespace opreplay {

struct SupervisorOptions {
  std::filesystem::path launcher;  ///< the launcher program
  std::filesystem::path worker;    ///< libopreplay_worker.so, loaded by the launcher
  double timeout_s = 0;            ///< 0 = the profile's
  double load_timeout_s = 120;     ///< for the device's libraries to load
  std::int64_t max_bytes = std::int64_t{4} << 30;
  int recycle_after = 0;    ///< cases per worker process; 0 = no limit
  std::uint64_t nonce = 0;  ///< the k-th worker process (from 1) is given nonce + k
};

/// What became of one message to a worker.
struct Exchange {
  Ending ending = Ending::lost;
  int signal = 0, exit_code = 0;   ///< of a crash, of an exit
  Stage stage = Stage::queued;     ///< last stage entered
  std::string output_tail;         ///< what the worker printed last, at most 4 KiB
  std::string detail;              ///< of a loss: why
  std::vector<std::byte> payload;  ///< of the answer
};

/// One line on how an exchange ended: "the worker was killed by signal 11 (Segmentation fault)".
std::string describe(const Exchange& exchange);

/// One launcher, one worker slot. Not thread-safe, but tied to no thread. Installs no signal
/// handlers, starts no thread, never raises SIGPIPE.
class Supervisor {
 public:
  using Interrupted = std::function<bool()>;

  /// Starts the launcher; workers start on demand, with one spare kept ready.
  /// Throws Error{device_missing} if the profile's libraries do not load (with the loader's text).
  Supervisor(const Profile& profile, const SupervisorOptions& options);
  ~Supervisor();

  /// Runs one case to its end: answer, crash, hang or loss. Never throws for what the device does;
  /// why a case was lost stands in the outcome's notes.
  /// `interrupted` is polled (every 100 ms at least); when it returns true the worker is killed and
  /// Ending::lost returned.
  Outcome run(const ReplayRequest& request, const Interrupted& interrupted = {});

  /// Sends any message and waits for the answer's payload, as `run` does for a case.
  /// `timeout_s` 0 = the one of a case.
  Exchange exchange(MessageKind kind, std::span<const std::byte> payload, double timeout_s = 0,
                    const Interrupted& interrupted = {});

  /// What the worker says about itself and the device, as "key: value" lines.
  /// Throws Error{device_missing} if the worker crashes, hangs or is lost meanwhile.
  std::string identity();

  /// Number of worker processes put to work so far (1 if nothing ever died).
  int workers_started() const;

  /// Nonce of the worker process that had the last case; 0 before the first.
  std::uint64_t nonce() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace opreplay
