// Registers the device when the library is loaded: one kernel per operator, as a vendor's
// dispatch table would have them, with the faults of OPREPLAY_SIM_FILE built in.

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "harness/simdevice/call.h"
#include "harness/simdevice/checks.h"
#include "harness/simdevice/effects.h"
#include "harness/simdevice/explicit_kernels.h"
#include "harness/simdevice/fault_file.h"
#include "harness/simdevice/hook.h"
#include "harness/simdevice/kernels.h"
#include "harness/simdevice/own_kernels.h"
#include "harness/simdevice/state.h"
#include "opreplay/error.h"

namespace opreplay::sim {
namespace {

using c10::DispatchKey;
using c10::OperatorHandle;

std::vector<OperatorHandle> aten_operators() {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::vector<OperatorHandle> operators;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames())
    if (name.name.starts_with("aten::"))
      if (const auto op = dispatcher.findSchema(name)) operators.push_back(*op);
  return operators;
}

/// Allocation, copies and views happen between any two operators of a program.
bool is_bookkeeping(const std::string& qualified_name) {
  static const std::set<std::string> names{
      "aten::as_strided", "aten::view",  "aten::_reshape_alias",
      "aten::resize_",    "aten::copy_", "aten::_to_copy",
      "aten::detach",     "aten::alias", "aten::fill_.Scalar"};
  return names.contains(qualified_name) || find_device_kernel(qualified_name) != nullptr;
}

/// The fault always holds and leaves the operator without a kernel.
bool removes_kernel(const Fault& fault) {
  return fault.when.empty() && find_effect<NoKernel>(fault) != nullptr;
}

std::vector<std::string> input_names(const OperatorHandle& op) {
  std::vector<std::string> names;
  for (const c10::Argument& argument : op.schema().arguments())
    if (!argument.is_out()) names.push_back(argument.name());
  return names;
}

class Registry {
 public:
  explicit Registry(FaultFile file)
      : file_(std::move(file)),
        kernels_(torch::Library::IMPL, "aten", DispatchKey::PrivateUse1, __FILE__, __LINE__),
        above_autograd_(torch::Library::IMPL, "aten", DispatchKey::AutogradPrivateUse1, __FILE__,
                        __LINE__) {
    declare_arithmetic(file_.declare);
    const auto operators = aten_operators();
    find_removed(operators);
    watch_all_ = std::any_of(file_.faults.begin(), file_.faults.end(), needs_all_operators);
    for (const OperatorHandle& op : operators) register_operator(op);
  }

 private:
  /// Poison stops every operator, `after` asks for the one before, and the inner kernels of a
  /// composite that falls back to the CPU must know it.
  static bool needs_all_operators(const Fault& fault) {
    const bool after = std::any_of(
        fault.when.begin(), fault.when.end(),
        [](const Condition& condition) { return std::holds_alternative<AfterOp>(condition); });
    return after || find_effect<Poison>(fault) != nullptr ||
           find_effect<CpuFallback>(fault) != nullptr || find_effect<SilentCpu>(fault) != nullptr;
  }

  /// The operators without a kernel: those that faults name, and the out= and in-place forms that
  /// torch would serve a named functional form with.
  void find_removed(const std::vector<OperatorHandle>& operators) {
    for (const Fault& fault : file_.faults) {
      if (!removes_kernel(fault)) continue;
      for (const OperatorHandle& op : operators) {
        if (!matches(fault, spec_name(op))) continue;
        removed_.insert(qualified_name(op));
        named_.insert(qualified_name(op));
        if (op.schema().is_mutable()) continue;
        for (const OperatorHandle& other : operators)
          if (other.schema().is_mutable() &&
              (other.operator_name().name == op.operator_name().name ||
               other.operator_name().name == op.operator_name().name + "_") &&
              input_names(other) == input_names(op))
            removed_.insert(qualified_name(other));
      }
    }
  }

  void register_operator(const OperatorHandle& op) {
    const std::string name = qualified_name(op);
    if (removed_.contains(name)) return register_missing(op);
    std::vector<const Fault*> faults;
    for (const Fault& fault : file_.faults)
      if (!removes_kernel(fault) && matches(fault, spec_name(op))) faults.push_back(&fault);

    if (auto kernel = honest_kernel(op)) {
      if (!faults.empty() || watch_all_)
        kernel = hooked(std::move(kernel), std::move(faults), {false, is_bookkeeping(name)});
      add(kernels_, op, std::move(kernel));
    } else if (is_composite(op) && (!faults.empty() || is_predecessor(op))) {
      const HookTraits traits{true, is_bookkeeping(name)};
      if (is_composite_implicit(op))
        add(above_autograd_, op, hooked(decomposition(), faults, traits));
      add(kernels_, op, hooked(decomposition(), std::move(faults), traits));
    }
  }

  /// Where torch would serve the operator by itself, only a kernel that raises can keep it out.
  /// A structured operator's default calls its out= form: without that one, the dispatcher raises.
  void register_missing(const OperatorHandle& op) {
    const bool structured_default =
        op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional);
    if (!named_.contains(qualified_name(op)) || !is_composite(op)) return;
    if (structured_default && !op.schema().is_mutable()) return;
    add(kernels_, op, missing_kernel());
    if (is_composite_implicit(op)) add(above_autograd_, op, missing_kernel());
  }

  bool is_predecessor(const OperatorHandle& op) const {
    for (const Fault& fault : file_.faults)
      for (const Condition& condition : fault.when)
        if (const auto* after = std::get_if<AfterOp>(&condition);
            after != nullptr && matches_glob(after->pattern, spec_name(op)))
          return true;
    return false;
  }

  static void add(torch::Library& library, const OperatorHandle& op,
                  std::unique_ptr<Kernel> kernel) {
    library.impl(qualified_name(op).c_str(),
                 torch::CppFunction::makeFromBoxedFunctor<Kernel>(std::move(kernel)));
  }

  FaultFile file_;  // kernels point into it
  std::set<std::string> removed_, named_;
  bool watch_all_ = false;
  torch::Library kernels_, above_autograd_;
};

/// The faults of OPREPLAY_SIM_FILE. A file that cannot be served makes a device that refuses to
/// work: an exception here would end the process, since the library is just being loaded.
FaultFile load_from_environment() {
  const char* path = std::getenv("OPREPLAY_SIM_FILE");
  if (path == nullptr || *path == '\0') return {};
  try {
    FaultFile file = load_faults(path);
    std::string problems;
    const auto operators = aten_operators();
    for (const Fault& fault : file.faults)
      for (const std::string& problem : problems_of(fault, operators))
        problems += (problems.empty() ? "" : "\n") + std::string(path) + ":" +
                    std::to_string(fault.line) + ": " + problem;
    if (problems.empty()) return file;
    refuse_to_work(problems);
  } catch (const Error& error) {
    refuse_to_work(error.what());
  }
  return {};
}

// Never destroyed: at exit, torch's own statics may already be gone.
[[maybe_unused]] const Registry* const g_registry = new Registry(load_from_environment());

}  // namespace
}  // namespace opreplay::sim

// What the worker asks for after it has loaded the library (lib/base/worker_abi.h).
extern "C" [[gnu::visibility("default")]] const char* opreplay_backend_problem() {
  return opreplay::sim::refusal();
}
