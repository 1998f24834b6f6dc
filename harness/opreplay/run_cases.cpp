#include "harness/opreplay/run_cases.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "harness/opreplay/interrupt.h"
#include "lib/isolate/profile.h"
#include "lib/report/console.h"
#include "lib/report/reporter.h"
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
  const Profile profile = load_profile(device);
  Environment environment = host_environment();
  for (const auto& library : profile.libraries) add_library(environment, library);
  // The simulated device is another device with other faults.
  if (const auto faults = profile.env.find("OPREPLAY_SIM_FILE"); faults != profile.env.end())
    add_library(environment, faults->second);
  add_identity(environment, session.identity());
  return environment;
}

ColorMode color_mode(const std::string& word) {
  if (word == "always") return ColorMode::always;
  return word == "never" ? ColorMode::never : ColorMode::automatic;
}

/// Console and files, as the options ask. Broken report names are found before anything runs.
std::vector<std::unique_ptr<Reporter>> make_reporters(const RunOptions& options,
                                                      const RunEnd& end) {
  std::vector<std::unique_ptr<Reporter>> out;
  ConsoleOptions console;
  console.verbosity = options.quiet         ? Verbosity::quiet
                      : options.verbose > 0 ? Verbosity::verbose
                                            : Verbosity::normal;
  console.color =
      use_color(color_mode(options.color), isatty(STDOUT_FILENO) == 1, std::getenv("NO_COLOR"));
  console.progress_in_place =
      options.progress == "always" || (options.progress == "auto" && isatty(STDERR_FILENO) == 1);
  // Without a progress the stream goes nowhere.
  static std::ostream nowhere(nullptr);
  out.push_back(console_reporter(
      std::cout, options.progress == "never" || options.quiet ? nowhere : std::cerr, console));
  for (const std::string& target : options.reports)
    out.push_back(file_reporter(parse_report_target(target), {end.allow_substitute}));
  return out;
}

Record make_record(const PlannedCase& planned, CaseResult result, const RunPlan& plan,
                   const std::string& environment_id) {
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
  record.device = plan.device;
  record.environment = environment_id;
  record.rules = plan.rules;
  record.repro = std::move(result.repro);
  record.outcome = std::move(result.outcome);
  record.verdict = std::move(result.verdict);
  record.known = std::move(result.known);
  record.time = utc_now();
  return record;
}

}  // namespace

RunFolder open_run_folder(const RunOptions& options) {
  return options.folder.empty() ? RunFolder::create_in() : RunFolder::open(options.folder);
}

ExitCode run_cases(const Plan& plan, Session& session, RunFolder& folder, const RunOptions& options,
                   const std::string& device) {
  const auto start = Clock::now();
  RunEnd end;
  for (const std::string& word : options.allow) parse_allow(word, end);
  const auto reporters = make_reporters(options, end);
  const InterruptGuard guard;

  RunInfo info;
  info.folder = folder.path();
  info.environment = environment_of(session, device);
  info.plan = describe(plan);
  info.plan.command = command_line();
  info.plan.device = device;
  info.plan.rules = id_text(session.rules_hash());
  folder.write_environment(info.environment);
  folder.write_plan(info.plan);
  const std::string environment_id = info.environment.id();

  Summary summary;
  std::int64_t ran = 0;
  for (const auto& reporter : reporters) reporter->begin(info);
  const auto interrupted = [&] {
    for (const auto& reporter : reporters) reporter->tick();
    return InterruptGuard::interrupted();
  };
  for (const PlannedCase& planned : plan.cases) {
    if (interrupted()) break;
    if (options.max_failing() > 0 &&
        summary.blocked - summary.known_blocked >= options.max_failing())
      break;
    CaseResult result = session.run(planned, interrupted);
    // A case cut short by Ctrl-C says nothing about the device: it stays not run.
    if (InterruptGuard::interrupted()) break;
    ++ran;
    const Record record = make_record(planned, std::move(result), info.plan, environment_id);
    folder.append(record);
    summary.add(record.verdict.status, !record.known.empty());
    for (const auto& reporter : reporters) reporter->record(record);
  }
  summary.add_not_run(static_cast<std::int64_t>(plan.cases.size()) - ran);
  summary.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  end.interrupted = InterruptGuard::interrupted();
  for (const auto& reporter : reporters) reporter->end(summary);
  return exit_code(summary, end);
}

}  // namespace opreplay::command
