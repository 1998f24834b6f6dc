#include <fmt/core.h>

#include "harness/opreplay/commands.h"
#include "harness/opreplay/options.h"
#include "lib/isolate/profile.h"
#include "lib/ledger/environment.h"
#include "opreplay/session.h"

// opreplay env: what results would be bound to; --devices: which profiles there are and why one
// does not load.

namespace opreplay::command {
namespace {

struct EnvOptions {
  std::string device;
  bool devices = false;
};

void list_devices() {
  for (const std::string& name : profile_names()) {
    try {
      Session session({.device = name});
      std::string facts = session.identity();
      while (!facts.empty() && facts.back() == '\n') facts.pop_back();
      for (std::size_t at = 0; (at = facts.find('\n', at)) != std::string::npos;)
        facts.replace(at, 1, ", ");
      fmt::print("{:<12} loads ({})\n", name, facts);
    } catch (const Error& error) {
      fmt::print("{:<12} does not load: {}\n", name, error.what());
    }
  }
}

void show_environment(const std::string& device) {
  Environment environment = host_environment();
  if (!device.empty()) {
    for (const auto& library : load_profile(device).libraries) add_library(environment, library);
    Session session({.device = device});
    add_identity(environment, session.identity());
  }
  fmt::print("id: {}\n", environment.id());
  for (const auto& [key, value] : environment.facts) fmt::print("{}: {}\n", key, value);
}

}  // namespace

void add_env(CLI::App& app, ExitCode&) {
  CLI::App* command = app.add_subcommand("env", "the environment results are bound to, and its id");
  auto options = std::make_shared<EnvOptions>();
  command->add_option("--device", options->device, "include this device's libraries and identity");
  command->add_flag("--devices", options->devices,
                    "list device profiles and why one does not load");
  command->callback([options] {
    if (options->devices) {
      list_devices();
    } else {
      show_environment(options->device);
    }
  });
}

}  // namespace opreplay::command
