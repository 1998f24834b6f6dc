#include "lib/torch/run.h"

#include <ATen/ops/scalar_tensor.h>
#include <c10/core/GradMode.h>

#include "opreplay/error.h"

namespace opreplay {
namespace {

class RunSource : public ArgumentSource {
 public:
  RunSource(const RunInputs& inputs, const RunMode& mode, std::size_t call)
      : inputs_(inputs), mode_(mode), call_(call) {}

  at::Tensor tensor(const std::string& path, const TensorArg&) override {
    return inputs_.tensors.at(input_path(call_, path));
  }
  c10::Scalar scalar(const c10::Scalar& value) override {
    return mode_.scalar ? mode_.scalar(value) : value;
  }
  c10::ScalarType dtype(c10::ScalarType type) override {
    if (!mode_.widen) return type;
    if (c10::isFloatingType(type)) return *mode_.widen;
    if (c10::isComplexType(type)) return c10::toComplexType(*mode_.widen);
    return type;
  }
  c10::Device device() const override { return mode_.device; }

 private:
  const RunInputs& inputs_;
  const RunMode& mode_;
  std::size_t call_;
};

void flatten(const c10::IValue& value, RunResult& result) {
  const std::size_t before = result.returns.size();
  if (value.isTensor()) {
    result.returns.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) result.returns.push_back(tensor);
  } else if (value.isNone()) {
    result.returns.emplace_back();
  } else if (value.isScalar()) {
    const c10::Scalar number = value.toScalar();  // of equal, item...
    result.returns.push_back(at::scalar_tensor(number, at::TensorOptions(number.type())));
  }
  for (std::size_t i = before; i < result.returns.size(); ++i)
    result.numbers.push_back(value.isScalar());
}

std::map<std::string, std::vector<double>> number_arguments(const c10::FunctionSchema& schema,
                                                            const torch::jit::Stack& stack) {
  std::map<std::string, std::vector<double>> out;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const c10::IValue& value = stack[i];
    std::vector<double> numbers;
    if (value.isInt() || value.isDouble() || value.isBool()) {
      numbers.push_back(value.toScalar().toDouble());
    } else if (value.isComplexDouble()) {
      numbers = {value.toComplexDouble().real(), value.toComplexDouble().imag()};
    } else if (value.isIntList()) {
      for (const std::int64_t n : value.toIntVector()) numbers.push_back(static_cast<double>(n));
    } else if (value.isDoubleList()) {
      numbers = value.toDoubleVector();
    } else if (value.isBoolList()) {
      for (const bool b : value.toBoolList()) numbers.push_back(b);
    } else {
      continue;
    }
    out.emplace(schema.arguments()[i].name(), std::move(numbers));
  }
  return out;
}

std::map<std::string, std::string> text_arguments(const c10::FunctionSchema& schema,
                                                  const torch::jit::Stack& stack) {
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; i < stack.size(); ++i)
    if (stack[i].isString()) out.emplace(schema.arguments()[i].name(), stack[i].toStringRef());
  return out;
}

}  // namespace

RunResult run_calls(const ReplayRequest& request, const std::vector<c10::OperatorHandle>& operators,
                    RunInputs& inputs, const RunMode& mode, const BeforeLaunch& before_launch) {
  // Forward replay builds no autograd graph; requires_grad is kept on the inputs because it alone
  // can change the code path.
  const c10::NoGradGuard no_grad;
  RunResult result;
  for (std::size_t c = 0; c < request.calls.size(); ++c) {
    RunSource source(inputs, mode, c);
    const c10::FunctionSchema& schema = operators[c].schema();
    torch::jit::Stack stack = make_stack(schema, request.calls[c], source);
    const bool last = c + 1 == request.calls.size();
    if (last) {
      result.scalars = number_arguments(schema, stack);
      result.words = text_arguments(schema, stack);
      if (before_launch) before_launch();
    }
    call_boxed(operators[c], stack);
    if (!last) continue;
    for (const c10::IValue& value : stack) flatten(value, result);
    result.returns_list = stack.size() > 1 || (stack.size() == 1 && stack[0].isList());
  }
  return result;
}

std::vector<std::string> written_paths(const c10::FunctionSchema& schema, const InputImage& image,
                                       std::size_t call) {
  std::vector<std::string> out;
  for (const c10::Argument& argument : schema.arguments()) {
    if (!argument.alias_info() || !argument.alias_info()->isWrite()) continue;
    const std::string path = input_path(call, argument.name());
    for (const InputTensor& input : image.tensors())
      if (input.path == path || input.path.starts_with(path + ".")) out.push_back(input.path);
  }
  return out;
}

at::Tensor to_dense_cpu(const at::Tensor& tensor) {
  // Conjugation and negation are bits on the tensor: the memory is copied, the bit set again here.
  if (tensor.is_conj()) return to_dense_cpu(tensor.conj()).conj().resolve_conj();
  if (tensor.is_neg()) return to_dense_cpu(tensor._neg_view()).neg();
  const at::Tensor plain = tensor.detach();
  if (plain.is_cpu() || plain.is_contiguous()) return plain.cpu().contiguous();
  std::int64_t reach = plain.numel() == 0 ? 0 : 1;
  for (std::int64_t d = 0; d < plain.dim() && reach > 0; ++d)
    reach += (plain.size(d) - 1) * plain.stride(d);
  const at::Tensor flat = plain.as_strided({reach}, {1}, plain.storage_offset()).cpu();
  return flat.as_strided(plain.sizes(), plain.strides(), 0).contiguous();
}

}  // namespace opreplay
