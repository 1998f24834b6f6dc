// Registers the device when the library is loaded: one kernel per operator, as a vendor's
// dispatch table would have them.

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "harness/simdevice/kernels.h"

namespace opreplay::sim {
namespace {

class Registry {
 public:
  Registry()
      : kernels_(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__) {
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
      if (!name.name.starts_with("aten::")) continue;
      const auto op = dispatcher.findSchema(name);
      if (!op) continue;
      if (auto kernel = honest_kernel(*op)) add(kernels_, *op, std::move(kernel));
    }
  }

 private:
  static void add(torch::Library& library, const c10::OperatorHandle& op,
                  std::unique_ptr<Kernel> kernel) {
    library.impl(qualified_name(op).c_str(),
                 torch::CppFunction::makeFromBoxedFunctor<Kernel>(std::move(kernel)));
  }

  torch::Library kernels_;
};

// Never destroyed: at exit, torch's own statics may already be gone.
[[maybe_unused]] const Registry* const g_registry = new Registry;

}  // namespace
}  // namespace opreplay::sim
