#include "lib/isolate/supervisor.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <utility>

#include "lib/isolate/launcher_setup.h"
#include "lib/isolate/worker_pool.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

// From SIGTERM to SIGKILL, and from there until a process counts as stuck in its driver.
constexpr double k_grace_s = 0.5;
constexpr double k_unkillable_s = 5;

// Workers may die between two cases; that often in a row is no accident.
constexpr int k_max_unbegun = 3;

Exchange lost(std::string detail) {
  Exchange exchange;
  exchange.detail = std::move(detail);
  return exchange;
}

/// One message to one worker, from sending it to the answer or the worker's end.
class Conversation {
 public:
  Conversation(WorkerPool& pool, Worker& worker, MessageKind kind,
               std::span<const std::byte> payload, double timeout_s,
               const Supervisor::Interrupted& interrupted)
      : pool_(pool),
        worker_(worker),
        kind_(kind),
        writer_(kind, payload),
        next_step_(deadline_in(timeout_s)),
        interrupted_(interrupted) {}

  Exchange run() {
    worker_.begin_request();
    for (;;) {
      if (worker_.writing()) worker_.write_request(writer_);
      const FrameReader::State state = worker_.read_answer();
      if (state == FrameReader::State::complete && stop_ == Stop::none) return answered();
      if (worker_.gone()) return ended();
      if (interrupted_ && !killed_ && interrupted_()) interrupt();
      if (Clock::now() >= next_step_ && !next_step()) return ended();
      pool_.turn(next_step_);
    }
  }

  /// The worker ended before it took up the request, which is therefore not to blame.
  bool unbegun() const { return stop_ == Stop::none && worker_.gone() && !worker_.has_begun(); }

  /// The worker can take another request.
  bool worker_fit() const { return stop_ == Stop::none && !worker_.gone(); }

 private:
  enum class Stop : std::uint8_t { none, deadline, interrupted };

  /// The next escalation once a deadline has passed; false when there is none left.
  bool next_step() {
    if (stop_ == Stop::none) {
      stop_ = Stop::deadline;
      stage_ = worker_.stage();
      pool_.signal_active(SIGTERM);
      next_step_ = deadline_in(k_grace_s);
      return true;
    }
    if (killed_) return false;
    kill();
    return true;
  }

  void interrupt() {
    if (stop_ == Stop::none) {
      stop_ = Stop::interrupted;
      stage_ = worker_.stage();
    }
    kill();
  }

  void kill() {
    killed_ = true;
    pool_.signal_active(SIGKILL);
    next_step_ = deadline_in(k_unkillable_s);
  }

  Exchange answered() {
    Message answer = worker_.take_answer();
    if (answer.kind != kind_) {
      worker_.set_failure("the worker's answer is of another kind than the request");
      return ended();
    }
    Exchange exchange;
    exchange.ending = Ending::answered;
    exchange.stage = worker_.stage();
    exchange.payload = std::move(answer.payload);
    exchange.output_tail = tail();
    return exchange;
  }

  Exchange ended() {
    Exchange exchange;
    exchange.stage = stop_ == Stop::none ? worker_.stage() : stage_;
    exchange.output_tail = tail();
    if (stop_ == Stop::deadline) {
      exchange.ending = Ending::hung;
      if (!worker_.gone())
        exchange.detail = "process " + std::to_string(worker_.process()) +
                          " does not end even by SIGKILL: it may be stuck in its driver";
    } else if (stop_ == Stop::interrupted) {
      exchange.detail = "interrupted";
    } else if (worker_.status() && WIFSIGNALED(*worker_.status())) {
      exchange.ending = Ending::crashed;
      exchange.signal = WTERMSIG(*worker_.status());
    } else if (worker_.status() && worker_.failed_itself()) {
      exchange.detail = "the worker failed";
    } else if (worker_.status()) {
      exchange.ending = Ending::exited;
      exchange.exit_code = WEXITSTATUS(*worker_.status());
    } else {
      exchange.detail = worker_.failure();
    }
    return exchange;
  }

  /// What it wrote before it answered or ended is in the pipe by now.
  std::string tail() {
    worker_.output().drain();
    return worker_.output().text();
  }

  WorkerPool& pool_;
  Worker& worker_;
  MessageKind kind_;
  FrameWriter writer_;
  Deadline next_step_;
  const Supervisor::Interrupted& interrupted_;
  Stop stop_ = Stop::none;
  bool killed_ = false;
  Stage stage_ = Stage::queued;  // when it was stopped
};

Outcome outcome_of(const Exchange& exchange) {
  Outcome outcome;
  if (exchange.ending == Ending::answered) {
    try {
      outcome = decode_outcome(exchange.payload);
    } catch (const Error& error) {
      outcome.ending = Ending::lost;
      outcome.notes.push_back(std::string("the worker's answer cannot be read: ") + error.what());
    }
  } else {
    outcome.ending = exchange.ending;
    outcome.signal = exchange.signal;
    outcome.exit_code = exchange.exit_code;
    outcome.stage = exchange.stage;
    if (!exchange.detail.empty()) outcome.notes.push_back(exchange.detail);
  }
  outcome.output_tail = exchange.output_tail;
  return outcome;
}

}  // namespace

std::string describe(const Exchange& exchange) {
  switch (exchange.ending) {
    case Ending::answered:
      return "the worker answered";
    case Ending::crashed:
      return "the worker was killed by signal " + std::to_string(exchange.signal) + " (" +
             strsignal(exchange.signal) + ")";
    case Ending::exited:
      return "the worker exited with code " + std::to_string(exchange.exit_code);
    case Ending::hung:
      return "the worker did not answer in time";
    case Ending::lost:
      break;
  }
  return exchange.detail;
}

class Supervisor::Impl {
 public:
  Impl(const Profile& profile, const SupervisorOptions& options)
      : timeout_s_(options.timeout_s > 0 ? options.timeout_s : profile.timeout_s),
        recycle_after_(options.recycle_after),
        pool_(make_launcher_setup(profile, options), options.load_timeout_s, options.nonce) {}

  Exchange exchange(MessageKind kind, std::span<const std::byte> payload, double timeout_s,
                    const Interrupted& interrupted) {
    if (payload.size() > k_max_frame_bytes)
      return lost("the request has " + std::to_string(payload.size()) + " bytes, at most " +
                  std::to_string(k_max_frame_bytes) + " can be sent");
    for (int unbegun = 0; unbegun < k_max_unbegun; ++unbegun) {
      std::string why;
      Worker* worker = pool_.ready_worker(interrupted, why);
      if (worker == nullptr) return lost(why);
      if (worker->requests() == 0) ++workers_started_;
      nonce_ = pool_.nonce_of(*worker);
      Conversation conversation(pool_, *worker, kind, payload,
                                timeout_s > 0 ? timeout_s : timeout_s_, interrupted);
      Exchange result = conversation.run();
      const bool again = conversation.unbegun();
      if (!conversation.worker_fit())
        pool_.replace_active();
      else if (recycle_after_ > 0 &&
               worker->requests() >= static_cast<std::uint64_t>(recycle_after_))
        pool_.retire_active();
      if (!again) return result;
    }
    return lost("worker processes ended " + std::to_string(k_max_unbegun) +
                " times in a row before they took up the request");
  }

  double timeout_s() const { return timeout_s_; }
  int workers_started() const { return workers_started_; }
  std::uint64_t nonce() const { return nonce_; }

 private:
  double timeout_s_;
  int recycle_after_;
  int workers_started_ = 0;
  std::uint64_t nonce_ = 0;
  WorkerPool pool_;
};

Supervisor::Supervisor(const Profile& profile, const SupervisorOptions& options)
    : impl_(std::make_unique<Impl>(profile, options)) {}

Supervisor::~Supervisor() = default;

Outcome Supervisor::run(const ReplayRequest& request, const Interrupted& interrupted) {
  const auto start = Clock::now();
  const std::vector<std::byte> payload = encode(request);
  Outcome outcome =
      outcome_of(impl_->exchange(MessageKind::replay, payload, impl_->timeout_s(), interrupted));
  if (outcome.ending != Ending::answered)
    outcome.total_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return outcome;
}

Exchange Supervisor::exchange(MessageKind kind, std::span<const std::byte> payload,
                              double timeout_s, const Interrupted& interrupted) {
  return impl_->exchange(kind, payload, timeout_s, interrupted);
}

std::string Supervisor::identity() {
  const Exchange result = impl_->exchange(MessageKind::identity, {}, 0, {});
  if (result.ending != Ending::answered) {
    std::string text = describe(result) + " when asked for the identity of its device";
    if (!result.output_tail.empty()) text += "; last output: " + result.output_tail;
    throw Error(ExitCode::device_missing, text);
  }
  return {reinterpret_cast<const char*>(result.payload.data()), result.payload.size()};
}

int Supervisor::workers_started() const { return impl_->workers_started(); }

std::uint64_t Supervisor::nonce() const { return impl_->nonce(); }

}  // namespace opreplay
