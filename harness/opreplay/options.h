#pragma once
/// Options several subcommands share.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "opreplay/session.h"

namespace opreplay::command {

/// What `run` and `check` both take.
struct RunOptions {
  std::string device;
  std::vector<std::string> vary = {"all"};
  std::string filter;
  std::uint64_t seed = 0;
  double timeout_s = 0;
  std::string max_bytes = "4G";
  std::vector<std::filesystem::path> rules;
  bool exit_first = false;
  std::int64_t max_failures = 0;
  std::vector<std::string> allow;
  std::vector<std::string> reports;
  std::string folder;
  std::string color = "auto";
  std::string progress = "auto";
  int verbose = 0;
  bool quiet = false;

  SessionOptions session(const std::string& chosen_device) const;
  std::int64_t max_failing() const { return exit_first ? 1 : max_failures; }
};

void add_run_options(CLI::App& command, RunOptions& options);

/// The device to use: as given; else the only accelerator whose profile loads. Throws
/// Error{device_missing} with the list and a hint when there is none or several.
std::string choose_device(const std::string& given);

/// "512M" -> bytes; K, M, G, T are powers of 1024. Throws Error{usage}.
std::int64_t parse_bytes(const std::string& text);

}  // namespace opreplay::command
