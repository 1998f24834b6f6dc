#include "harness/worker/launcher.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "lib/base/launcher_protocol.h"
#include "opreplay/error.h"

// Start-up: what the supervisor's process may have left behind is undone, the worker library is
// loaded, then the loop takes over. The process always leaves by _exit: the destructors of torch
// and of vendors' libraries cost half a second and more, and have nothing left to do.

namespace opreplay {
namespace {

constexpr int k_exit_usage = 2;

/// Ignored signals and the mask survive exec; workers must start with neither. SIGCHLD and SIGTERM
/// stay blocked for good, before any library can start a thread that would swallow them.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCHLD);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

/// False if `parent` is dead already.
bool die_with(pid_t parent, int signal) {
  prctl(PR_SET_PDEATHSIG, signal);
  return getppid() == parent;
}

int run_launcher(pid_t parent) {
  if (!die_with(parent, SIGKILL)) return 0;
  reset_signals();
  fcntl(k_control_fd, F_SETFD, FD_CLOEXEC);
  fcntl(k_config_fd, F_SETFD, FD_CLOEXEC);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  // What a worker printed before it crashed is evidence: not to be lost in a buffer.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);

  WorkerFactory factory;
  try {
    const std::string config = read_config(k_config_fd);
    // Also where workers execute anew: a device that does not load is said once, at the start.
    const ServeFunction serve = load_worker_library(config);
    if (config_value(config, "fork") == "1") factory.serve = serve;
  } catch (const Error& error) {
    send_control(k_control_fd,
                 {ControlKind::failed, 0, static_cast<std::int64_t>(error.code()), error.what()});
    return 1;
  }
  // From here on the launcher must live long enough to end the workers' groups.
  if (!die_with(parent, SIGTERM)) return 0;
  if (!send_control(k_control_fd, {ControlKind::ready, 0, 0, {}})) return 0;
  return run_launcher_loop(factory, parent);
}

}  // namespace

std::string read_config(int fd) {
  std::string config;
  char piece[4096];
  for (;;) {
    // By position: every worker that is executed anew shares the descriptor's offset.
    const ssize_t got = pread(fd, piece, sizeof piece, static_cast<off_t>(config.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw Error(ExitCode::internal,
                  std::string("cannot read the launcher's configuration: ") + std::strerror(errno));
    if (got == 0) return config;
    config.append(piece, static_cast<std::size_t>(got));
  }
}

ServeFunction load_worker_library(const std::string& config) {
  const std::string path = config_value(config, "worker");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    throw Error(ExitCode::device_missing,
                std::string("the worker library does not load: ") + dlerror());
  const auto entry = [&](const char* name) {
    void* address = dlsym(library, name);
    if (address == nullptr)
      throw Error(ExitCode::device_missing, path + " is no worker library: it has no " + name);
    return address;
  };
  const auto load =
      reinterpret_cast<decltype(&opreplay_worker_load)>(entry("opreplay_worker_load"));
  const auto serve = reinterpret_cast<ServeFunction>(entry("opreplay_worker_serve"));
  char text[k_control_text_bytes] = "";
  const int result = load(config_of_worker(config).c_str(), text, sizeof text);
  if (result != 0)
    throw Error(result == 2 ? ExitCode::invalid_input : ExitCode::device_missing,
                *text != '\0' ? text : "the worker library gave no text");
  return serve;
}

}  // namespace opreplay

int main(int argc, char** argv) {
  const std::string_view argument = argc == 2 ? argv[1] : "";
  if (argument == opreplay::k_worker_flag) _exit(opreplay::run_executed_worker());
  pid_t parent = 0;
  const char* end = argument.data() + argument.size();
  const bool valid = std::from_chars(argument.data(), end, parent).ptr == end && parent > 0;
  if (!valid || fcntl(opreplay::k_control_fd, F_GETFD) < 0) {
    std::fputs("opreplay-launcher: started by opreplay, not by hand\n", stderr);
    return opreplay::k_exit_usage;
  }
  _exit(opreplay::run_launcher(parent));
}
