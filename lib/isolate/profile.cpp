#include "lib/isolate/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <regex>
#include <system_error>

#include "lib/base/text.h"
#include "lib/isolate/programs.h"
#include "lib/spec/schema_table.h"
#include "lib/spec/yaml_reader.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t k_max_profile_bytes = std::int64_t{1} << 20;
constexpr const char* k_fault_file_variable = "OPREPLAY_SIM_FILE";

/// Installed beside the rules; in the source tree a folder deeper.
fs::path profile_folder() {
  const fs::path data = data_folder();
  std::error_code error;
  const fs::path installed = data / "devices";
  return fs::is_directory(installed, error) ? installed : data / "harness" / "devices";
}

/// What stands on the command line: NAME, and what follows the first colon.
struct DeviceText {
  std::string name;
  std::optional<std::string> suffix;
};

DeviceText split(const std::string& device) {
  const std::size_t colon = device.find(':');
  if (colon == std::string::npos) return {device, std::nullopt};
  return {device.substr(0, colon), device.substr(colon + 1)};
}

[[noreturn]] void throw_unknown(const std::string& name) {
  const std::vector<std::string> names = profile_names();
  const std::vector<std::string_view> words(names.begin(), names.end());
  throw Error(
      ExitCode::device_missing,
      fmt::format("unknown device {}{}; known: {}; without an accelerator try --device sim",
                  excerpt(name), nearest_hint(nearest_word(name, words)), fmt::join(names, ", ")));
}

/// "cuda" or "cuda:0" to type and index.
bool parse_torch_device(const std::string& text, Profile& profile) {
  static const std::regex pattern("([a-z][a-z0-9_]*)(?::([0-9]{1,4}))?");
  std::smatch match;
  if (!std::regex_match(text, match, pattern)) return false;
  profile.torch_device = match[1];
  if (match[2].matched) profile.index = std::stoi(match[2]);
  return true;
}

void read_env(const YamlNode& node, Profile& profile, Diagnostics& diagnostics) {
  if (node.kind != YamlNode::Kind::map)
    return complain_expected(node, "env", "a map of names and values", diagnostics);
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const auto name = read_text(node.keys[i], "name of a variable", diagnostics);
    const auto value = read_text(node.values[i], "value of a variable", diagnostics);
    if (!name || !value) continue;
    if (name->empty() || name->find('=') != std::string::npos)
      complain_expected(node.keys[i], "env", "the name of a variable", diagnostics);
    else
      profile.env[*name] = *value;
  }
}

std::vector<std::string> read_patterns(const YamlNode& node, std::string_view what,
                                       Diagnostics& diagnostics) {
  std::vector<std::string> patterns;
  for (const YamlNode& element : read_list(node, what, diagnostics)) {
    const auto text = read_text(element, what, diagnostics);
    if (!text) continue;
    try {
      const std::regex check(*text, std::regex::ECMAScript);
      patterns.push_back(*text);
    } catch (const std::regex_error& error) {
      complain(element,
               fmt::format("{}: expected a regular expression of the ECMAScript kind, found {}: {}",
                           what, excerpt(*text), error.what()),
               diagnostics);
    }
  }
  return patterns;
}

/// The file's contents; libraries still as they are written.
struct ProfileFile {
  Profile profile;
  std::vector<std::string> libraries;
};

ProfileFile interpret(const YamlNode& root, const std::string& name, Diagnostics& diagnostics) {
  ProfileFile file;
  Profile& profile = file.profile;
  MapReader map(root, "profile", diagnostics);
  if (const YamlNode* node = map.require("name"))
    if (const auto text = read_text(*node, "name", diagnostics)) {
      profile.name = *text;
      if (*text != name)
        complain_expected(*node, "name", opreplay::quoted(name) + " as the file is called",
                          diagnostics);
    }
  if (const YamlNode* node = map.require("torch_device"))
    if (const auto text = read_text(*node, "torch_device", diagnostics))
      if (!parse_torch_device(*text, profile))
        complain_expected(*node, "torch_device", "a device of torch such as cuda or xpu:0",
                          diagnostics);
  if (const YamlNode* node = map.find("libraries"))
    file.libraries = read_texts(*node, "libraries", diagnostics);
  if (const YamlNode* node = map.find("fork"))
    profile.fork = read_bool(*node, "fork", diagnostics).value_or(true);
  if (const YamlNode* node = map.find("timeout")) {
    const auto seconds = read_number(*node, "timeout", diagnostics);
    if (seconds && !(*seconds > 0 && std::isfinite(*seconds)))
      complain_expected(*node, "timeout", "a positive number of seconds", diagnostics);
    if (seconds) profile.timeout_s = *seconds;
  }
  if (const YamlNode* node = map.find("env")) read_env(*node, profile, diagnostics);
  if (const YamlNode* node = map.find("unsupported_patterns"))
    profile.unsupported_patterns = read_patterns(*node, "unsupported_patterns", diagnostics);
  if (const YamlNode* node = map.find("error_patterns"))
    profile.error_patterns = read_patterns(*node, "error_patterns", diagnostics);
  if (const YamlNode* node = map.find("allow"))
    profile.allow = read_texts(*node, "allow", diagnostics);
  map.finish();
  return file;
}

ProfileFile read_profile(const fs::path& path, const std::string& name) {
  Diagnostics diagnostics(path.string());
  ProfileFile file;
  if (const auto text = read_text_file(path.string(), k_max_profile_bytes, diagnostics))
    if (const auto root = parse_yaml(*text, diagnostics))
      file = interpret(*root, name, diagnostics);
  throw_if_any(diagnostics.take());
  return file;
}

std::vector<fs::path> library_folders() {
  std::vector<fs::path> folders;
  if (const char* path = std::getenv("OPREPLAY_LIBRARY_PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }
  const std::vector<fs::path> programs = program_folders();
  folders.insert(folders.end(), programs.begin(), programs.end());
  if (const fs::path folder = executable_folder(); !folder.empty()) {
    folders.push_back(folder);
    folders.push_back(folder.parent_path() / "lib" / "opreplay");
  }
  folders.push_back(profile_folder());
  return folders;
}

fs::path find_library(const std::string& library, const std::string& profile) {
  std::error_code error;
  if (fs::path(library).is_absolute()) {
    if (fs::is_regular_file(library, error)) return library;
    throw Error(ExitCode::device_missing,
                fmt::format("device {}: library {} not found; install it, or correct its path in "
                            "the profile",
                            profile, library));
  }
  const std::vector<fs::path> folders = library_folders();
  for (const fs::path& folder : folders)
    if (fs::is_regular_file(folder / library, error)) return fs::absolute(folder / library, error);
  std::string looked;
  for (const fs::path& folder : folders) looked += (looked.empty() ? "" : ", ") + folder.string();
  throw Error(ExitCode::device_missing,
              fmt::format("device {}: library {} not found: looked in {}; set "
                          "OPREPLAY_LIBRARY_PATH to the folder that holds it",
                          profile, library, looked));
}

/// Takes the suffix as an index, if it is one.
bool take_index(const std::string& suffix, Profile& profile) {
  const auto index = parse_int(suffix);
  if (!index || *index < 0 || *index > std::numeric_limits<std::int16_t>::max()) return false;
  profile.index = static_cast<int>(*index);
  return true;
}

void take_fault_file(const std::string& text, Profile& profile) {
  std::error_code error;
  if (!fs::is_regular_file(text, error))
    throw Error(ExitCode::invalid_input,
                fmt::format("--device sim:{}: no such fault file; expected the path of a YAML file "
                            "(docs/faults.md) or an index",
                            text));
  profile.env[k_fault_file_variable] = fs::absolute(text).lexically_normal().string();
}

void take_suffix(const std::string& suffix, Profile& profile) {
  if (take_index(suffix, profile)) return;
  if (profile.name == "sim" && !suffix.empty()) return take_fault_file(suffix, profile);
  throw Error(ExitCode::usage, fmt::format("--device {0}:{1}: expected an index as in {0}:0, found "
                                           "{2}",
                                           profile.name, suffix, excerpt(suffix)));
}

}  // namespace

Profile load_profile(const std::string& device) {
  const DeviceText text = split(device);
  const std::vector<std::string> names = profile_names();
  if (std::find(names.begin(), names.end(), text.name) == names.end()) throw_unknown(text.name);
  ProfileFile file = read_profile(profile_folder() / (text.name + ".yaml"), text.name);
  Profile& profile = file.profile;
  if (text.suffix) take_suffix(*text.suffix, profile);
  if (profile.torch_device != "cpu")
    profile.torch_device += ":" + std::to_string(profile.index);
  else if (profile.index != 0)
    throw Error(ExitCode::usage, fmt::format("--device {}: the CPU has no index but 0", device));
  for (const std::string& library : file.libraries)
    profile.libraries.push_back(find_library(library, profile.name));
  return profile;
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(profile_folder(), error))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace opreplay
