#include "harness/simdevice/call.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <bit>

#include "harness/simdevice/kernels.h"

namespace opreplay::sim {
namespace {

/// "addmm" of "aten.addmm_" or "aten.addmm.out".
std::string base_name(const std::string& spec_name) {
  const auto start = spec_name.find('.') + 1;
  std::string base = spec_name.substr(start, spec_name.find('.', start) - start);
  if (base.size() > 1 && base.back() == '_') base.pop_back();
  return base;
}

std::int64_t product(c10::IntArrayRef sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) result *= size;
  return result;
}

std::optional<std::int64_t> size_of_argument(const Call& call, const std::string& argument,
                                             std::int64_t dim) {
  const auto tensors = call.tensors(argument);
  if (tensors.empty() || tensors[0].dim() == 0) return std::nullopt;
  return tensors[0].size(dim);
}

void add(std::uint64_t& hash, std::uint64_t value) { hash = mix(hash, value); }

void add_value(Signature& signature, const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return add(signature.shape, ~std::uint64_t{0});
    add(signature.shape, static_cast<std::uint64_t>(tensor.dim()));
    for (const std::int64_t size : tensor.sizes())
      add(signature.shape, static_cast<std::uint64_t>(size));
    add(signature.dtype, static_cast<std::uint64_t>(tensor.scalar_type()));
  } else if (value.isDouble()) {
    add(signature.scalar, std::bit_cast<std::uint64_t>(value.toDouble()));
  } else if (value.isInt()) {
    add(signature.scalar, static_cast<std::uint64_t>(value.toInt()));
  } else if (value.isBool()) {
    add(signature.scalar, value.toBool() ? 1 : 0);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) add_value(signature, item);
  } else if (value.isNone()) {
    add(signature.scalar, ~std::uint64_t{0});
  }
}

}  // namespace

const c10::FunctionSchema& Call::schema() const { return op.schema(); }

const c10::IValue* Call::find(const std::string& argument) const {
  for (std::size_t i = 0; i < args.size(); ++i)
    if (schema().arguments()[i].name() == argument) return &args[i];
  return nullptr;
}

std::vector<at::Tensor> tensors_of(const c10::IValue& value) {
  std::vector<at::Tensor> found;
  if (value.isTensor()) {
    found.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    found = value.toTensorVector();
  } else if (value.isOptionalTensorList()) {
    for (const auto& tensor : value.toOptionalTensorVector())
      if (tensor) found.push_back(*tensor);
  }
  std::erase_if(found, [](const at::Tensor& tensor) { return !tensor.defined(); });
  return found;
}

std::vector<at::Tensor> Call::tensors(const std::string& argument) const {
  if (!argument.empty()) {
    const c10::IValue* value = find(argument);
    return value == nullptr ? std::vector<at::Tensor>{} : tensors_of(*value);
  }
  std::vector<at::Tensor> all;
  for (const c10::IValue& value : args)
    for (at::Tensor& tensor : tensors_of(value)) all.push_back(std::move(tensor));
  return all;
}

std::string spec_name(const c10::OperatorHandle& op) {
  std::string name = qualified_name(op);
  if (const auto colons = name.find("::"); colons != std::string::npos)
    name.replace(colons, 2, ".");
  return name;
}

bool names_dtype(const c10::Argument& argument) {
  return argument.real_type()->str().find("ScalarType") != std::string::npos;
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

Signature signature_of(const std::vector<c10::IValue>& args) {
  Signature signature;
  for (const c10::IValue& value : args) add_value(signature, value);
  return signature;
}

std::optional<std::int64_t> reduced_length(const Call& call) {
  const std::string base = base_name(call.name);
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return base == name; });
  };
  if (is({"mm", "bmm", "mv", "dot", "vdot", "matmul"})) return size_of_argument(call, "self", -1);
  if (is({"addmm"})) return size_of_argument(call, "mat1", -1);
  if (is({"baddbmm", "addbmm"})) return size_of_argument(call, "batch1", -1);
  if (is({"addmv"})) return size_of_argument(call, "mat", -1);
  if (is({"linear"})) return size_of_argument(call, "input", -1);
  if (const c10::IValue* shape = call.find("normalized_shape"))
    return product(shape->toIntVector());
  if (base.find("conv") != std::string::npos) {
    const auto weight = call.tensors("weight");
    if (weight.empty() || weight[0].dim() == 0 || weight[0].size(0) == 0) return std::nullopt;
    return weight[0].numel() / weight[0].size(0);
  }
  auto input = call.tensors("self");
  if (input.empty()) input = call.tensors("input");
  if (input.empty()) return std::nullopt;
  const c10::IValue* dim = call.find("dim");
  if (dim == nullptr || dim->isNone() || input[0].dim() == 0) return input[0].numel();
  if (dim->isInt()) return input[0].size(dim->toInt());
  if (!dim->isIntList()) return std::nullopt;
  std::int64_t length = 1;
  for (const std::int64_t one : dim->toIntVector()) length *= input[0].size(one);
  return dim->toIntVector().empty() ? input[0].numel() : length;
}

}  // namespace opreplay::sim
