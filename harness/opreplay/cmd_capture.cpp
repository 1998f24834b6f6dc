#include <fmt/core.h>

#include "harness/opreplay/capture_report.h"
#include "harness/opreplay/commands.h"
#include "harness/opreplay/options.h"
#include "lib/session/capture_run.h"
#include "opreplay/capture.h"

// opreplay capture MODEL -o SPECS: what a model calls, as op-specs.

namespace opreplay::command {
namespace {

struct Options {
  std::string model;
  std::string output;
  std::string max_bytes = "4G";
  double timeout_s = 600;
  bool run = false, quiet = false;
};

/// Prints what the run said; a graph that stops half-way leaves the specs it reached.
ExitCode report_run(const GraphRun& run, bool quiet) {
  if (!quiet) {
    fmt::print("ran {} nodes on the CPU, {} outputs\n", run.nodes.size(), run.outputs.size());
    for (const std::string& difference : run.differences)
      fmt::print("  differs from the file: {}\n", difference);
  }
  if (run.failure.empty()) return ExitCode::ok;
  fmt::print(stderr, "opreplay: the graph did not run to its end: {}\n", run.failure);
  return ExitCode::invalid_input;
}

ExitCode capture(const Options& options) {
  ExitCode code = ExitCode::ok;
  CaptureResult result;
  if (options.run) {
    ValueCapture with_values =
        capture_with_values(options.model, parse_bytes(options.max_bytes), options.timeout_s);
    result = std::move(with_values.captured);
    code = report_run(with_values.run, options.quiet);
  } else {
    result = capture_file(options.model);
  }
  write_specs(result.specs, options.output);
  print_capture(result, options.quiet);
  if (!options.quiet) fmt::print("wrote {} specs to {}\n", result.specs.size(), options.output);
  return code;
}

}  // namespace

void add_capture(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("capture", "write the operator calls of a model as specs");
  auto options = std::make_shared<Options>();
  command->add_option("MODEL", options->model, "a .pt2 file (torch.export.save)")->required();
  command->add_option("-o,--output", options->output, "folder for the op-specs")
      ->type_name("SPECS")
      ->required();
  command->add_flag("--run", options->run,
                    "run the graph on the CPU and add value statistics to the specs");
  command->add_option("--max-bytes", options->max_bytes, "limit for weights and outputs of --run")
      ->capture_default_str();
  command->add_option("--timeout", options->timeout_s, "limit for --run in seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("-q,--quiet", options->quiet, "print nothing");
  command->callback([options, &code] { code = capture(*options); });
}

}  // namespace opreplay::command
