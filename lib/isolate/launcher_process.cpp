#include "lib/isolate/launcher_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "opreplay/error.h"

namespace opreplay {
namespace {

// A launcher gives its workers half a second to leave; then it should be gone at once.
constexpr double k_end_s = 5;

[[noreturn]] void fail_errno(const std::string& what) {
  throw Error(ExitCode::internal, what + ": " + std::strerror(errno));
}

Fd config_file(const std::string& config) {
  Fd file(memfd_create("opreplay-config", MFD_CLOEXEC));
  if (!file) fail_errno("cannot make the launcher's configuration");
  for (std::size_t done = 0; done < config.size();) {
    const ssize_t wrote = write(file.get(), config.data() + done, config.size() - done);
    if (wrote < 0 && errno != EINTR) fail_errno("cannot write the launcher's configuration");
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  return file;
}

/// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become_launcher(const char* program, char* const* arguments,
                                  char* const* environment, int control, int config, int output) {
  // A group of its own: an interrupt typed at the terminal is for the supervisor to deal with.
  setpgid(0, 0);
  // First above every number that is a target below, so that no dup2 overwrites a source.
  constexpr int k_above = 10;
  const int from[] = {fcntl(control, F_DUPFD_CLOEXEC, k_above),
                      fcntl(config, F_DUPFD_CLOEXEC, k_above),
                      fcntl(output, F_DUPFD_CLOEXEC, k_above)};
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null != STDIN_FILENO)
    dup2(null, STDIN_FILENO);
  else
    fcntl(null, F_SETFD, 0);
  dup2(from[2], STDOUT_FILENO);
  dup2(from[2], STDERR_FILENO);
  dup2(from[0], k_control_fd);
  dup2(from[1], k_config_fd);
  execve(program, arguments, environment);
  const char text[] = "the program cannot be executed";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(126);
  _exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "exited with code " + std::to_string(WEXITSTATUS(status));
}

LauncherProcess::LauncherProcess(const LauncherSetup& setup, Deadline deadline,
                                 const std::function<bool()>& interrupted) {
  start(setup);
  try {
    wait_until_ready(deadline, interrupted);
  } catch (...) {
    end();  // no destructor runs for a half-built object
    throw;
  }
}

void LauncherProcess::start(const LauncherSetup& setup) {
  if (access(setup.program.c_str(), X_OK) != 0)
    fail_errno("cannot execute the launcher " + setup.program.string());
  int control[2], output[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0)
    fail_errno("cannot make the launcher's control socket");
  control_ = Fd(control[0]);
  const Fd control_far(control[1]);
  if (pipe2(output, O_CLOEXEC) != 0) fail_errno("cannot make the launcher's output pipe");
  output_ = OutputTail(Fd(output[0]));
  const Fd output_far(output[1]);
  const Fd config = config_file(setup.config);

  std::vector<std::string> arguments = {"opreplay-launcher", std::to_string(getpid())};
  std::vector<std::string> environment = setup.environment;
  const auto argument_pointers = pointers(arguments);
  const auto environment_pointers = pointers(environment);
  process_ = fork();
  if (process_ < 0) fail_errno("cannot start the launcher");
  if (process_ == 0)
    become_launcher(setup.program.c_str(), argument_pointers.data(), environment_pointers.data(),
                    control_far.get(), config.get(), output_far.get());
}

void LauncherProcess::wait_until_ready(Deadline deadline,
                                       const std::function<bool()>& interrupted) {
  for (;;) {
    if (interrupted && interrupted())
      throw Error(ExitCode::interrupted, "interrupted while the device's libraries were loading");
    if (Clock::now() >= deadline) {
      kill(process_, SIGKILL);
      output_.drain();
      throw Error(
          ExitCode::device_missing,
          "the device's libraries did not finish loading in time; last output: " + output_.text());
    }
    pollfd fds[2] = {{control_.get(), POLLIN, 0}, {output_.fd(), POLLIN, 0}};
    if (poll(fds, 2, poll_timeout(deadline)) <= 0) continue;
    if (fds[1].revents != 0) output_.drain();
    if (fds[0].revents == 0) continue;
    ControlMessage message;
    const Received received = receive(message);
    if (received == Received::nothing) continue;
    if (received == Received::closed)
      throw Error(ExitCode::device_missing,
                  "the launcher " + end() + " while it loaded the device's libraries");
    if (message.kind == ControlKind::failed)
      throw Error(message.value == static_cast<int>(ExitCode::invalid_input)
                      ? ExitCode::invalid_input
                      : ExitCode::device_missing,
                  message.text);
    if (message.kind == ControlKind::ready) return;
  }
}

Received LauncherProcess::receive(ControlMessage& message) {
  std::vector<Fd> descriptors;
  try {
    return receive_control(control_.get(), Waiting::never, message, descriptors);
  } catch (const Error&) {
    return Received::closed;
  }
}

LauncherProcess::~LauncherProcess() {
  if (process_ < 0) return;
  shutdown(control_.get(), SHUT_WR);
  const Deadline deadline = deadline_in(k_end_s);
  ControlMessage message;
  while (Clock::now() < deadline) {
    pollfd fds[2] = {{control_.get(), POLLIN, 0}, {output_.fd(), POLLIN, 0}};
    if (poll(fds, 2, poll_timeout(deadline)) <= 0) continue;
    if (fds[1].revents != 0) output_.drain();
    if (fds[0].revents != 0 && receive(message) == Received::closed) break;
  }
  reap();
}

std::string LauncherProcess::end() {
  reap();
  output_.drain();
  std::string text = status_ < 0 ? "ended" : describe_wait_status(status_);
  if (const std::string tail = output_.text(); !tail.empty()) text += ", last output: " + tail;
  return text;
}

void LauncherProcess::reap() {
  if (process_ < 0) return;
  // It has closed its socket: it is ending, or never will by itself. What the device's libraries
  // started from it goes with it.
  kill(-process_, SIGKILL);
  kill(process_, SIGKILL);
  int status = 0;
  pid_t got = waitpid(process_, &status, 0);
  while (got < 0 && errno == EINTR) got = waitpid(process_, &status, 0);
  // Where the host process ignores SIGCHLD the status is lost to us.
  if (got == process_) status_ = status;
  process_ = -1;
}

}  // namespace opreplay
