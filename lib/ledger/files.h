#pragma once
/// Files of a run folder: whole-file writes that are never seen half done, and the clock's text.

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

namespace opreplay {

/// Writes to a temporary file beside `path`, then renames it over `path`.
/// Throws Error{output_failed} with the path and the system's text; `path` is then as it was.
void write_file(const std::filesystem::path& path, std::string_view text);

/// The whole file. Throws Error{invalid_input} if it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// "2026-01-31T23:59:59Z"
std::string utc_text(std::chrono::system_clock::time_point time);

/// "No space left on device" and its like, for the current errno.
std::string system_error_text();

}  // namespace opreplay
