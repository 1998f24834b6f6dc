#include <algorithm>

#include "lib/plan/families.h"

// The leading dim alone: empty batch and batch of one. It moves together in every tensor of data
// whose dim 0 has that size; weights keep their shape.

namespace opreplay {
namespace {

bool is_rule_parameter(const Rule* rule, const std::string& path) {
  if (!rule) return false;
  const auto& names = rule->parameters;
  return std::find(names.begin(), names.end(), argument_name(path)) != names.end();
}

/// Size of the leading dim of the first tensor of data; 0 if there is none.
std::int64_t leading_size(const FamilyInput& input, bool know_parameters) {
  std::int64_t size = 0;
  for_each_tensor(input.call, [&](const std::string& path, const TensorArg& tensor) {
    if (size > 0 || tensor.desc.sizes.empty() || is_rule_parameter(input.rule, path) ||
        (know_parameters && tensor.parameter))
      return;
    size = tensor.desc.sizes[0];
  });
  return size;
}

/// The tensors that move together. Without `know_parameters` only what the call's string and the
/// rules say is used: the default set of a case string.
std::vector<std::string> moving(const FamilyInput& input, bool know_parameters) {
  const std::int64_t size = leading_size(input, know_parameters);
  std::vector<std::string> out;
  if (size == 0) return out;
  for_each_tensor(input.call, [&](const std::string& path, const TensorArg& tensor) {
    if (!tensor.desc.sizes.empty() && tensor.desc.sizes[0] == size &&
        !is_rule_parameter(input.rule, path) && !(know_parameters && tensor.parameter))
      out.push_back(path);
  });
  return out;
}

struct Member {
  std::string_view name;
  std::int64_t size;
};
constexpr Member k_members[] = {{"empty_batch", 0}, {"batch_one", 1}};

std::vector<Variation> list(const FamilyInput& input) {
  const auto paths = moving(input, true);
  if (paths.empty()) return {};
  const bool is_default = paths == moving(input, false);
  const std::int64_t size = leading_size(input, true);
  std::vector<Variation> out;
  for (const Member& member : k_members)
    if (member.size != size)
      out.push_back(
          {"shape", std::string(member.name), "", is_default ? std::vector<std::string>{} : paths});
  return out;
}

/// Same order of dims in memory, dense, with the new leading size.
void resize_leading(TensorArg& tensor, std::int64_t size) {
  TensorDesc& desc = tensor.desc;
  desc.sizes[0] = size;
  desc.strides = contiguous_strides(desc.sizes);
  desc.offset = 0;
  // Literal data has the old length; the rule's domain takes its place.
  if (tensor.values &&
      (tensor.values->kind == Values::Kind::data || tensor.values->kind == Values::Kind::file))
    tensor.values.reset();
}

OpCall apply(const FamilyInput& input, const Variation& variation) {
  for (const Member& member : k_members) {
    if (member.name != variation.member || !variation.place.empty()) continue;
    OpCall call = input.call;
    const auto by_default = moving(input, false);
    const auto paths =
        selected_tensors(call, variation, [&](const std::string& path, const TensorArg&) {
          return std::find(by_default.begin(), by_default.end(), path) != by_default.end();
        });
    if (paths.empty()) refuse_variation(variation, "no tensor of the call has a leading dim");
    change_tensors(call, paths, [&](TensorArg& tensor) {
      if (tensor.desc.sizes.empty())
        refuse_variation(variation, "a 0-dim tensor has no leading dim");
      resize_leading(tensor, member.size);
    });
    return call;
  }
  refuse_variation(variation, "expected empty_batch or batch_one");
}

}  // namespace

Family shape_family() {
  return {"shape",
          "the leading dim 0 (empty batch) and 1, together in all tensors of data that share it: "
          "finds kernels launched with an empty grid, squeezed dims, crashes on empty tensors",
          names_of(k_members), list, apply};
}

}  // namespace opreplay
