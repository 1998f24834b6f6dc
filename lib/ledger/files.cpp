#include "lib/ledger/files.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include "opreplay/error.h"

namespace opreplay {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

void write_file(const std::filesystem::path& path, std::string_view text) {
  // A device, a pipe or a link stays what it is; only a regular file is replaced.
  std::error_code ignored;
  const auto kind = std::filesystem::symlink_status(path, ignored).type();
  const bool replace =
      kind == std::filesystem::file_type::not_found || kind == std::filesystem::file_type::regular;
  const std::string temporary =
      replace ? path.string() + ".tmp" + std::to_string(::getpid()) : path.string();
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool written = fd >= 0 && write_all(fd, text);
  if (fd >= 0) {
    // Some file systems report a full disk only here. The first error is the one to tell.
    const int first_error = errno;
    const bool closed = ::close(fd) == 0;
    if (!written) errno = first_error;
    written = written && closed;
  }
  if (written && (!replace || ::rename(temporary.c_str(), path.c_str()) == 0)) return;
  const std::string why = system_error_text();
  if (replace) ::unlink(temporary.c_str());
  throw Error(ExitCode::output_failed, "cannot write " + path.string() + ": " + why);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad())
    throw Error(ExitCode::invalid_input,
                "cannot read " + path.string() + ": " + system_error_text());
  return text;
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::string system_error_text() { return std::generic_category().message(errno); }

}  // namespace opreplay
