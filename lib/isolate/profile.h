#pragma once
/// A target profile (harness/devices/NAME.yaml): which libraries make the device, how to talk to
/// it. Keys of the file: docs/isolation.md, "Profiles".

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace opreplay {

struct Profile {
  std::string name;          ///< "sim"
  std::string torch_device;  ///< "privateuseone:0", "cuda:0", "cpu"
  int index = 0;
  std::vector<std::filesystem::path> libraries;  ///< dlopened in order, absolute
  bool fork = true;                              ///< workers may be forked after the libraries load
  double timeout_s = 60;                         ///< deadline of one case
  std::map<std::string, std::string> env;        ///< set in the launcher
  std::vector<std::string> unsupported_patterns;  ///< ECMAScript regexes over device messages
  std::vector<std::string> error_patterns;        ///< likewise: the runtime's own errors
  std::vector<std::string> allow;                 ///< precision levels that count as pass: tf32
};

/// Reads "NAME[:INDEX]" or "sim[:FILE.yaml]". Throws Error{device_missing} for an unknown profile
/// or missing library, Error{invalid_input} for a broken profile or missing fault file,
/// Error{usage} for an index that is none.
Profile load_profile(const std::string& device);

/// Names of the profiles found, in order.
std::vector<std::string> profile_names();

}  // namespace opreplay
