// Effects that end, delay or poison a call.

#include <c10/core/DispatchKey.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "harness/simdevice/device.h"
#include "harness/simdevice/effects.h"

namespace opreplay::sim {
namespace {

/// The delay itself is the effect, not a way to wait for something.
void delay(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

[[noreturn]] void die_by(int signal) {
  // Whatever handler the process has, the device's driver did not ask it.
  std::signal(signal, SIG_DFL);
  ::kill(::getpid(), signal);
  std::abort();  // the signal was blocked
}

/// Bytes of the first tensor argument, as the size that could not be allocated.
std::size_t wanted_bytes(const Call& call) {
  const auto tensors = call.tensors("");
  return tensors.empty() ? 0 : tensors[0].nbytes();
}

struct BeforeLaunch {
  const Call& call;

  void operator()(const NoKernel&) const { raise_no_kernel(call.name); }
  void operator()(const Throw& effect) const {
    if (!effect.sync) raise(effect);
  }
  void operator()(const Crash& effect) const { die_by(effect.signal); }
  void operator()(const Hang& effect) const { delay(effect.seconds); }
  void operator()(const Exit& effect) const { ::_exit(effect.code); }
  void operator()(const OutOfMemory&) const {
    TORCH_CHECK_WITH(OutOfMemoryError, false, k_device, " out of memory. Tried to allocate ",
                     wanted_bytes(call), " bytes");
  }
  void operator()(const Slow& effect) const { delay(effect.milliseconds / 1000); }
  void operator()(const Leak& effect) const { process_state().leak(effect.bytes); }
  template <class Other>
  void operator()(const Other&) const {}
};

}  // namespace

void raise_no_kernel(const std::string& op) {
  std::string name = op;
  if (const auto dot = name.find('.'); dot != std::string::npos) name.replace(dot, 1, "::");
  // As the dispatcher words it.
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "Could not run '", name, "' with arguments from the '",
      toString(c10::DispatchKey::PrivateUse1),
      "' backend. This could be because the operator doesn't exist for this backend, or was "
      "omitted during the selective/custom build process (if using custom build).");
}

void before_launch(const Fault& fault, const Call& call) {
  for (const Effect& effect : fault.effects) std::visit(BeforeLaunch{call}, effect);
}

void after_launch(const Fault& fault, const Call& call) {
  if (const Throw* effect = find_effect<Throw>(fault); effect != nullptr && effect->sync)
    process_state().leave_behind(*effect);
  if (find_effect<Poison>(fault) != nullptr) process_state().poison(call.name);
}

}  // namespace opreplay::sim
