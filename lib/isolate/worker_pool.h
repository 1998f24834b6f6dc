#pragma once
/// The processes behind a supervisor: one launcher, the worker in use, one spare kept ready.
/// Keeps them going; what a death means for a case is decided in supervisor.cpp.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/isolate/clock.h"
#include "lib/isolate/launcher_process.h"
#include "lib/isolate/worker.h"

namespace opreplay {

class WorkerPool {
 public:
  using Interrupted = std::function<bool()>;

  /// Starts the launcher. Throws what LauncherProcess throws.
  WorkerPool(LauncherSetup setup, double load_timeout_s, std::uint64_t nonce);

  /// The worker in use, ready for a request; null with the reason in `why` if there is none to be
  /// had. Replaces a worker that died meanwhile, restarts a launcher that did.
  Worker* ready_worker(const Interrupted& interrupted, std::string& why);

  /// Waits until one of the processes has something to say, the deadline or one interrupt interval
  /// passes, or a signal arrives; takes reports, output and hellos.
  void turn(Deadline deadline);

  /// Sends a signal to the group of the worker in use.
  void signal_active(int signal);
  /// Gives the worker in use up, killing what is left of it; the spare takes its place.
  void replace_active();
  /// Lets the worker in use end by itself; the spare takes its place.
  void retire_active();

  std::uint64_t nonce_of(const Worker& worker) const { return nonce_ + worker.number(); }

 private:
  /// A worker no longer in use that has not ended yet.
  struct Retired {
    std::uint64_t number;
    pid_t process;
    Deadline kill_at;
  };

  bool restart_launcher(const Interrupted& interrupted, std::string& why);
  bool wait_for_hello(const Interrupted& interrupted, std::string& why);
  std::unique_ptr<Worker> spawn();
  void promote_spare();
  void send_signal(std::uint64_t worker, int signal);
  void kill_overdue();
  void take_reports();
  void apply(const ControlMessage& report);
  void lose_launcher();

  LauncherSetup setup_;
  double load_timeout_s_;
  std::uint64_t nonce_;
  std::unique_ptr<LauncherProcess> launcher_;  // null once lost
  std::string launcher_end_;                   // how the last one was lost
  int failed_starts_ = 0;
  std::uint64_t next_number_ = 1;
  std::unique_ptr<Worker> active_, spare_;
  std::vector<Retired> retired_;
};

}  // namespace opreplay
