// The run folder: what it refuses, and that nothing reported is lost.
#include "lib/ledger/run_folder.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "lib/ledger/files.h"
#include "opreplay/error.h"
#include "tests/support/temporary_folder.h"

using namespace opreplay;
using opreplay::testing::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

Record record(int number) {
  Record r;
  r.case_text = "aten.relu(f32[" + std::to_string(number) + "])";
  r.case_id = std::to_string(number);
  r.op = "aten.relu";
  r.verdict.status = Status::pass;
  r.verdict.reason = Reason::none;
  return r;
}

std::vector<std::string> cases_in(const fs::path& folder) {
  std::vector<std::string> result;
  for_each_record(folder, [&](Record&& r) { result.push_back(r.case_id); });
  return result;
}

void touch(const fs::path& file, const std::string& text = "x") { std::ofstream(file) << text; }

ExitCode code_of(const std::function<void()>& action, const std::string& word_of_message) {
  try {
    action();
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Catch::Contains(word_of_message));
    return error.code();
  }
  return ExitCode::ok;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("records come back in order from a folder made on the way") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "a/b";
  RunFolder run = RunFolder::open(folder);
  for (int i = 0; i < 3; ++i) run.append(record(i));
  CHECK(cases_in(folder) == Words{"0", "1", "2"});
  CHECK(fs::is_directory(run.evidence()));
}

TEST_CASE("the default folder carries the UTC time, and latest points at the newest") {
  const TemporaryFolder temporary;
  const fs::path root = temporary / "opreplay-runs";
  const fs::path first = RunFolder::create_in(root).path();
  CHECK(fs::equivalent(root / "latest", first));
  const fs::path second = RunFolder::create_in(root).path();
  CHECK(first != second);
  CHECK(fs::equivalent(root / "latest", second));
  const std::string name = second.filename().string();
  REQUIRE(name.size() == std::string("20260131T235959Z-012345").size());
  CHECK(name[8] == 'T');
  CHECK(name[15] == 'Z');
  CHECK(name[16] == '-');
}

TEST_CASE("a folder that is not ours is refused and left as it was") {
  const TemporaryFolder temporary;
  touch(temporary / "thesis.tex");
  for (const OpenMode mode : {OpenMode::fresh, OpenMode::replace})
    CHECK(code_of([&] { RunFolder::open(temporary.path(), mode); }, "is not empty") ==
          ExitCode::output_failed);
  CHECK(code_of([&] { RunFolder::open(temporary.path(), OpenMode::resume); }, "no run to resume") ==
        ExitCode::invalid_input);
  CHECK(read_file(temporary / "thesis.tex") == "x");
  CHECK(std::distance(fs::directory_iterator(temporary.path()), {}) == 1);
  CHECK(code_of([&] { RunFolder::open(temporary / "thesis.tex"); }, "thesis.tex") ==
        ExitCode::output_failed);
}

TEST_CASE("a folder with a run: refused, replaced or resumed, as asked") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "run";
  {
    RunFolder run = RunFolder::open(folder);
    run.append(record(1));
    touch(run.evidence() / "out.bin");
    touch(folder / "report.xml");
  }
  CHECK(code_of([&] { RunFolder::open(folder); }, "holds a run already") ==
        ExitCode::output_failed);
  CHECK(cases_in(folder) == Words{"1"});
  {
    RunFolder run = RunFolder::open(folder, OpenMode::resume);
    run.append(record(2));
    CHECK(cases_in(folder) == Words{"1", "2"});
  }
  RunFolder run = RunFolder::open(folder, OpenMode::replace);
  CHECK(cases_in(folder).empty());
  CHECK(fs::is_empty(run.evidence()));
  CHECK(fs::exists(folder / "report.xml"));
}

TEST_CASE("one writer at a time") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "run";
  {
    RunFolder run = RunFolder::open(folder);
    CHECK(code_of([&] { RunFolder::open(folder, OpenMode::resume); }, "another process") ==
          ExitCode::output_failed);
    run.append(record(1));
    CHECK(code_of([&] { RunFolder::open(folder, OpenMode::replace); }, "another process") ==
          ExitCode::output_failed);
    CHECK(cases_in(folder) == Words{"1"});
  }
  CHECK_NOTHROW(RunFolder::open(folder, OpenMode::resume));
}

TEST_CASE("a torn last line is passed over by readers and cut off by the next writer") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "run";
  RunFolder::open(folder).append(record(1));
  const std::string torn = to_json_line(record(2));
  std::ofstream(folder / "records.jsonl", std::ios::app) << torn.substr(0, torn.size() / 2);
  Words seen;
  CHECK(for_each_record(folder, [&](Record&& r) { seen.push_back(r.case_id); }).torn);
  CHECK(seen == Words{"1"});
  RunFolder::open(folder, OpenMode::resume).append(record(3));
  seen.clear();
  CHECK_FALSE(for_each_record(folder, [&](Record&& r) { seen.push_back(r.case_id); }).torn);
  CHECK(seen == Words{"1", "3"});
}

TEST_CASE("a bad line in the middle is an error with its number") {
  const TemporaryFolder temporary;
  RunFolder::open(temporary / "run").append(record(1));
  std::ofstream(temporary / "run/records.jsonl", std::ios::app) << "{}\n";
  CHECK(code_of([&] { cases_in(temporary / "run"); }, "records.jsonl:2: record: key 'v'") ==
        ExitCode::invalid_input);
  CHECK(code_of([&] { cases_in(temporary / "none"); }, "is it a run folder?") ==
        ExitCode::invalid_input);
}

TEST_CASE("a full disk is an error, and the ledger ends with the last whole record") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "run";
  RunFolder run = RunFolder::open(folder);
  run.append(record(1));
  const auto one = fs::file_size(folder / "records.jsonl");

  // A limit on file size makes write(2) first fall short, then fail, as a full disk does.
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  const rlimit limit{one + one / 2, old_limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::string message;
  try {
    run.append(record(2));
  } catch (const Error& error) {
    message = error.what();
    CHECK(error.code() == ExitCode::output_failed);
  }
  setrlimit(RLIMIT_FSIZE, &old_limit);
  signal(SIGXFSZ, old_handler);

  CHECK_THAT(message, Catch::Contains("the records before are kept"));
  CHECK(fs::file_size(folder / "records.jsonl") == one);
  run.append(record(3));
  CHECK(cases_in(folder) == Words{"1", "3"});
}

TEST_CASE("kill -9 loses no record that was appended") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "run";
  int reported[2];
  REQUIRE(pipe(reported) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    RunFolder run = RunFolder::open(folder);
    for (int i = 0;; ++i) {
      run.append(record(i));
      if (write(reported[1], "r", 1) != 1) _exit(1);
    }
  }
  close(reported[1]);
  std::size_t count = 0;
  char byte = 0;
  while (count < 50 && read(reported[0], &byte, 1) == 1) ++count;
  kill(child, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  while (read(reported[0], &byte, 1) == 1) ++count;
  close(reported[0]);
  CHECK(count >= 50);
  CHECK(cases_in(folder).size() >= count);
}

TEST_CASE("the latest record of a case stands for it, at the place of its first") {
  const TemporaryFolder temporary;
  RunFolder run = RunFolder::open(temporary / "run");
  run.append(record(1));
  run.append(record(2));
  Record again = record(1);
  again.owner = "kernel team";
  run.append(again);
  const auto latest = latest_records(temporary / "run");
  REQUIRE(latest.size() == 2);
  CHECK(latest[0].case_id == "1");
  CHECK(latest[0].owner == "kernel team");
}

TEST_CASE("a case typed by hand adds to the scope of its op, a spec says all of it") {
  Plan plan;
  PlannedCase typed;
  typed.c.calls = {OpCall{.op = "aten.relu", .args = {}}};
  typed.scope = {"layout.step2"};
  PlannedCase planned = typed;
  planned.spec = "aten.tanh.yaml";
  planned.c.calls[0].op = "aten.tanh";
  plan.cases = {typed, planned};
  const Scope scope = describe(plan).scope;
  Words with_defaults = scope.defaults;
  with_defaults.push_back("layout.step2");
  CHECK(scope.per_op.at("aten.relu") == with_defaults);
  CHECK(scope.per_op.at("aten.tanh") == Words{"layout.step2"});
}

TEST_CASE("the plan comes back with scopes and gaps") {
  Plan plan;
  PlannedCase c;
  c.c.calls.push_back({"aten.relu", {}});
  c.text = "aten.relu()";
  c.spec = "aten.relu.yaml";
  c.scope = {"layout"};
  plan.cases.push_back(c);
  plan.not_covered.push_back({"aten.relu", "shape", "ties unknown"});
  RunPlan written = describe(plan);
  written.command = "opreplay run \"x\"";
  written.device = "sim";
  written.rules = "00ff";
  const TemporaryFolder temporary;
  RunFolder::open(temporary / "run").write_plan(written);
  const RunPlan read = read_plan(temporary / "run");
  CHECK(read.command == written.command);
  CHECK(read.device == "sim");
  CHECK(read.rules == "00ff");
  REQUIRE(read.cases.size() == 1);
  CHECK(read.cases[0].case_text == "aten.relu()");
  CHECK(read.cases[0].case_id.size() == 16);
  CHECK(read.cases == written.cases);
  CHECK(read.not_covered == plan.not_covered);
  CHECK(read.scope.per_op.at("aten.relu") == Words{"layout"});
  CHECK(read.scope.defaults == Scope{}.defaults);
  CHECK(code_of([] { run_plan_from_json("{\"v\":1}"); }, "'command': missing") ==
        ExitCode::invalid_input);
  CHECK(code_of([] { run_plan_from_json("{\"v\":7}"); }, "version 7") == ExitCode::invalid_input);
}
