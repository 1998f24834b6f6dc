#pragma once
/// What results are bound to: versions, device, libraries, host. Two runs with the same environment
/// id ran on the same stack; facts that change from run to run stand beside it, outside the id.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace opreplay {

struct Environment {
  /// Part of the id: torch version, device name, "library.NAME" (size and hash), "cpu", "os",
  /// "opreplay", "env.NAME" of the variables that change results.
  std::map<std::string, std::string> facts;
  /// Not part of it: time, host name, process id, kernel release, library paths.
  std::map<std::string, std::string> volatile_facts;

  /// First 16 hex digits of the SHA-256 of `facts` as "key=value" lines in key order; backslashes
  /// and line ends are escaped.
  std::string id() const;
  bool operator==(const Environment&) const = default;
};

/// What this process sees of the host.
Environment host_environment();

/// Adds a backend library: file name, size and SHA-256 as a fact, its folder as a volatile one.
/// Throws Error{invalid_input} if it cannot be read.
void add_library(Environment& environment, const std::filesystem::path& library);

/// Adds the "key: value" lines a worker says about torch and the device.
void add_identity(Environment& environment, std::string_view lines);

/// env.json. Reading throws Error{invalid_input}, also if the id does not fit the facts.
std::string to_json(const Environment& environment);
Environment environment_from_json(const std::string& text);

/// Lower-case hex SHA-256. Throws Error{internal} if libcrypto refuses.
std::string sha256_hex(std::string_view bytes);

}  // namespace opreplay
