#include <fmt/core.h>

#include "harness/opreplay/capture_report.h"
#include "harness/opreplay/commands.h"
#include "opreplay/capture.h"

// opreplay capture MODEL -o SPECS: what a model calls, as op-specs.

namespace opreplay::command {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string model;
  std::string output;
  bool quiet = false;
};

void capture(const Options& options) {
  const CaptureResult result = capture_file(options.model);
  write_specs(result.specs, options.output);
  print_capture(result, options.quiet);
  if (!options.quiet) fmt::print("wrote {} specs to {}\n", result.specs.size(), options.output);
}

}  // namespace

void add_capture(CLI::App& app, ExitCode&) {
  CLI::App* command = app.add_subcommand("capture", "write the operator calls of a model as specs");
  auto options = std::make_shared<Options>();
  command->add_option("MODEL", options->model, "a .pt2 file (torch.export.save)")->required();
  command->add_option("-o,--output", options->output, "folder for the op-specs")
      ->type_name("SPECS")
      ->required();
  command->add_flag("-q,--quiet", options->quiet, "print nothing");
  command->callback([options] { capture(*options); });
}

}  // namespace opreplay::command
