// JUnit as a CI server reads it: parsed back and counted.
#include <catch2/catch.hpp>
#include <pugixml.hpp>

#include "tests/support/sample_run.h"

using namespace opreplay;
using namespace opreplay::testing;

namespace {

RunReport sample_report() {
  RunReport run{sample_environment(), sample_plan(), sample_records(), sample_summary()};
  return run;
}

pugi::xml_document parsed(const RunReport& run, FormatOptions options = {}) {
  pugi::xml_document document;
  REQUIRE(document.load_string(render_junit(run, options).c_str()));
  return document;
}

std::size_t found(const pugi::xml_document& document, const char* path) {
  return document.select_nodes(path).size();
}

}  // namespace

TEST_CASE(
    "blocked fails, pending is skipped, a substitute fails unless allowed, invalid is absent") {
  const auto document = parsed(sample_report());
  CHECK(found(document, "//testcase") == 8);
  CHECK(found(document, "//failure") == 5);
  CHECK(found(document, "//failure[@type='substitute.cpu_fallback']") == 1);
  CHECK(found(document, "//skipped") == 1);
  CHECK(found(document, "//testcase[@classname='aten.amax']") == 0);
  CHECK(found(document, "//testsuite[@name='aten.amax']//property[@name='invalid'][@value='1']") ==
        1);

  const auto allowed = parsed(sample_report(), {.allow_substitute = true});
  CHECK(found(allowed, "//failure") == 4);
  CHECK(found(allowed, "//system-out") == 1);
}

TEST_CASE("the counts of each suite and of all are those of its cases") {
  const auto document = parsed(sample_report());
  int tests = 0, failures = 0, skipped = 0;
  for (const auto& node : document.select_nodes("//testsuite")) {
    const auto suite = node.node();
    CHECK(suite.attribute("tests").as_uint() == suite.select_nodes("testcase").size());
    CHECK(suite.attribute("failures").as_uint() == suite.select_nodes("testcase/failure").size());
    CHECK(suite.attribute("skipped").as_uint() == suite.select_nodes("testcase/skipped").size());
    tests += suite.attribute("tests").as_int();
    failures += suite.attribute("failures").as_int();
    skipped += suite.attribute("skipped").as_int();
  }
  const auto root = document.child("testsuites");
  CHECK(root.attribute("tests").as_int() == tests);
  CHECK(root.attribute("failures").as_int() == failures);
  CHECK(root.attribute("skipped").as_int() == skipped);
}

TEST_CASE("whatever a device writes, the XML is well formed and keeps it readable") {
  RunReport run = sample_report();
  Record& r = run.records[3];
  std::string every;
  for (int c = 1; c < 128; ++c) every += static_cast<char>(c);
  r.case_text = every;
  r.op = every;
  r.verdict.detail = every + "]]>";
  r.outcome.output_tail = every;
  const std::string text = render_junit(run, {});
  // XML 1.0 section 2.2: of the control characters only tab, line feed and carriage return.
  for (const char c : text) CHECK((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
  CHECK(text.find("&#") == std::string::npos);
  const auto document = parsed(run);
  const std::string name =
      document.select_node("//testcase[contains(@name, '<=>')]").node().attribute("name").value();
  CHECK(name.starts_with("\\x01\\x02"));
  CHECK(name.find("\"#$%&'()") != std::string::npos);
}
