#include "lib/report/console.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "lib/report/text.h"
#include "opreplay/error.h"
#include "tests/support/sample_run.h"

using namespace opreplay;
using namespace opreplay::testing;
using std::chrono::seconds;

namespace {

/// A console whose clock the test turns.
struct Bench {
  explicit Bench(bool in_place, Verbosity verbosity = Verbosity::normal) {
    ConsoleOptions options;
    options.verbosity = verbosity;
    options.progress_in_place = in_place;
    options.now = [this] { return time; };
    console = console_reporter(out, err, options);
    RunInfo info;
    info.plan = sample_plan();
    console->begin(info);
  }
  std::string take_err() {
    std::string text = err.str();
    err.str("");
    return text;
  }
  std::ostringstream out, err;
  std::chrono::steady_clock::time_point time{};
  std::unique_ptr<Reporter> console;
};

}  // namespace

TEST_CASE("off a terminal: one plain progress line every 10 s, none before") {
  Bench bench(false);
  bench.time += seconds(9);
  bench.console->tick();
  CHECK(bench.take_err().empty());
  bench.time += seconds(1);
  bench.console->tick();
  CHECK(bench.take_err() == "0/10 cases, 0 blocked, 0 substitute, 0 pending, 10s\n");
  bench.console->tick();
  CHECK(bench.take_err().empty());
  bench.console->record(sample_records()[1]);
  bench.time += seconds(12);
  bench.console->tick();
  CHECK(bench.take_err() == "1/10 cases, 1 blocked, 0 substitute, 0 pending, 22s\n");
}

TEST_CASE("on a terminal: the line is rewritten, and gone before a result is printed") {
  Bench bench(true);
  bench.time += seconds(1);
  bench.console->tick();
  CHECK(bench.take_err() == "\r\x1b[K0/10 cases, 0 blocked, 0 substitute, 0 pending, 1s");
  bench.console->record(sample_records()[1]);
  CHECK(bench.take_err() == "\r\x1b[K");
  CHECK(bench.out.str().starts_with("blocked wrong_class  aten.clamp"));
  bench.console->end(sample_summary());
  CHECK(bench.take_err().empty());
}

TEST_CASE("a result is there as soon as it is recorded") {
  Bench bench(false);
  bench.console->record(sample_records()[1]);
  CHECK(bench.out.str() ==
        "blocked wrong_class  aten.clamp(f32[2,3,4,5], 0.0, 1.0) values.nan@first\n"
        "  NaN expected at 1 of 120 elements (element [0,0,0,0]: target 0, reference nan)\n"
        "  repro: opreplay run 'aten.clamp(f32[2,3,4,5], 0.0, 1.0) values.nan@first' --device "
        "sim:faults.yaml\n");
}

TEST_CASE("passes and invalid cases show with -v only") {
  Bench normal(false), verbose(false, Verbosity::verbose);
  for (const std::size_t i : {0U, 6U}) {
    normal.console->record(sample_records()[i]);
    verbose.console->record(sample_records()[i]);
  }
  CHECK(normal.out.str().empty());
  CHECK(verbose.out.str().starts_with("pass  aten.clamp(f32[2,3,4,5], 0.0, 1.0)\n  note: signed"));
  CHECK(verbose.out.str().find("\ninvalid  aten.amax") != std::string::npos);
}

TEST_CASE("a closed output is an error at the end, not silence") {
  Bench bench(false);
  bench.out.setstate(std::ios::badbit);
  try {
    bench.console->end(sample_summary());
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::output_failed);
  }
}

TEST_CASE("colours: terminal, NO_COLOR, explicit choice") {
  CHECK(use_color(ColorMode::automatic, true, nullptr));
  CHECK(use_color(ColorMode::automatic, true, ""));
  CHECK_FALSE(use_color(ColorMode::automatic, true, "1"));
  CHECK_FALSE(use_color(ColorMode::automatic, false, nullptr));
  CHECK(use_color(ColorMode::always, false, "1"));
  CHECK_FALSE(use_color(ColorMode::never, true, nullptr));
}

TEST_CASE("control characters of a device never reach the terminal") {
  CHECK(printable("a\x1b[2J\nb\x7f é") == "a\\x1b[2J\\x0ab\\x7f é");
}

TEST_CASE("figures: of each output with bad values, named where there are several") {
  Outcome one = sample_records()[2].outcome;
  CHECK(figure_lines(one) ==
        std::vector<std::string>{"max abs 0.25, max rel 0.2, max ulp 2.1e+06, rms 4.5, zeros 25 %, "
                                 "nan 0 % (accumulate)"});
  one.outputs.push_back({});
  CHECK(figure_lines(one).size() == 1);
  CHECK(figure_lines(one)[0].starts_with("out: max abs"));
}
