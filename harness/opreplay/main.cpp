#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>

#include "harness/opreplay/commands.h"
#include "harness/opreplay/interrupt.h"
#include "opreplay/error.h"

namespace {

constexpr const char* k_about =
    "opreplay: replays the operator calls a PyTorch model makes on the CPU and on a target "
    "device,\n"
    "compares, and says for each: pass, substitute, blocked or pending.";

constexpr const char* k_footer =
    "Exit codes: 0 every case passes, 1 blocked, 2 usage, 3 unreadable input, 4 device missing,\n"
    "5 nothing selected, 6 internal error, 7 nothing blocked but pending or substitute,\n"
    "8 output cannot be written, 130 interrupted (results are kept).";

int fail(opreplay::ExitCode code, const char* message) {
  std::fprintf(stderr, "opreplay: %s\n", message);
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  using opreplay::ExitCode;
  opreplay::command::block_sigpipe();
  CLI::App app(k_about, "opreplay");
  app.footer(k_footer);
  app.set_version_flag("--version", OPREPLAY_VERSION);
  app.require_subcommand(1);
  ExitCode code = ExitCode::ok;
  opreplay::command::add_check(app, code);
  opreplay::command::add_capture(app, code);
  opreplay::command::add_run(app, code);
  opreplay::command::add_spec(app, code);
  opreplay::command::add_env(app, code);
  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0) return fail(ExitCode::output_failed, "stdout cannot be written");
    return static_cast<int>(code);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    app.exit(error);
    return static_cast<int>(asked_for_help ? ExitCode::ok : ExitCode::usage);
  } catch (const opreplay::Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(ExitCode::internal, "out of memory");
  } catch (const std::exception& error) {
    return fail(ExitCode::internal, error.what());
  }
}
