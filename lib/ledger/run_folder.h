#pragma once
/// The folder of one run: env.json, plan.json, records.jsonl, evidence/. Records are appended, one
/// write(2) each, never rewritten: what was reported survives kill -9. Next: record.h.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ledger/environment.h"
#include "lib/ledger/record.h"
#include "lib/ledger/run_plan.h"

namespace opreplay {

/// What to do with a folder that holds a run already.
enum class OpenMode {
  fresh,    ///< refuse it
  replace,  ///< remove that run's files, and nothing else
  resume,   ///< append to it; a torn last record is cut off
};

/// The writing end. One writer per folder: a second one is refused while the first lives.
class RunFolder {
 public:
  /// Opens `folder`, made if missing. Throws Error{output_failed} if it cannot be made or written,
  /// is not empty without being a run folder, is being written by another process, or (fresh)
  /// holds a run; Error{invalid_input} if there is no run to resume.
  static RunFolder open(const std::filesystem::path& folder, OpenMode mode = OpenMode::fresh);

  /// Makes `root`/<UTC>-<id> and points the link `root`/latest at it.
  static RunFolder create_in(const std::filesystem::path& root = "opreplay-runs");

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&& other) noexcept;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path evidence() const { return path_ / "evidence"; }

  void write_environment(const Environment& environment);
  void write_plan(const RunPlan& plan);
  /// Appends one line. Throws Error{output_failed} on a full disk; the ledger then ends with the
  /// last whole record.
  void append(const Record& record);

 private:
  RunFolder(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::filesystem::path path_;
  int fd_ = -1;  ///< records.jsonl, O_APPEND, locked
};

/// True if `folder` holds a ledger.
bool is_run_folder(const std::filesystem::path& folder);

/// What reading a ledger found beside whole records.
struct LedgerEnd {
  bool torn = false;  ///< the last line was cut short: its writer died
};

/// Calls `visit` for every whole record in order. Throws Error{invalid_input} with file and line.
LedgerEnd for_each_record(const std::filesystem::path& folder,
                          const std::function<void(Record&&)>& visit);

/// The last record of each case, in the order of the cases' first ones.
std::vector<Record> latest_records(const std::filesystem::path& folder);

Environment read_environment(const std::filesystem::path& folder);
RunPlan read_plan(const std::filesystem::path& folder);

/// What object roll-up needs of a record.
JudgedCase judged(const Record& record);

}  // namespace opreplay
