#pragma once
/// From a profile and the supervisor's options to what a launcher is started with.

#include "lib/isolate/launcher_process.h"
#include "lib/isolate/supervisor.h"

namespace opreplay {

/// Throws Error{invalid_input} if a path cannot be written into the configuration.
LauncherSetup make_launcher_setup(const Profile& profile, const SupervisorOptions& options);

}  // namespace opreplay
