#include "lib/ledger/run_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <random>
#include <unordered_map>
#include <utility>

#include "lib/ledger/files.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_environment = "env.json";
constexpr const char* k_plan = "plan.json";
constexpr const char* k_records = "records.jsonl";
constexpr const char* k_evidence = "evidence";

[[noreturn]] void fail(const std::string& message) {
  throw Error(ExitCode::output_failed, message);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder))
    fail("cannot make the run folder " + folder.string() + ": " +
         (error ? error.message() : std::string("a file of that name is there")));
}

void check_mode(const fs::path& folder, OpenMode mode) {
  const bool holds_run = is_run_folder(folder);
  if (mode == OpenMode::resume) {
    if (holds_run) return;
    throw Error(ExitCode::invalid_input,
                "no run to resume in " + folder.string() + ": expected " + k_records + " there");
  }
  std::error_code error;
  if (holds_run && mode == OpenMode::fresh)
    fail(folder.string() + " holds a run already; name another folder");
  if (!holds_run && fs::exists(folder) && !fs::is_empty(folder, error))
    fail(folder.string() + " is not empty and holds no run; name another folder");
}

/// Cuts off what follows the last line end. Returns false if that cannot be done.
bool cut_torn_line(int fd) {
  off_t end = ::lseek(fd, 0, SEEK_END);
  char c = 0;
  off_t keep = end;
  while (keep > 0 && ::pread(fd, &c, 1, keep - 1) == 1 && c != '\n') --keep;
  return end >= 0 && (keep == end || ::ftruncate(fd, keep) == 0);
}

int open_ledger(const fs::path& folder) {
  const fs::path file = folder / k_records;
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) fail("cannot write " + file.string() + ": " + system_error_text());
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  const std::string why =
      errno == EWOULDBLOCK ? "another process is writing this run" : system_error_text();
  ::close(fd);
  fail("cannot write " + file.string() + ": " + why);
}

void point_latest_at(const fs::path& root, const fs::path& name) {
  // A link made aside and renamed: `latest` always names a run.
  const fs::path aside = root / fmt::format(".latest{}", ::getpid());
  std::error_code error;
  fs::remove(aside, error);
  fs::create_directory_symlink(name, aside, error);
  if (!error) fs::rename(aside, root / "latest", error);
  if (error) fail("cannot write the link " + (root / "latest").string() + ": " + error.message());
}

}  // namespace

RunFolder RunFolder::open(const fs::path& folder, OpenMode mode) {
  check_mode(folder, mode);
  make_folder(folder);
  RunFolder run(folder, open_ledger(folder));
  std::error_code error;
  if (mode == OpenMode::replace) {
    for (const char* name : {k_environment, k_plan, k_evidence})
      fs::remove_all(folder / name, error);
    if (::ftruncate(run.fd_, 0) != 0)
      fail("cannot empty " + (folder / k_records).string() + ": " + system_error_text());
  }
  if (!cut_torn_line(run.fd_))
    fail("cannot mend " + (folder / k_records).string() + ": " + system_error_text());
  make_folder(run.evidence());
  return run;
}

RunFolder RunFolder::create_in(const fs::path& root) {
  make_folder(root);
  std::random_device random;
  const std::string stamp = fmt::format(
      "{:%Y%m%dT%H%M%SZ}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  const std::string name = fmt::format("{}-{:06x}", stamp, random() & 0xffffffU);
  RunFolder run = open(root / name);
  point_latest_at(root, name);
  return run;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

RunFolder& RunFolder::operator=(RunFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

RunFolder::~RunFolder() {
  if (fd_ >= 0) ::close(fd_);
}

void RunFolder::write_environment(const Environment& environment) {
  write_file(path_ / k_environment, to_json(environment));
}

void RunFolder::write_plan(const RunPlan& plan) { write_file(path_ / k_plan, to_json(plan)); }

void RunFolder::append(const Record& record) {
  const std::string line = to_json_line(record) + "\n";
  const off_t start = ::lseek(fd_, 0, SEEK_END);
  std::size_t written = 0;
  while (written < line.size()) {
    // Once, unless the disk is full or a signal came: a second write tells which.
    const ssize_t n = ::write(fd_, line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const std::string why = system_error_text();
      const bool mended = written == 0 || ::ftruncate(fd_, start) == 0;
      fail("cannot append to " + (path_ / k_records).string() + ": " + why +
           (mended ? "; the records before are kept" : "; its last line is torn"));
    }
    written += static_cast<std::size_t>(n);
  }
}

bool is_run_folder(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / k_records, error);
}

LedgerEnd for_each_record(const fs::path& folder, const std::function<void(Record&&)>& visit) {
  const fs::path file = folder / k_records;
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw Error(ExitCode::invalid_input, "cannot read " + file.string() + ": " +
                                             system_error_text() + "; is it a run folder?");
  LedgerEnd end;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    // No line end: the writer died while it wrote.
    if (in.eof()) {
      end.torn = true;
      break;
    }
    Record record;
    try {
      record = record_from_json(line);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}:{}: {}", file.string(), number, error.what()));
    }
    visit(std::move(record));
  }
  return end;
}

std::vector<Record> latest_records(const fs::path& folder) {
  std::vector<Record> records;
  std::unordered_map<std::string, std::size_t> place;
  for_each_record(folder, [&](Record&& record) {
    const auto [it, is_new] = place.try_emplace(record.case_id, records.size());
    if (is_new) {
      records.push_back(std::move(record));
    } else {
      records[it->second] = std::move(record);
    }
  });
  return records;
}

Environment read_environment(const fs::path& folder) {
  return environment_from_json(read_file(folder / k_environment));
}

RunPlan read_plan(const fs::path& folder) { return run_plan_from_json(read_file(folder / k_plan)); }

JudgedCase judged(const Record& r) {
  return {r.case_text, r.call_id, r.op, r.module, r.workload, r.verdict.status, r.verdict.reason};
}

}  // namespace opreplay
