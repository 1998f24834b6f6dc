#pragma once
/// The subcommands of `opreplay`, one .cpp each. Each adds itself to the app and, when chosen,
/// leaves its exit code behind; Errors go up to main.

#include <CLI/CLI.hpp>

#include "opreplay/error.h"

namespace opreplay::command {

void add_capture(CLI::App& app, ExitCode& code);
void add_check(CLI::App& app, ExitCode& code);
void add_env(CLI::App& app, ExitCode& code);
void add_run(CLI::App& app, ExitCode& code);
void add_spec(CLI::App& app, ExitCode& code);

}  // namespace opreplay::command
