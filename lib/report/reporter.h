#pragma once
/// Reporters tell people and other programs what a run found. Console streams; JUnit and Markdown
/// files are written at the end, from the ledger. docs/reports.md.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/judge/summary.h"
#include "lib/ledger/environment.h"
#include "lib/ledger/record.h"
#include "lib/ledger/run_plan.h"

namespace opreplay {

/// What is known before the first case.
struct RunInfo {
  std::filesystem::path folder;  ///< the run folder; its ledger holds every record reported
  Environment environment;
  RunPlan plan;
};

class Reporter {
 public:
  virtual ~Reporter() = default;
  /// Once, before the first record.
  virtual void begin(const RunInfo& run) = 0;
  /// Once per finished case, after it was appended to the ledger.
  virtual void record(const Record& record) = 0;
  /// Often, while a case runs (every 100 ms or so); for progress.
  virtual void tick() {}
  /// Once, after the last record, also when the run was interrupted.
  virtual void end(const Summary& summary) = 0;
};

/// A run as the file formats see it. Planned cases without a record stand among the records as
/// pending, not_run.
struct RunReport {
  Environment environment;
  RunPlan plan;
  std::vector<Record> records;
  Summary summary;
};

/// Reads a run folder; the latest record of a case counts, `seconds` is the time the cases took.
/// Throws Error{invalid_input}.
RunReport load_report(const std::filesystem::path& folder);

struct FormatOptions {
  bool allow_substitute = false;  ///< --allow substitute: such cases are no failures
};

/// A file format: add one .cpp with its `render`, one line in report_formats(), one golden file.
struct ReportFormat {
  std::string_view name;       ///< "junit"
  std::string_view extension;  ///< ".xml"
  std::string (*render)(const RunReport& run, const FormatOptions& options);
};
std::string render_junit(const RunReport& run, const FormatOptions& options);
std::string render_markdown(const RunReport& run, const FormatOptions& options);
const std::vector<ReportFormat>& report_formats();

/// Where a report goes: "junit:out.xml", or "out.xml" with the format taken from the extension.
struct ReportTarget {
  const ReportFormat* format = nullptr;
  std::filesystem::path file;
};
/// Throws Error{usage} naming the formats there are.
ReportTarget parse_report_target(std::string_view text);

/// Writes `target` when the run ends. `end` throws Error{output_failed} if it cannot be written.
std::unique_ptr<Reporter> file_reporter(ReportTarget target, FormatOptions options = {});

}  // namespace opreplay
