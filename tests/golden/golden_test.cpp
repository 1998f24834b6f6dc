// Each report of the sample run, byte for byte. A change here is a change of what users read:
// look at the difference, then run with OPREPLAY_APPROVE=1.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>

#include "lib/ledger/files.h"
#include "lib/report/console.h"
#include "tests/support/sample_run.h"
#include "tests/support/temporary_folder.h"

using namespace opreplay;
using namespace opreplay::testing;

namespace {

void check_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(OPREPLAY_GOLDEN) / name;
  if (std::getenv("OPREPLAY_APPROVE") != nullptr) write_file(file, text);
  CHECK(text == read_file(file));
}

std::string console(ConsoleOptions options) {
  std::ostringstream out, err;
  const TemporaryFolder temporary;
  // A clock that stands still: no progress line falls due.
  options.now = [] { return std::chrono::steady_clock::time_point{}; };
  replay_sample(temporary / "run", *console_reporter(out, err, options));
  CHECK(err.str().empty());
  return out.str();
}

std::string file(const std::string& target, FormatOptions options = {}) {
  const TemporaryFolder temporary;
  const auto path = temporary / "report";
  replay_sample(temporary / "run",
                *file_reporter(parse_report_target(target + ":" + path.string()), options));
  return read_file(path);
}

}  // namespace

TEST_CASE("console") { check_golden("console.txt", console({})); }

TEST_CASE("console, verbose, coloured") {
  check_golden("console_verbose.txt", console({.verbosity = Verbosity::verbose, .color = true}));
}

TEST_CASE("console, quiet: the closing line of the design") {
  CHECK(console({.verbosity = Verbosity::quiet}) ==
        "cases:9 pass:2 substitute:1 blocked:4 pending:2 (invalid:1) time:1.2s\n");
}

TEST_CASE("JUnit") { check_golden("junit.xml", file("junit")); }

TEST_CASE("JUnit with substitutes allowed") {
  check_golden("junit_allow.xml", file("junit", {.allow_substitute = true}));
}

TEST_CASE("Markdown") { check_golden("report.md", file("md")); }
