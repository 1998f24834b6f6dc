#include "lib/torch/inputs.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/view_as_real.h>

#include <cmath>

#include "lib/base/fill.h"
#include "lib/base/hash.h"
#include "lib/torch/dtype_map.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

std::span<std::byte> bytes_of(const at::Tensor& flat) {
  return {static_cast<std::byte*>(flat.mutable_data_ptr()), flat.nbytes()};
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ExitCode::invalid_input, "tensor " + path + ": " + why);
}

/// A storage while the tensors that share it are still being collected.
struct Plan {
  DType dtype;
  std::int64_t elements = 0;
  bool on_cpu = false;
};

}  // namespace

std::string input_path(std::size_t call, const std::string& argument) {
  return std::to_string(call) + "." + argument;
}

std::string argument_of(const std::string& path) { return path.substr(path.find('.') + 1); }

InputImage::InputImage(const ReplayRequest& request, std::int64_t max_bytes) {
  std::vector<Plan> plans;
  std::vector<Values> recipes;
  std::map<std::string, std::size_t> by_label;
  for (std::size_t c = 0; c < request.calls.size(); ++c) {
    for_each_tensor(request.calls[c], [&](const std::string& argument, const TensorArg& arg) {
      const std::string path = input_path(c, argument);
      const auto elements = storage_elements(arg.desc);
      if (!elements) refuse(path, "sizes, strides and offset describe no possible storage");
      std::size_t index = plans.size();
      if (!arg.desc.storage.empty()) {
        const auto [it, is_new] = by_label.emplace(arg.desc.storage, index);
        index = it->second;
        if (!is_new && plans[index].dtype != arg.desc.dtype)
          refuse(path, "tensors that share a storage must have one dtype");
      }
      if (index == plans.size()) plans.push_back({arg.desc.dtype, 0, arg.on_cpu});
      plans[index].elements = std::max(plans[index].elements, *elements);
      tensors_.push_back({path, arg.desc, index, arg.requires_grad});
      recipes.push_back(arg.values.value_or(Values{}));
    });
  }

  std::int64_t total = 0;
  for (const Plan& plan : plans) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(plan.elements, static_cast<std::int64_t>(size_of(plan.dtype)),
                               &bytes) ||
        __builtin_add_overflow(total, bytes, &total) || total > max_bytes)
      throw Error(ExitCode::invalid_input, "the inputs need more than " +
                                               std::to_string(max_bytes) +
                                               " bytes (raise the limit with --max-bytes)");
  }
  for (const Plan& plan : plans)
    storages_.push_back(
        {at::empty({plan.elements}, at::TensorOptions(to_torch(plan.dtype))), plan.on_cpu});

  // In argument order: where tensors share a storage, the first one's values count and the others
  // see them, as in the program the call came from.
  std::vector<bool> filled(storages_.size(), false);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const InputTensor& tensor = tensors_[i];
    if (filled[tensor.storage]) continue;
    filled[tensor.storage] = true;
    fill(recipes[i], tensor.desc, stream_key(request.seed, tensor.path),
         bytes_of(storages_[tensor.storage].flat));
  }
}

InputImage InputImage::with_numbers(const std::function<double(double)>& change) const {
  InputImage out = *this;
  for (StorageImage& storage : out.storages_) {
    const at::ScalarType type = storage.flat.scalar_type();
    const bool complex = c10::isComplexType(type);
    if (!complex && !c10::isFloatingType(type)) continue;
    const at::Tensor wide = storage.flat.to(complex ? at::kComplexDouble : at::kDouble,
                                            /*non_blocking=*/false, /*copy=*/true);
    auto* numbers = static_cast<double*>(wide.mutable_data_ptr());
    for (std::int64_t i = 0; i < wide.numel() * (complex ? 2 : 1); ++i)
      if (std::isfinite(numbers[i])) numbers[i] = change(numbers[i]);
    storage.flat = wide.to(type);
  }
  return out;
}

std::uint64_t InputImage::hash() const {
  std::uint64_t hash = 0;
  for (const StorageImage& storage : storages_) hash = hash64(bytes_of(storage.flat), hash);
  return hash;
}

RunInputs::RunInputs(const InputImage& image, const Convert& convert) {
  for (const StorageImage& storage : image.storages())
    storages.push_back(convert(storage, storages.size()));
  for (const InputTensor& input : image.tensors()) {
    const at::Tensor& flat = storages[input.storage];
    at::Tensor tensor = flat.as_strided(input.desc.sizes, input.desc.strides, input.desc.offset);
    // as_strided makes a view; detach gives a leaf that can require grad.
    tensor = tensor.detach();
    if (input.requires_grad && (at::isFloatingType(tensor.scalar_type()) || tensor.is_complex()))
      tensor.set_requires_grad(true);
    tensors.emplace(input.path, std::move(tensor));
  }
}

}  // namespace opreplay
