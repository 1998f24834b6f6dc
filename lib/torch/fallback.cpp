#include "lib/torch/fallback.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/ObservedOperators.h>

#include <cstring>

namespace opreplay {
namespace {

thread_local FallbackWatch* t_watch = nullptr;

bool many_on_device(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && !value.toTensor().is_cpu() &&
         value.toTensor().numel() > 1;
}

bool on_cpu(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().is_cpu();
}

/// A copy from the device to the CPU: aten::_to_copy with a CPU device argument, aten::copy_ into a
/// CPU tensor.
bool copies_to_cpu(const char* name, c10::ArrayRef<const c10::IValue> inputs) {
  if (std::strcmp(name, "aten::_to_copy") == 0) {
    if (inputs.empty() || !many_on_device(inputs[0])) return false;
    for (const c10::IValue& input : inputs)
      if (input.isDevice() && input.toDevice().is_cpu()) return true;
    return false;
  }
  if (std::strcmp(name, "aten::copy_") == 0)
    return inputs.size() >= 2 && on_cpu(inputs[0]) && many_on_device(inputs[1]);
  return false;
}

}  // namespace

struct FallbackCallbacks {
  static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& record) {
    FallbackWatch* watch = t_watch;
    // Only operators count; ranges and user scopes have no operator name.
    if (!watch || !record.operator_name()) return nullptr;
    const int depth = watch->depth_++;
    if (depth == 0) {
      watch->outermost_ = record.name();
    } else if (watch->evidence_.empty()) {
      if (std::strcmp(record.name(), "aten::_to_cpu") == 0 ||
          copies_to_cpu(record.name(), record.inputs()))
        watch->evidence_ = std::string(record.name()) + " inside " + watch->outermost_;
    }
    return nullptr;
  }
  static void end(const at::RecordFunction& record, at::ObserverContext*) {
    if (t_watch && record.operator_name()) --t_watch->depth_;
  }
};

FallbackWatch::FallbackWatch()
    : handle_(at::addThreadLocalCallback(
          at::RecordFunctionCallback(&FallbackCallbacks::start, &FallbackCallbacks::end)
              .needsInputs(true)
              .scopes({at::RecordScope::FUNCTION}))) {
  t_watch = this;
}

FallbackWatch::~FallbackWatch() {
  at::removeCallback(handle_);
  t_watch = nullptr;
}

}  // namespace opreplay
