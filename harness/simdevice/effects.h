#pragma once
/// The effects of faults, by when they take place: before the launch, on what is computed, on the
/// result. One .cpp each.

#include <ATen/core/stack.h>

#include <optional>
#include <vector>

#include "harness/simdevice/call.h"
#include "harness/simdevice/fault.h"

namespace opreplay::sim {

// effects_failure.cpp

/// Errors at the launch, crashes, hangs, delays. May not return.
void before_launch(const Fault& fault, const Call& call);
/// What shows only later: an error at the next synchronise, poison.
void after_launch(const Fault& fault, const Call& call);
[[noreturn]] void raise_no_kernel(const std::string& op);

// effects_input.cpp

/// Arguments as the faulty kernel reads them. What is written stays the caller's memory, seen with
/// the wrong strides or offset.
std::vector<c10::IValue> misread(const Fault& fault, const Call& call,
                                 std::vector<c10::IValue> args);
/// Copies of the arguments with their values changed (rounded, mapped, in another dtype...), for a
/// second computation whose values replace the first's; nothing if the fault changes no input.
std::optional<std::vector<c10::IValue>> changed_copies(const Fault& fault, const Call& call);
/// The second computation's result as it ends up in a tensor of `dtype`: wrapped or saturated.
at::Tensor narrowed(const Fault& fault, const at::Tensor& values, c10::ScalarType dtype);

// effects_result.cpp

/// What of a call was kept before it ran, for the effects that need it.
struct Before {
  std::vector<at::Tensor> tensors;  ///< CPU copy of each tensor argument; undefined for others
  at::Tensor where;                 ///< bool mask of `where:`
};
Before keep(const Fault& fault, const Call& call);

/// Lets the fault take place on the results of the call.
void change_results(const Fault& fault, const Call& call, const Before& before,
                    const std::optional<at::Tensor>& honest, std::vector<c10::IValue>& results);
/// Notes the result of a call that the fault left alone, for stale_result and row: stale.
void remember_result(const Fault& fault, const Call& call, const std::vector<c10::IValue>& results);
/// One tensor's worth of it, for gradients.
at::Tensor changed_gradient(const Fault& fault, const Call& call, const at::Tensor& gradient);

/// The results that an accept_invalid fault makes up where the kernel refused.
std::vector<c10::IValue> made_up_results(const AcceptInvalid& effect, const Call& call);

// fallbacks.cpp

/// Copies everything to the CPU, computes there and copies back, inside the kernel.
void run_on_cpu_silently(const c10::OperatorHandle& op, torch::jit::Stack& stack);

// effects_gradient.cpp

/// Faults of a composite operator's backward pass: hooks on the gradients that flow through it.
/// Call before the launch; may replace arguments by views of themselves.
void hook_inputs(const Fault& fault, const Call& call, torch::jit::Stack& stack);
/// Call after the launch.
void hook_results(const Fault& fault, const Call& call, const std::vector<c10::IValue>& results);

/// The effect of type T, or null.
template <class T>
const T* find_effect(const Fault& fault) {
  for (const Effect& effect : fault.effects)
    if (const T* found = std::get_if<T>(&effect)) return found;
  return nullptr;
}

}  // namespace opreplay::sim
