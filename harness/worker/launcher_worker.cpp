#include <fcntl.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "harness/worker/launcher.h"
#include "lib/base/launcher_protocol.h"
#include "opreplay/error.h"

// How a worker process comes to be: forked from the launcher, which holds the loaded libraries, or
// forked and executed anew where the device's libraries do not survive a fork.

namespace opreplay {
namespace {

// Above every descriptor with a fixed number, so that no dup2 hits a source of another.
constexpr int k_above_fixed = 10;

constexpr int k_exit_not_started = 71;  // EX_OSERR of sysexits.h

/// When memory runs out, the kernel should pick the worker and not its supervisor.
void volunteer_for_oom_killer() {
  const Fd file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  // Best effort: a system without the file has no such killer.
  if (file && write(file.get(), "500", 3) < 0) return;
}

/// In the child, between fork and service. Only calls that are safe in a child of a process with
/// threads: the launcher may have some where workers are executed anew.
void settle(pid_t launcher, int output) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(k_exit_not_started);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  close(null);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  volunteer_for_oom_killer();
}

int say_hello_and_serve(ServeFunction serve, int socket, int journal) {
  try {
    write_message(socket, MessageKind::hello, {});
  } catch (const Error&) {
    return 0;  // the supervisor has gone
  }
  const int code = serve(socket, journal);
  std::fflush(stdout);
  return code;
}

[[noreturn]] void execute_anew(int socket, int journal) {
  const int high_socket = fcntl(socket, F_DUPFD_CLOEXEC, k_above_fixed);
  const int high_journal = fcntl(journal, F_DUPFD_CLOEXEC, k_above_fixed);
  const int high_config = fcntl(k_config_fd, F_DUPFD_CLOEXEC, k_above_fixed);
  dup2(high_socket, k_worker_socket_fd);
  dup2(high_config, k_config_fd);
  dup2(high_journal, k_worker_journal_fd);
  char name[] = "opreplay-launcher";
  std::string flag = k_worker_flag;
  char* const arguments[] = {name, flag.data(), nullptr};
  execve("/proc/self/exe", arguments, environ);
  _exit(k_exit_not_started);
}

}  // namespace

pid_t WorkerFactory::start(const WorkerEnds& ends, std::uint64_t nonce) const {
  // Here and not in the child, where allocating may not be safe.
  setenv(k_nonce_variable, std::to_string(nonce).c_str(), 1);
  std::fflush(stdout);
  const pid_t launcher = getpid();
  const pid_t child = fork();
  if (child != 0) {
    // Both sides do it: whoever comes first, the group exists before anybody signals it.
    if (child > 0) setpgid(child, child);
    return child;
  }
  settle(launcher, ends.output.get());
  if (serve == nullptr) execute_anew(ends.socket.get(), ends.journal.get());
  close(ends.output.get());
  close(signal_fd);
  close(k_control_fd);
  close(k_config_fd);
  _exit(say_hello_and_serve(serve, ends.socket.get(), ends.journal.get()));
}

int run_executed_worker() {
  fcntl(k_worker_socket_fd, F_SETFD, FD_CLOEXEC);
  fcntl(k_worker_journal_fd, F_SETFD, FD_CLOEXEC);
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  ServeFunction serve = nullptr;
  try {
    const std::string config = read_config(k_config_fd);
    close(k_config_fd);
    serve = load_worker_library(config);
  } catch (const Error& error) {
    const std::string_view text = error.what();
    try {
      write_message(k_worker_socket_fd, MessageKind::hello, std::as_bytes(std::span(text)));
    } catch (const Error&) {
      return 0;  // the supervisor has gone
    }
    return 1;
  }
  return say_hello_and_serve(serve, k_worker_socket_fd, k_worker_journal_fd);
}

}  // namespace opreplay
