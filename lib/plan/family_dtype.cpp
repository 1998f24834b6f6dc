#include <array>

#include "lib/plan/families.h"

// Every floating tensor of the call in another floating dtype, together: devices often have a
// kernel for one dtype only, or compute another one in a lower precision.

namespace opreplay {
namespace {

constexpr std::array k_dtypes = {DType::f64, DType::f16, DType::bf16};

bool is_floating_tensor(const std::string&, const TensorArg& tensor) {
  return is_floating(tensor.desc.dtype);
}

std::vector<Variation> list(const FamilyInput& input) {
  std::vector<Variation> out;
  for (const DType dtype : k_dtypes) {
    bool changes = false;
    for_each_tensor(input.call, [&](const std::string& path, const TensorArg& tensor) {
      changes |= is_floating_tensor(path, tensor) && tensor.desc.dtype != dtype;
    });
    if (changes) out.push_back({"dtype", std::string(name(dtype)), "", {}});
  }
  return out;
}

OpCall apply(const FamilyInput& input, const Variation& variation) {
  const auto dtype = parse_dtype(variation.member);
  if (!dtype || !is_floating(*dtype) || !variation.place.empty())
    refuse_variation(variation, "expected dtype.f64, dtype.f32, dtype.f16 or dtype.bf16");
  OpCall call = input.call;
  change_tensors(call, selected_tensors(call, variation, is_floating_tensor),
                 [&](TensorArg& tensor) { tensor.desc.dtype = *dtype; });
  return call;
}

std::vector<std::string_view> members() {
  std::vector<std::string_view> names;
  for (const DType dtype : all_dtypes())
    if (is_floating(dtype)) names.push_back(name(dtype));
  return names;
}

}  // namespace

Family dtype_family() {
  return {
      "dtype",
      "all floating tensors together as f64, f16, bf16: finds missing kernels, silent downcasts "
      "and accumulation in half precision",
      members(), list, apply};
}

}  // namespace opreplay
