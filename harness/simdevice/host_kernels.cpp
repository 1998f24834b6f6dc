// Operators that torch has on accelerators only, computed with plain CPU operators on the CPU side
// of the arguments.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include <map>

#include "harness/simdevice/explicit_kernels.h"
#include "harness/simdevice/own_common.h"

namespace opreplay::sim {
namespace {

using torch::jit::Stack;

/// Runs another operator with the arguments that lie on the stack.
void call_instead(const char* name, Stack& stack) {
  static auto& dispatcher = c10::Dispatcher::singleton();
  dispatcher.findSchemaOrThrow(name, "").callBoxed(&stack);
}

void convolution(const c10::OperatorHandle&, Stack& stack) {
  call_instead("aten::convolution", stack);
}

// convolution_backward_overrideable lacks the bias sizes that convolution_backward takes fourth.
void convolution_backward(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::last(stack, 10);
  const at::Tensor& grad = args[0].toTensor();
  const bool wants_bias = args[9].toBoolList()[2];
  const c10::IValue bias_sizes =
      wants_bias ? c10::IValue(c10::List<std::int64_t>({grad.size(1)})) : c10::IValue();
  stack.insert(stack.end() - 7, bias_sizes);
  call_instead("aten::convolution_backward", stack);
}

at::Tensor optional_tensor(const c10::IValue& value) {
  return is_absent(value) ? at::Tensor() : value.toTensor();
}

at::Tensor wide(const at::Tensor& tensor) { return tensor.to(working_type(tensor.scalar_type())); }

at::Tensor with_bias(const at::Tensor& gates, const c10::IValue& bias) {
  return is_absent(bias) ? wide(gates) : wide(gates).add(wide(bias.toTensor()));
}

// _thnn_fused_lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias) -> hy, cy,
// workspace (the activated gates). Gates lie in the order input, forget, cell, output.
void lstm_cell(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::pop(stack, 5);
  const auto type = args[0].toTensor().scalar_type();
  const auto gates = with_bias(args[0].toTensor(), args[3])
                         .add(with_bias(args[1].toTensor(), args[4]))
                         .chunk(4, 1);
  const at::Tensor input = gates[0].sigmoid(), forget = gates[1].sigmoid();
  const at::Tensor cell = gates[2].tanh(), output = gates[3].sigmoid();
  const at::Tensor cy = forget.mul(wide(args[2].toTensor())).add(input.mul(cell));
  const at::Tensor hy = output.mul(cy.tanh());
  torch::jit::push(stack, hy.to(type), cy.to(type),
                   at::cat({input, forget, cell, output}, 1).to(type));
}

// _thnn_fused_lstm_cell_backward_impl(grad_hy, grad_cy, cx, cy, workspace, has_bias) -> gradients
// of the gates, of cx, of the bias.
void lstm_cell_backward(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::pop(stack, 6);
  at::Tensor grad_hy = optional_tensor(args[0]), grad_cy = optional_tensor(args[1]);
  const at::Tensor cx = wide(args[2].toTensor()), cy = wide(args[3].toTensor());
  const auto type = args[2].toTensor().scalar_type();
  const auto gates = wide(args[4].toTensor()).chunk(4, 1);
  const at::Tensor &input = gates[0], &forget = gates[1], &cell = gates[2], &output = gates[3];
  grad_hy = grad_hy.defined() ? wide(grad_hy) : at::zeros_like(cx);
  grad_cy = grad_cy.defined() ? wide(grad_cy) : at::zeros_like(cx);

  const auto sigmoid_slope = [](const at::Tensor& y) { return y.mul(y.neg().add(1)); };
  const auto tanh_slope = [](const at::Tensor& y) { return y.mul(y).neg().add(1); };
  const at::Tensor squashed = cy.tanh();
  const at::Tensor grad_cell = grad_hy.mul(output).mul(tanh_slope(squashed)).add(grad_cy);
  const at::Tensor grad_gates = at::cat(
      {grad_cell.mul(cell).mul(sigmoid_slope(input)), grad_cell.mul(cx).mul(sigmoid_slope(forget)),
       grad_cell.mul(input).mul(tanh_slope(cell)),
       grad_hy.mul(squashed).mul(sigmoid_slope(output))},
      1);
  const at::Tensor grad_bias = args[5].toBool() ? grad_gates.sum(0).to(type) : at::Tensor();
  torch::jit::push(stack, grad_gates.to(type), grad_cell.mul(forget).to(type), grad_bias);
}

// _thnn_fused_gru_cell(input_gates, hidden_gates, hx, input_bias, hidden_bias) -> hy, workspace
// (reset, update, new, hx, hidden part of new). Gates lie in the order reset, update, new.
void gru_cell(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::pop(stack, 5);
  const auto type = args[0].toTensor().scalar_type();
  const auto from_input = with_bias(args[0].toTensor(), args[3]).chunk(3, 1);
  const auto from_hidden = with_bias(args[1].toTensor(), args[4]).chunk(3, 1);
  const at::Tensor hx = wide(args[2].toTensor());
  const at::Tensor reset = from_input[0].add(from_hidden[0]).sigmoid();
  const at::Tensor update = from_input[1].add(from_hidden[1]).sigmoid();
  const at::Tensor fresh = from_input[2].add(reset.mul(from_hidden[2])).tanh();
  const at::Tensor hy = fresh.add(update.mul(hx.sub(fresh)));
  torch::jit::push(stack, hy.to(type),
                   at::cat({reset, update, fresh, hx, from_hidden[2]}, 1).to(type));
}

// _thnn_fused_gru_cell_backward(grad_hy, workspace, has_bias) -> gradients of the input gates, the
// hidden gates, hx, and both biases.
void gru_cell_backward(const c10::OperatorHandle&, Stack& stack) {
  const auto args = torch::jit::pop(stack, 3);
  const at::Tensor grad = wide(args[0].toTensor());
  const auto type = args[0].toTensor().scalar_type();
  const auto saved = wide(args[1].toTensor()).chunk(5, 1);
  const at::Tensor &reset = saved[0], &update = saved[1], &fresh = saved[2], &hx = saved[3],
                   &hidden = saved[4];
  const auto slope = [](const at::Tensor& y) { return y.mul(y.neg().add(1)); };
  const at::Tensor grad_update = grad.mul(hx.sub(fresh)).mul(slope(update));
  const at::Tensor grad_fresh = grad.mul(update.neg().add(1)).mul(fresh.mul(fresh).neg().add(1));
  const at::Tensor grad_reset = grad_fresh.mul(hidden).mul(slope(reset));
  const at::Tensor input_gates = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  const at::Tensor hidden_gates = at::cat({grad_reset, grad_update, grad_fresh.mul(reset)}, 1);
  const bool has_bias = args[2].toBool();
  torch::jit::push(stack, input_gates.to(type), hidden_gates.to(type), grad.mul(update).to(type),
                   has_bias ? input_gates.sum(0).to(type) : at::Tensor(),
                   has_bias ? hidden_gates.sum(0).to(type) : at::Tensor());
}

}  // namespace

StackKernel find_host_kernel(std::string_view qualified_name) {
  static const std::map<std::string_view, StackKernel> kernels{
      {"aten::convolution_overrideable", &convolution},
      {"aten::convolution_backward_overrideable", &convolution_backward},
      {"aten::_thnn_fused_lstm_cell", &lstm_cell},
      {"aten::_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward},
      {"aten::_thnn_fused_gru_cell", &gru_cell},
      {"aten::_thnn_fused_gru_cell_backward", &gru_cell_backward},
  };
  const auto found = kernels.find(qualified_name);
  return found == kernels.end() ? nullptr : found->second;
}

}  // namespace opreplay::sim
