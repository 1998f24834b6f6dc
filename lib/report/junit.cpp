// JUnit XML, as Jenkins, GitLab and GitHub's actions read it: a suite per op, a test per case.
// Not run is never green: pending cases are skipped with their reason; a substitute is a failure
// unless allowed, since the original path failed. A known failure is skipped with what it is.
// Invalid cases are no tests.

#include <fmt/format.h>

#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "lib/report/reporter.h"
#include "lib/report/text.h"

namespace opreplay {
namespace {

struct Counts {
  int tests = 0, failures = 0, skipped = 0, invalid = 0;
  double seconds = 0;
};

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

bool is_failure(const Record& record, const FormatOptions& options) {
  return record.known.empty() &&
         (record.verdict.status == Status::blocked ||
          (record.verdict.status == Status::substitute && !options.allow_substitute));
}

bool is_skipped(const Record& record) {
  return record.verdict.status == Status::pending || !record.known.empty();
}

Counts count(const std::vector<const Record*>& records, const FormatOptions& options) {
  Counts counts;
  for (const Record* record : records) {
    if (record->verdict.status == Status::invalid) {
      ++counts.invalid;
      continue;
    }
    ++counts.tests;
    counts.failures += is_failure(*record, options) ? 1 : 0;
    counts.skipped += is_skipped(*record) ? 1 : 0;
    counts.seconds += record->outcome.total_ms / 1000;
  }
  return counts;
}

void write_counts(pugi::xml_node node, const Counts& counts) {
  node.append_attribute("tests") = counts.tests;
  node.append_attribute("failures") = counts.failures;
  node.append_attribute("errors") = 0;
  node.append_attribute("skipped") = counts.skipped;
  node.append_attribute("time") = fmt::format("{:.3f}", counts.seconds).c_str();
}

void write_property(pugi::xml_node properties, const char* name, const std::string& value) {
  auto property = properties.append_child("property");
  property.append_attribute("name") = name;
  property.append_attribute("value") = printable(value).c_str();
}

void write_case(pugi::xml_node suite, const Record& record, const FormatOptions& options) {
  const Verdict& verdict = record.verdict;
  auto node = suite.append_child("testcase");
  node.append_attribute("classname") = printable(record.op).c_str();
  node.append_attribute("name") = printable(record.case_text).c_str();
  node.append_attribute("time") = fmt::format("{:.3f}", record.outcome.total_ms / 1000).c_str();
  const std::string message =
      headline(verdict) + (verdict.detail.empty() ? "" : ": ") + printable(verdict.detail);
  if (is_failure(record, options)) {
    auto failure = node.append_child("failure");
    failure.append_attribute("type") =
        fmt::format("{}.{}", to_string(verdict.status), to_string(verdict.reason)).c_str();
    failure.append_attribute("message") = message.c_str();
    failure.text() = joined(evidence_lines(record, Detail::full)).c_str();
  } else if (is_skipped(record)) {
    const std::string known =
        record.known.empty() ? "" : " (known: " + printable(record.known) + ")";
    node.append_child("skipped").append_attribute("message") = (message + known).c_str();
  } else if (verdict.status == Status::substitute) {
    node.append_child("system-out").text() = joined(evidence_lines(record, Detail::full)).c_str();
  }
}

}  // namespace

std::string render_junit(const RunReport& run, const FormatOptions& options) {
  std::map<std::string, std::vector<const Record*>> suites;
  for (const Record& record : run.records) suites[record.op].push_back(&record);

  pugi::xml_document document;
  auto declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  auto root = document.append_child("testsuites");
  root.append_attribute("name") = "opreplay";
  std::vector<const Record*> all;
  for (const Record& record : run.records) all.push_back(&record);
  write_counts(root, count(all, options));

  for (const auto& [op, records] : suites) {
    const Counts counts = count(records, options);
    auto suite = root.append_child("testsuite");
    suite.append_attribute("name") = printable(op).c_str();
    write_counts(suite, counts);
    auto properties = suite.append_child("properties");
    write_property(properties, "device", run.plan.device);
    write_property(properties, "environment", run.environment.id());
    write_property(properties, "invalid", std::to_string(counts.invalid));
    for (const Record* record : records)
      if (record->verdict.status != Status::invalid) write_case(suite, *record, options);
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace opreplay
