#include "lib/report/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/judge/objects.h"
#include "lib/ledger/run_folder.h"
#include "lib/report/text.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds k_redraw{100};
constexpr std::chrono::seconds k_plain_line{10};
/// Findings alike that are told in full; further ones get one line each.
constexpr int k_told_in_full = 2;

/// SGR colour of a status.
const char* color_of(Status status) {
  switch (status) {
    case Status::pass:
      return "32";
    case Status::substitute:
      return "36";
    case Status::blocked:
      return "31;1";
    case Status::pending:
      return "33";
    case Status::invalid:
      return "2";
  }
  return "0";
}

class Console : public Reporter {
 public:
  Console(std::ostream& out, std::ostream& err, ConsoleOptions options)
      : out_(out), err_(err), options_(std::move(options)) {}

  void begin(const RunInfo& run) override {
    plan_ = run.plan;
    objects_ = ObjectRollUp(plan_.scope);
    start_ = last_progress_ = options_.now();
  }

  void record(const Record& record) override {
    counted_.add(record.verdict.status);
    objects_.add(judged(record));
    seen_.insert(record.case_id);
    const Status status = record.verdict.status;
    // Who asks about one case wants to know why the CPU rejects it.
    const bool quiet_status =
        status == Status::pass || (status == Status::invalid && plan_.cases.size() > 1);
    if (options_.verbosity == Verbosity::verbose ||
        (options_.verbosity == Verbosity::normal && !quiet_status)) {
      clear_progress();
      print_case(record);
    }
    tick();
  }

  void tick() override {
    if (options_.verbosity == Verbosity::quiet && !options_.progress_in_place) return;
    const auto now = options_.now();
    const Clock::duration pause =
        options_.progress_in_place ? Clock::duration(k_redraw) : Clock::duration(k_plain_line);
    if (now - last_progress_ < pause) return;
    last_progress_ = now;
    const std::string line = progress_line(now);
    if (options_.progress_in_place) {
      err_ << "\r\x1b[K" << line << std::flush;
      progress_shown_ = true;
    } else {
      err_ << line << '\n' << std::flush;
    }
  }

  void end(const Summary& summary) override {
    clear_progress();
    if (options_.verbosity != Verbosity::quiet) {
      add_not_run();
      print_ops();
      print_not_covered();
    }
    out_ << closing_line(summary) << '\n' << std::flush;
    if (!out_)
      throw Error(
          ExitCode::output_failed,
          "cannot write results to the standard output; is the disk full or the pipe closed?");
  }

 private:
  std::string colored(Status status, const std::string& text) const {
    return options_.color ? fmt::format("\x1b[{}m{}\x1b[0m", color_of(status), text) : text;
  }

  void print_case(const Record& record) {
    const Verdict& verdict = record.verdict;
    const bool verbose = options_.verbosity == Verbosity::verbose;
    const std::string head = colored(verdict.status, headline(verdict));
    if (!verbose && is_repetition(record)) {
      out_ << head << "  " << printable(record.repro) << '\n' << std::flush;
      return;
    }
    out_ << head << "  " << printable(record.case_text) << '\n';
    const Detail detail = verbose ? Detail::full : Detail::brief;
    for (const std::string& line : evidence_lines(record, detail)) out_ << "  " << line << '\n';
    // A reader at the other end of a pipe sees each result as it comes.
    out_ << std::flush;
  }

  /// The same was told of this op before, often enough to be read: a missing kernel fails every
  /// case of its op.
  bool is_repetition(const Record& record) {
    if (record.repro.empty()) return false;
    const std::string finding =
        record.op + '\n' + headline(record.verdict) + '\n' + record.verdict.detail;
    return ++findings_[finding] > k_told_in_full;
  }

  std::string progress_line(Clock::time_point now) const {
    const double seconds = std::chrono::duration<double>(now - start_).count();
    return fmt::format("{}/{} cases, {} blocked, {} substitute, {} pending, {:.0f}s", seen_.size(),
                       plan_.cases.size(), counted_.blocked, counted_.substitute, counted_.pending,
                       seconds);
  }

  void clear_progress() {
    if (progress_shown_) err_ << "\r\x1b[K" << std::flush;
    progress_shown_ = false;
  }

  void add_not_run() {
    std::int64_t count = 0;
    for (const RunPlan::Entry& entry : plan_.cases) {
      if (seen_.count(entry.case_id) != 0) continue;
      objects_.add({entry.case_text, "", op_of(entry.case_text), "", entry.workload,
                    Status::pending, Reason::not_run});
      ++count;
    }
    if (count > 0) out_ << fmt::format("not run: {} of {} cases\n", count, plan_.cases.size());
  }

  void print_ops() {
    const std::vector<ObjectVerdict> ops = objects_.ops();
    if (ops.empty()) return;
    const auto with = [&](Status status) {
      return std::count_if(ops.begin(), ops.end(),
                           [&](const ObjectVerdict& op) { return op.status == status; });
    };
    out_ << fmt::format("\nops: {} pass, {} substitute, {} blocked, {} pending\n",
                        with(Status::pass), with(Status::substitute), with(Status::blocked),
                        with(Status::pending));
    std::size_t width = 0;
    for (const ObjectVerdict& op : ops) width = std::max(width, op.name.size());
    for (const Status status : {Status::blocked, Status::pending, Status::substitute, Status::pass})
      for (const ObjectVerdict& op : ops)
        if (op.status == status) print_op(op, width);
  }

  void print_op(const ObjectVerdict& op, std::size_t width) {
    const bool verbose = options_.verbosity == Verbosity::verbose;
    if (op.status == Status::pass && op.edge_findings == 0 && !verbose) return;
    std::string about;
    if (op.required == 0) {
      about = "no required case was run";
    } else if (op.status != Status::pass) {
      about = std::string(to_string(op.reason)) + ": " + printable(op.worst_case);
    }
    if (op.edge_findings > 0)
      about += fmt::format("{}{} edge finding{} beside, first {}", about.empty() ? "" : "; ",
                           op.edge_findings, op.edge_findings == 1 ? "" : "s",
                           printable(op.first_edge_finding));
    const std::string status = fmt::format("{:<10}", to_string(op.status));
    std::string line = fmt::format("  {} {:<{}}  {}", colored(op.status, status),
                                   printable(op.name), width, about);
    line.erase(line.find_last_not_of(' ') + 1);
    out_ << line << '\n';
  }

  void print_not_covered() {
    if (plan_.not_covered.empty()) return;
    out_ << "not covered:\n";
    for (const NotCovered& gap : plan_.not_covered)
      out_ << fmt::format("  {} {}: {}\n", printable(gap.op), printable(gap.family),
                          printable(gap.why));
  }

  std::ostream& out_;
  std::ostream& err_;
  ConsoleOptions options_;
  RunPlan plan_;
  ObjectRollUp objects_;
  Summary counted_;
  std::unordered_set<std::string> seen_;
  std::unordered_map<std::string, int> findings_;  ///< op, verdict and detail: how often told
  Clock::time_point start_, last_progress_;
  bool progress_shown_ = false;
};

}  // namespace

bool use_color(ColorMode mode, bool terminal, const char* no_color) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  return terminal && (no_color == nullptr || *no_color == '\0');
}

std::unique_ptr<Reporter> console_reporter(std::ostream& out, std::ostream& err,
                                           ConsoleOptions options) {
  return std::make_unique<Console>(out, err, std::move(options));
}

}  // namespace opreplay
