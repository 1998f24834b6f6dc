// Faults in the backward pass of a composite operator, which has no backward kernel of its own:
// hooks on the gradients that enter it (failures) and leave it (values).

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>

#include <memory>

#include "harness/simdevice/effects.h"

namespace opreplay::sim {
namespace {

/// The arguments whose gradients the fault is about: those that `grad:` names, else the one that
/// `output` counts to.
std::vector<std::size_t> chosen_inputs(const Fault& fault, const Call& call) {
  std::vector<std::size_t> differentiable, named;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    const c10::IValue& value = call.args[i];
    const c10::Argument& argument = call.schema().arguments()[i];
    if (!value.isTensor() || !value.toTensor().defined() || !value.toTensor().requires_grad() ||
        is_written(argument))
      continue;
    differentiable.push_back(i);
    for (const Condition& condition : fault.when)
      if (const auto* grad = std::get_if<GradIs>(&condition);
          grad != nullptr && grad->expected && grad->arg == argument.name())
        named.push_back(i);
  }
  if (!named.empty()) return named;
  const auto index = static_cast<std::size_t>(fault.output);
  if (index >= differentiable.size()) return {};
  return {differentiable[index]};
}

/// A copy for the time after the call has returned.
std::shared_ptr<const Call> outliving(const Call& call) {
  const auto copy = std::make_shared<Call>(call);
  copy->result_sizes = nullptr;
  return copy;
}

}  // namespace

void hook_inputs(const Fault& fault, const Call& call, torch::jit::Stack& stack) {
  if (!c10::GradMode::is_enabled()) return;
  const auto kept = outliving(call);
  const std::size_t first = stack.size() - call.args.size();
  for (const std::size_t i : chosen_inputs(fault, call)) {
    const at::Tensor& input = call.args[i].toTensor();
    // A view of its own carries this call's share of the gradient, whoever else uses the tensor.
    const at::Tensor share = input.view_as(input);
    share.register_hook([&fault, kept](const at::Tensor& gradient) {
      return gradient.defined() ? changed_gradient(fault, *kept, gradient) : gradient;
    });
    stack[first + i] = share;
  }
}

void hook_results(const Fault& fault, const Call& call, const std::vector<c10::IValue>& results) {
  const auto kept = outliving(call);
  for (const c10::IValue& result : results)
    for (const at::Tensor& tensor : tensors_of(result))
      if (tensor.requires_grad())
        tensor.register_hook([&fault, kept](const at::Tensor&) {
          before_launch(fault, *kept);
          after_launch(fault, *kept);
        });
}

}  // namespace opreplay::sim
