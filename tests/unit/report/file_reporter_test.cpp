#include <catch2/catch.hpp>

#include "lib/ledger/files.h"
#include "opreplay/error.h"
#include "tests/support/sample_run.h"
#include "tests/support/temporary_folder.h"

using namespace opreplay;
using namespace opreplay::testing;

TEST_CASE("the format comes from the prefix, else from the extension") {
  const auto is = [](const char* text, const char* format, const char* file) {
    const ReportTarget target = parse_report_target(text);
    CHECK(target.format->name == format);
    CHECK(target.file == file);
  };
  is("junit:out.xml", "junit", "out.xml");
  is("junit:report", "junit", "report");
  is("md:a/b.txt", "md", "a/b.txt");
  is("out.xml", "junit", "out.xml");
  is("notes:1.md", "md", "notes:1.md");
  for (const char* text : {"", "out", "pdf:out.pdf", "junit:", ".xml"})
    CHECK_THROWS_AS(parse_report_target(text), Error);
}

TEST_CASE("a report that cannot be written is an error of its own kind") {
  const TemporaryFolder temporary;
  const auto reporter =
      file_reporter(parse_report_target("junit:" + (temporary / "none/out.xml").string()));
  try {
    replay_sample(temporary / "run", *reporter);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::output_failed);
  }
}

TEST_CASE("a report of a finished run folder counts what was not run as pending") {
  const TemporaryFolder temporary;
  const auto reporter = file_reporter(parse_report_target("md:" + (temporary / "a.md").string()));
  replay_sample(temporary / "run", *reporter);
  const RunReport run = load_report(temporary / "run");
  REQUIRE(run.records.size() == 10);
  CHECK(run.records.back().case_text == "aten.tanh(f32[4])");
  CHECK(run.records.back().op == "aten.tanh");
  CHECK(run.records.back().verdict.reason == Reason::not_run);
  CHECK(run.summary.pending == 2);
  CHECK(run.summary.cases == 9);
  CHECK(run.summary.seconds == Approx(9 * 0.0125));
}
