#pragma once
/// The native launcher: holds the loaded worker library, forks workers from it, reaps them.
/// Started by lib/isolate; speaks lib/base/launcher_protocol.h. See docs/isolation.md.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "lib/base/fd.h"
#include "lib/base/worker_abi.h"

namespace opreplay {

/// The worker library's entry point that remains to be called once it is loaded.
using ServeFunction = decltype(&opreplay_worker_serve);

/// The configuration, whole. Throws Error{internal} if it cannot be read.
std::string read_config(int fd);

/// Loads the worker library the configuration names and, through it, the device's libraries.
/// Throws Error{device_missing} with the loader's text.
ServeFunction load_worker_library(const std::string& config);

/// What a new worker process is given.
struct WorkerEnds {
  Fd socket, journal, output;
};

/// How worker processes are made.
struct WorkerFactory {
  ServeFunction serve = nullptr;  ///< null = execute this program anew
  int signal_fd = -1;             ///< the launcher's own, closed in the child

  /// Starts a worker process in a group of its own. Returns its id, or -1 with errno set.
  pid_t start(const WorkerEnds& ends, std::uint64_t nonce) const;
};

/// Main program of a worker process that was executed anew; returns its exit code.
int run_executed_worker();

/// Obeys the control socket until it closes or the supervisor `parent` dies, then ends what is
/// left. Returns the launcher's exit code.
int run_launcher_loop(WorkerFactory factory, pid_t parent);

}  // namespace opreplay
