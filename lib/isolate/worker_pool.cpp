#include "lib/isolate/worker_pool.h"

#include <poll.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "opreplay/error.h"

namespace opreplay {
namespace {

// More than one failure in a row is no accident; more than these are a waste of the user's time.
constexpr int k_max_failed_starts = 2;
constexpr int k_max_failed_workers = 3;

// For a retired worker to leave by itself: closing a device may take a while.
constexpr double k_retirement_s = 5;

}  // namespace

WorkerPool::WorkerPool(LauncherSetup setup, double load_timeout_s, std::uint64_t nonce)
    : setup_(std::move(setup)), load_timeout_s_(load_timeout_s), nonce_(nonce) {
  launcher_ = std::make_unique<LauncherProcess>(setup_, deadline_in(load_timeout_s_), nullptr);
}

Worker* WorkerPool::ready_worker(const Interrupted& interrupted, std::string& why) {
  kill_overdue();
  for (int failures = 0; failures < k_max_failed_workers; ++failures) {
    if (!launcher_ && !restart_launcher(interrupted, why)) return nullptr;
    turn(Clock::now());
    if (!launcher_) {
      why = launcher_end_;
      continue;
    }
    if (!active_ || active_->gone()) promote_spare();
    if (!spare_ || spare_->gone()) spare_ = spawn();
    if (wait_for_hello(interrupted, why)) return active_.get();
    replace_active();
    if (interrupted && interrupted()) return nullptr;
  }
  return nullptr;
}

bool WorkerPool::restart_launcher(const Interrupted& interrupted, std::string& why) {
  if (failed_starts_ < k_max_failed_starts) {
    try {
      launcher_ =
          std::make_unique<LauncherProcess>(setup_, deadline_in(load_timeout_s_), interrupted);
      failed_starts_ = 0;
      return true;
    } catch (const Error& error) {
      if (error.code() != ExitCode::interrupted) ++failed_starts_;
      launcher_end_ += "; started again: " + std::string(error.what());
    }
  }
  why = launcher_end_;
  return false;
}

bool WorkerPool::wait_for_hello(const Interrupted& interrupted, std::string& why) {
  const Deadline deadline = deadline_in(load_timeout_s_);
  while (!active_->ready()) {
    if (!active_->failure().empty()) {
      why = "the worker process cannot serve: " + active_->failure();
      return false;
    }
    if (active_->status()) {
      active_->output().drain();
      why = "the worker process " + describe_wait_status(*active_->status()) +
            " before it was ready, last output: " + active_->output().text();
      return false;
    }
    if (interrupted && interrupted()) {
      why = "interrupted while the worker process was starting";
      return false;
    }
    if (Clock::now() >= deadline) {
      why = "the worker process was not ready in time, last output: " + active_->output().text();
      return false;
    }
    turn(deadline);
  }
  return true;
}

std::unique_ptr<Worker> WorkerPool::spawn() {
  FarEnds far;
  auto worker = std::make_unique<Worker>(next_number_++, far);
  const int descriptors[] = {far[0].get(), far[1].get(), far[2].get()};
  const auto nonce = static_cast<std::int64_t>(nonce_of(*worker));
  if (!launcher_->send({ControlKind::spawn, worker->number(), nonce, {}}, descriptors))
    worker->set_failure("the launcher has ended");
  return worker;
}

void WorkerPool::promote_spare() {
  active_ = spare_ && !spare_->gone() ? std::move(spare_) : spawn();
  spare_.reset();
}

void WorkerPool::turn(Deadline deadline) {
  enum { control, launcher_output, active_socket, active_output, spare_socket, spare_output, all };
  pollfd fds[all];
  const auto watch = [&](int slot, int fd, short events = POLLIN) { fds[slot] = {fd, events, 0}; };
  watch(control, launcher_ ? launcher_->control_fd() : -1);
  watch(launcher_output, launcher_ ? launcher_->output().fd() : -1);
  watch(active_socket, active_ ? active_->socket_fd() : -1,
        active_ && active_->writing() ? POLLIN | POLLOUT : POLLIN);
  watch(active_output, active_ ? active_->output().fd() : -1);
  watch(spare_socket, spare_ && !spare_->ready() ? spare_->socket_fd() : -1);
  watch(spare_output, spare_ ? spare_->output().fd() : -1);
  const int count = poll(fds, all, poll_timeout(deadline));
  if (count < 0 && errno != EINTR)
    throw Error(ExitCode::internal,
                std::string("cannot wait for worker processes: ") + std::strerror(errno));
  if (count <= 0) return;
  if (fds[launcher_output].revents != 0) launcher_->output().drain();
  if (fds[active_output].revents != 0) active_->output().drain();
  if (fds[spare_output].revents != 0) spare_->output().drain();
  if (fds[active_socket].revents != 0 && !active_->ready()) active_->read_hello();
  if (fds[spare_socket].revents != 0) spare_->read_hello();
  if (fds[control].revents != 0) take_reports();
}

void WorkerPool::take_reports() {
  ControlMessage report;
  while (launcher_) {
    switch (launcher_->receive(report)) {
      case Received::message:
        apply(report);
        break;
      case Received::closed:
        lose_launcher();
        return;
      case Received::nothing:
        return;
    }
  }
}

void WorkerPool::apply(const ControlMessage& report) {
  for (Worker* worker : {active_.get(), spare_.get()}) {
    if (worker == nullptr || worker->number() != report.worker) continue;
    if (report.kind == ControlKind::started)
      worker->set_process(static_cast<pid_t>(report.value));
    else if (report.kind == ControlKind::unstarted)
      worker->set_failure("it cannot be started: " + report.text);
    else if (report.kind == ControlKind::ended)
      worker->set_status(static_cast<int>(report.value));
  }
  if (report.kind == ControlKind::ended)
    std::erase_if(retired_, [&](const Retired& r) { return r.number == report.worker; });
}

void WorkerPool::lose_launcher() {
  // Workers die with their launcher; what they had started does not.
  const auto kill_group = [](pid_t process) {
    if (process > 0) kill(-process, SIGKILL);
  };
  for (const Retired& worker : retired_) kill_group(worker.process);
  retired_.clear();
  launcher_end_ = "the launcher " + launcher_->end();
  for (Worker* worker : {active_.get(), spare_.get()}) {
    if (worker == nullptr || worker->gone()) continue;
    kill_group(worker->process());
    worker->set_failure(launcher_end_);
  }
  launcher_.reset();
}

void WorkerPool::send_signal(std::uint64_t worker, int signal) {
  // If the launcher is gone, so is the worker; the next turn finds out.
  if (launcher_) launcher_->send({ControlKind::signal, worker, signal, {}});
}

void WorkerPool::signal_active(int signal) { send_signal(active_->number(), signal); }

void WorkerPool::replace_active() {
  if (!active_->status()) {
    signal_active(SIGKILL);
    retired_.push_back({active_->number(), active_->process(), Deadline::max()});
  }
  active_.reset();
  if (!launcher_) return;
  promote_spare();
  spare_ = spawn();
}

void WorkerPool::retire_active() {
  retired_.push_back({active_->number(), active_->process(), deadline_in(k_retirement_s)});
  active_.reset();
  promote_spare();
  spare_ = spawn();
}

void WorkerPool::kill_overdue() {
  for (Retired& worker : retired_) {
    if (Clock::now() < worker.kill_at) continue;
    send_signal(worker.number, SIGKILL);
    worker.kill_at = Deadline::max();
  }
}

}  // namespace opreplay
