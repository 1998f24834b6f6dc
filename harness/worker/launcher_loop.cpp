#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <vector>

#include "harness/worker/launcher.h"
#include "lib/base/launcher_protocol.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

using Clock = std::chrono::steady_clock;

// Workers see their socket close and leave on their own; the rest are killed after this.
constexpr std::chrono::milliseconds k_farewell{500};

/// The loop's state: which process is which worker. Only this process reaps, so a process id in the
/// table is never somebody else's.
class Loop {
 public:
  Loop(WorkerFactory factory, pid_t parent, Fd signals)
      : factory_(factory), parent_(parent), signals_(std::move(signals)) {
    factory_.signal_fd = signals_.get();
  }

  int run() {
    while (wait(-1)) {
    }
    say_farewell();
    return 0;
  }

 private:
  /// One turn. False when the supervisor is gone; after that only the dead are looked after.
  bool wait(int timeout_ms) {
    pollfd fds[2] = {{signals_.get(), POLLIN, 0}, {parent_gone_ ? -1 : k_control_fd, POLLIN, 0}};
    if (poll(fds, 2, timeout_ms) < 0) return errno == EINTR;
    if (fds[0].revents != 0) {
      take_signals();
      reap();
    }
    if (fds[1].revents != 0) obey();
    return !parent_gone_;
  }

  void take_signals() {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      // The parent-death signal also comes when only the thread that started us ends.
      if (info.ssi_signo == SIGTERM && getppid() != parent_) parent_gone_ = true;
    }
  }

  void obey() {
    ControlMessage message;
    std::vector<Fd> descriptors;
    if (receive_control(k_control_fd, Waiting::never, message, descriptors) == Received::closed) {
      parent_gone_ = true;
      return;
    }
    if (message.kind == ControlKind::spawn && descriptors.size() == 3)
      spawn(message,
            {std::move(descriptors[0]), std::move(descriptors[1]), std::move(descriptors[2])});
    else if (message.kind == ControlKind::signal)
      signal_worker(message.worker, static_cast<int>(message.value));
  }

  void spawn(const ControlMessage& message, const WorkerEnds& ends) {
    const pid_t process = factory_.start(ends, static_cast<std::uint64_t>(message.value));
    if (process < 0) {
      report({ControlKind::unstarted, message.worker, 0, std::strerror(errno)});
      return;
    }
    workers_.emplace(process, message.worker);
    report({ControlKind::started, message.worker, process, {}});
  }

  void signal_worker(std::uint64_t worker, int signal) {
    for (const auto& [process, number] : workers_)
      if (number == worker) signal_group(process, signal);
  }

  static void signal_group(pid_t process, int signal) {
    // A worker that has left its group gets the signal too.
    kill(-process, signal);
    if (getpgid(process) != process) kill(process, signal);
  }

  void reap() {
    siginfo_t info{};
    // The dead worker is looked at before it is reaped: while it is a zombie its group's number
    // cannot be taken by others, and what it left running can be killed safely.
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
      const pid_t process = info.si_pid;
      const auto worker = workers_.find(process);
      if (worker != workers_.end()) kill(-process, SIGKILL);
      int status = 0;
      if (waitpid(process, &status, 0) == process && worker != workers_.end()) {
        report({ControlKind::ended, worker->second, status, {}});
        workers_.erase(worker);
      }
      info = {};
    }
  }

  void say_farewell() {
    const auto deadline = Clock::now() + k_farewell;
    reap();
    while (!workers_.empty() && Clock::now() < deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      wait(static_cast<int>(left.count()));
    }
    for (const auto& [process, number] : workers_) signal_group(process, SIGKILL);
    // Not waited for: a process stuck in a driver cannot be, and init reaps them all the same.
  }

  void report(const ControlMessage& message) {
    if (!parent_gone_ && !send_control(k_control_fd, message)) parent_gone_ = true;
  }

  WorkerFactory factory_;
  pid_t parent_;
  Fd signals_;
  std::map<pid_t, std::uint64_t> workers_;
  bool parent_gone_ = false;
};

}  // namespace

int run_launcher_loop(WorkerFactory factory, pid_t parent) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCHLD);
  sigaddset(&blocked, SIGTERM);
  Fd signals(signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return 1;
  try {
    return Loop(factory, parent, std::move(signals)).run();
  } catch (const Error&) {
    return 1;  // the control socket is unusable: the supervisor sees it close
  }
}

}  // namespace opreplay
