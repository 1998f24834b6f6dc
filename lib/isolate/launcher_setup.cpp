#include "lib/isolate/launcher_setup.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "opreplay/error.h"

namespace opreplay {
namespace {

/// The launcher's configuration has a setting a line.
void add_line(std::string& config, std::string_view key, const std::string& value) {
  if (value.find('\n') != std::string::npos)
    throw Error(ExitCode::invalid_input,
                "a path or device name of the profile contains a line "
                "break: " +
                    value);
  config.append(key).append("=").append(value).append("\n");
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& settings) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    // The simulated device's settings are this command's to give: inherited ones would plant faults
    // in a device that was asked to be honest.
    if (settings.contains(name) || name.starts_with("OPREPLAY_SIM_")) continue;
    result.emplace_back(text);
  }
  for (const auto& [name, value] : settings) result.push_back(name + "=" + value);
  return result;
}

}  // namespace

LauncherSetup make_launcher_setup(const Profile& profile, const SupervisorOptions& options) {
  LauncherSetup setup;
  setup.program = options.launcher;
  add_line(setup.config, "worker", options.worker.string());
  add_line(setup.config, "fork", profile.fork ? "1" : "0");
  setup.config += '\n';
  add_line(setup.config, "device", profile.torch_device);
  for (const auto& library : profile.libraries) add_line(setup.config, "library", library.string());
  add_line(setup.config, "max_bytes", std::to_string(options.max_bytes));
  setup.environment = environment_with(profile.env);
  return setup;
}

}  // namespace opreplay
