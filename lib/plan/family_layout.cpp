#include <map>

#include "lib/plan/families.h"

// The same values in another layout. A kernel that reads memory as if it were dense gives plausible
// wrong data: the gaps hold other values of the same recipe.

namespace opreplay {
namespace {

using Sizes = std::vector<std::int64_t>;

/// One storage position per element and no second tensor in the storage: only such tensors can be
/// laid out anew.
bool is_movable(const OpCall& call, const TensorArg& tensor) {
  if (tensor.desc.storage.empty()) return true;
  int sharing = 0;
  for_each_tensor(call, [&](const std::string&, const TensorArg& other) {
    sharing += other.desc.storage == tensor.desc.storage;
  });
  return sharing <= 1;
}

bool has_elements(const TensorArg& tensor) { return numel(tensor.desc).value_or(0) > 1; }

bool can_transpose(const TensorDesc& desc) {
  const std::size_t rank = desc.sizes.size();
  return rank >= 2 && desc.sizes[rank - 1] > 1 && desc.sizes[rank - 2] > 1;
}

Sizes transposed_strides(const TensorDesc& desc) {
  Sizes sizes = desc.sizes;
  const std::size_t rank = sizes.size();
  std::swap(sizes[rank - 1], sizes[rank - 2]);
  Sizes strides = contiguous_strides(sizes);
  std::swap(strides[rank - 1], strides[rank - 2]);
  return strides;
}

/// Where dim 0 is larger than 1: every index of it reads the same memory.
bool can_expand(const TensorDesc& desc) { return !desc.sizes.empty() && desc.sizes[0] > 1; }

struct Member {
  std::string_view name;
  bool (*applies)(const TensorDesc&);
  bool writable;  ///< torch lets such a tensor be written in place
  void (*change)(TensorDesc&);
};

constexpr Member k_members[] = {
    {"transposed", can_transpose, true,
     [](TensorDesc& desc) {
       desc.strides = transposed_strides(desc);
       desc.offset = 0;
     }},
    {"step2", [](const TensorDesc& desc) { return !desc.sizes.empty(); }, true,
     [](TensorDesc& desc) {
       desc.strides = contiguous_strides(desc.sizes);
       for (std::int64_t& stride : desc.strides) stride *= 2;
       desc.offset = 0;
     }},
    {"offset", [](const TensorDesc&) { return true; }, true,
     [](TensorDesc& desc) {
       desc.strides = contiguous_strides(desc.sizes);
       desc.offset = 1;
     }},
    {"expanded", can_expand, false,
     [](TensorDesc& desc) {
       Sizes rest(desc.sizes.begin() + 1, desc.sizes.end());
       desc.strides = contiguous_strides(rest);
       desc.strides.insert(desc.strides.begin(), 0);
       desc.offset = 0;
     }},
};

auto default_set(const FamilyInput& input, const Member& member) {
  return [&input, &member](const std::string& path, const TensorArg& tensor) {
    return has_elements(tensor) && is_movable(input.call, tensor) && member.applies(tensor.desc) &&
           (member.writable || !is_written(input, path));
  };
}

std::vector<Variation> list(const FamilyInput& input) {
  std::vector<Variation> out;
  for (const Member& member : k_members) {
    const Variation variation{"layout", std::string(member.name), "", {}};
    if (!selected_tensors(input.call, variation, default_set(input, member)).empty())
      out.push_back(variation);
  }
  return out;
}

OpCall apply(const FamilyInput& input, const Variation& variation) {
  for (const Member& member : k_members) {
    if (member.name != variation.member || !variation.place.empty()) continue;
    OpCall call = input.call;
    const auto paths = selected_tensors(call, variation, default_set(input, member));
    change_tensors(call, paths, [&](TensorArg& tensor) {
      if (!member.applies(tensor.desc))
        refuse_variation(variation,
                         "does not apply to " + to_string(tensor.desc) + " (too few dims)");
      member.change(tensor.desc);
    });
    return call;
  }
  refuse_variation(variation, "expected transposed, step2, offset or expanded");
}

}  // namespace

Family layout_family() {
  return {
      "layout",
      "the same values transposed, with a step of 2, at an offset of one element, expanded with "
      "stride 0: finds ignored strides and offsets",
      names_of(k_members), list, apply};
}

}  // namespace opreplay
