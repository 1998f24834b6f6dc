#include <fmt/core.h>

#include "harness/opreplay/capture_report.h"
#include "harness/opreplay/commands.h"
#include "harness/opreplay/run_cases.h"
#include "opreplay/capture.h"

// opreplay check MODEL: the funnel on one model. This version: device (layer 1), then every
// operator call of the model with its variations (layer 4); the rest is printed as not covered.

namespace opreplay::command {
namespace {

struct Options {
  std::string model;
  RunOptions run;
};

constexpr const char* k_later_layers[] = {
    "layer 2, runtime: allocation, copies with checksum, synchronise",
    "layer 3, framework: move, view, cast, autograd, save and load",
    "layer 5, model: the whole graph forward, loss and backward; distributed",
};

ExitCode check(const Options& options) {
  const std::string device = choose_device(options.run.device);
  const bool quiet = options.run.quiet;

  // Layer 1. A device that does not load is the model's first blocker, not a usage error.
  std::optional<Session> session;
  try {
    session.emplace(options.run.session(device));
    session->identity();
    if (!quiet) fmt::print("layer 1, device: {} loads\n", device);
  } catch (const Error& error) {
    if (error.code() != ExitCode::device_missing) throw;
    fmt::print("layer 1, device: blocked backend_not_loaded: {}\n", error.what());
    fmt::print("later layers: not reached\n");
    return ExitCode::blocked;
  }

  const CaptureResult captured = capture_file(options.model);
  RunFolder folder = open_run_folder(options.run);
  const auto specs_folder = folder.path() / "specs";
  write_specs(captured.specs, specs_folder);
  if (!quiet) {
    print_capture(captured, false);
    fmt::print("layer 4, target ops: specs in {}\n", specs_folder.string());
    for (const char* layer : k_later_layers) fmt::print("not covered: {}\n", layer);
  }

  const auto specs = load_specs(specs_folder);
  const Plan plan = session->plan(specs, {options.run.vary, options.run.filter, options.run.seed});
  return run_cases(plan, *session, folder, options.run, device);
}

}  // namespace

void add_check(CLI::App& app, ExitCode& code) {
  CLI::App* command =
      app.add_subcommand("check", "capture a model and run every call of it on a device");
  auto options = std::make_shared<Options>();
  command->add_option("MODEL", options->model, "a .pt2 file (torch.export.save)")->required();
  add_run_options(*command, options->run);
  command->callback([options, &code] { code = check(*options); });
}

}  // namespace opreplay::command
