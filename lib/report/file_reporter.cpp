#include <algorithm>
#include <unordered_set>
#include <utility>

#include "lib/ledger/files.h"
#include "lib/ledger/run_folder.h"
#include "lib/report/reporter.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

/// Keeps nothing while the run goes on: the ledger on disk is the truth, and memory stays flat.
class FileReporter : public Reporter {
 public:
  FileReporter(ReportTarget target, FormatOptions options)
      : target_(std::move(target)), options_(options) {}

  void begin(const RunInfo& run) override { folder_ = run.folder; }
  void record(const Record&) override {}
  void end(const Summary& summary) override {
    RunReport run = load_report(folder_);
    run.summary.seconds = summary.seconds;
    write_file(target_.file, target_.format->render(run, options_));
  }

 private:
  ReportTarget target_;
  FormatOptions options_;
  std::filesystem::path folder_;
};

const ReportFormat* find_format(std::string_view name, std::string_view ReportFormat::*member) {
  const auto& formats = report_formats();
  const auto it = std::find_if(formats.begin(), formats.end(),
                               [&](const ReportFormat& f) { return f.*member == name; });
  return it == formats.end() ? nullptr : &*it;
}

}  // namespace

const std::vector<ReportFormat>& report_formats() {
  static const std::vector<ReportFormat> formats = {
      {"junit", ".xml", render_junit},
      {"md", ".md", render_markdown},
  };
  return formats;
}

ReportTarget parse_report_target(std::string_view text) {
  ReportTarget target;
  const auto colon = text.find(':');
  if (colon != std::string_view::npos) {
    target.format = find_format(text.substr(0, colon), &ReportFormat::name);
    target.file = text.substr(colon + 1);
  }
  // A colon may also belong to the file's name.
  if (target.format == nullptr) {
    target.file = text;
    target.format = find_format(target.file.extension().string(), &ReportFormat::extension);
  }
  if (target.format != nullptr && target.file.has_filename()) return target;
  std::string known;
  for (const ReportFormat& format : report_formats())
    known += std::string(known.empty() ? "" : ", ") + std::string(format.name) + ":FILE or FILE" +
             std::string(format.extension);
  throw Error(ExitCode::usage, "report: expected " + known + ", found '" + std::string(text) + "'");
}

std::unique_ptr<Reporter> file_reporter(ReportTarget target, FormatOptions options) {
  return std::make_unique<FileReporter>(std::move(target), options);
}

RunReport load_report(const std::filesystem::path& folder) {
  RunReport run{read_environment(folder), read_plan(folder), latest_records(folder), {}};
  std::unordered_set<std::string> seen;
  for (const Record& record : run.records) seen.insert(record.case_id);
  for (const RunPlan::Entry& entry : run.plan.cases) {
    if (!seen.insert(entry.case_id).second) continue;
    Record record;
    record.case_text = entry.case_text;
    record.case_id = entry.case_id;
    record.op = op_of(entry.case_text);
    record.workload = entry.workload;
    record.device = run.plan.device;
    run.records.push_back(std::move(record));
  }
  for (const Record& record : run.records) {
    run.summary.add(record.verdict.status, !record.known.empty());
    run.summary.seconds += record.outcome.total_ms / 1000;
  }
  return run;
}

}  // namespace opreplay
