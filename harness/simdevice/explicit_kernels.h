#pragma once
/// Kernels that aliasing cannot give: allocation, copies between devices, storage surgery, and the
/// operators torch has on accelerators only.

#include <ATen/core/stack.h>

#include <string_view>

namespace c10 {
class OperatorHandle;
}

namespace opreplay::sim {

using StackKernel = void (*)(const c10::OperatorHandle& op, torch::jit::Stack& stack);

/// On device tensors: "aten::empty.memory_format", "aten::_copy_from"...; null for all others.
StackKernel find_device_kernel(std::string_view qualified_name);

/// On the CPU side of the arguments: "aten::convolution_backward_overrideable",
/// "aten::_thnn_fused_lstm_cell"...; null for all others.
StackKernel find_host_kernel(std::string_view qualified_name);

}  // namespace opreplay::sim
