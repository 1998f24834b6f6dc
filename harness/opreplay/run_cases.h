#pragma once
/// The loop of `run` and `check`: cases through a session into the ledger and the reports.

#include <string>
#include <vector>

#include "harness/opreplay/options.h"
#include "lib/judge/summary.h"
#include "lib/ledger/run_folder.h"
#include "opreplay/plan.h"
#include "opreplay/session.h"

namespace opreplay::command {

/// Runs every case of `plan` that the options select, writes records as they come and the reports
/// at the end, prints the closing line. Interrupted: the summary of what ran, exit code 130.
/// Returns the exit code.
ExitCode run_cases(const Plan& plan, Session& session, RunFolder& folder, const RunOptions& options,
                   const std::string& device);

/// The run folder the options ask for.
RunFolder open_run_folder(const RunOptions& options);

}  // namespace opreplay::command
