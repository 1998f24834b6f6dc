#include "harness/opreplay/run_cases.h"

#include <fmt/core.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>

#include "harness/opreplay/interrupt.h"
#include "lib/isolate/profile.h"
#include "lib/session/repro.h"

namespace opreplay::command {
namespace {

using Clock = std::chrono::steady_clock;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

/// The command as typed, quoted for a shell.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string raw{std::istreambuf_iterator<char>(file), {}};
  std::string out;
  for (std::size_t at = 0; at < raw.size();) {
    const std::string word = raw.c_str() + at;
    out += (out.empty() ? "" : " ") + shell_quote(word);
    at += word.size() + 1;
  }
  return out;
}

Environment environment_of(Session& session, const std::string& device) {
  Environment environment = host_environment();
  for (const auto& library : load_profile(device).libraries) add_library(environment, library);
  add_identity(environment, session.identity());
  return environment;
}

}  // namespace

RunFolder open_run_folder(const RunOptions& options) {
  return options.folder.empty() ? RunFolder::create_in() : RunFolder::open(options.folder);
}

ExitCode run_cases(const Plan& plan, Session& session, RunFolder& folder,
                   const RunOptions& options, const std::string& device) {
  const auto start = Clock::now();
  RunEnd end;
  for (const std::string& word : options.allow) parse_allow(word, end);
  const InterruptGuard guard;

  const Environment environment = environment_of(session, device);
  const std::string environment_id = environment.id();
  const std::string rules_hash = id_text(session.rules_hash());
  RunPlan run_plan = describe(plan);
  run_plan.command = command_line();
  run_plan.device = device;
  run_plan.rules = rules_hash;
  folder.write_environment(environment);
  folder.write_plan(run_plan);

  Summary summary;
  std::int64_t ran = 0;
  for (const PlannedCase& planned : plan.cases) {
    if (InterruptGuard::interrupted()) break;
    if (options.max_failing() > 0 && summary.blocked >= options.max_failing()) break;
    CaseResult result = session.run(planned, InterruptGuard::interrupted);
    // A case cut short by Ctrl-C says nothing about the device: it stays not run.
    if (InterruptGuard::interrupted()) break;
    ++ran;
    Record record;
    record.case_text = planned.text;
    record.case_id = id_text(case_id(planned.c));
    record.call_id = id_text(call_id(planned.c.calls.back()));
    record.op = planned.c.calls.back().op;
    record.workload = planned.workload;
    record.family = planned.family;
    record.count = planned.count;
    record.module = planned.module;
    record.spec = planned.spec;
    record.device = device;
    record.environment = environment_id;
    record.rules = rules_hash;
    record.repro = std::move(result.repro);
    record.outcome = std::move(result.outcome);
    record.verdict = std::move(result.verdict);
    record.time = utc_now();
    folder.append(record);
    summary.add(record.verdict.status);
    if (record.verdict.status != Status::pass)
      fmt::print("{} {} {}\n    {}\n    {}\n", to_string(record.verdict.status),
                 to_string(record.verdict.reason), record.case_text, record.verdict.detail,
                 record.repro);
  }
  summary.add_not_run(static_cast<std::int64_t>(plan.cases.size()) - ran);
  summary.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  end.interrupted = InterruptGuard::interrupted();
  fmt::print("{}\n", closing_line(summary));
  return exit_code(summary, end);
}

}  // namespace opreplay::command
