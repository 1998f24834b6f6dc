#include "lib/torch/vmap.h"

#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>

#include <map>

#include "opreplay/error.h"

namespace opreplay {
namespace {

namespace functorch = at::functorch;
using c10::IValue;
using Arguments = std::vector<IValue>;

constexpr std::string_view k_prefix = "torch._functorch.predispatch.";

[[noreturn]] void refuse(const std::string& why) { throw Error(ExitCode::invalid_input, why); }

/// (batch size, "error" | "same" | "different"): opens a level.
IValue open_level(const Arguments& arguments) {
  static const std::map<std::string, functorch::RandomnessType> randomness = {
      {"error", functorch::RandomnessType::Error},
      {"same", functorch::RandomnessType::Same},
      {"different", functorch::RandomnessType::Different}};
  const auto found = randomness.find(arguments[1].toStringRef());
  if (found == randomness.end())
    refuse("expected error, same or different, found " + arguments[1].toStringRef());
  functorch::initAndPushDynamicLayer(functorch::TransformType::Vmap, arguments[0].toInt(),
                                     found->second);
  return {};
}

IValue close_level(const Arguments&) {
  if (!inside_vmap()) refuse("no level of vmap is open");
  functorch::popDynamicLayerAndDeleteMetadata();
  return {};
}

/// (tensor, dim, level)
IValue add_batch_dim(const Arguments& arguments) {
  return functorch::addBatchDim(arguments[0].toTensor(), arguments[1].toInt(),
                                arguments[2].toInt());
}

/// (tensor, level, batch size, dim of the result): a tensor that no batched one has touched is the
/// same for each of the batch.
IValue remove_batch_dim(const Arguments& arguments) {
  const at::Tensor tensor = arguments[0].toTensor();
  const std::int64_t level = arguments[1].toInt();
  const auto* batched = functorch::maybeGetBatchedImpl(tensor);
  if (batched && batched->level() == level)
    return batched->value().movedim(batched->bdim(), arguments[3].toInt());
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes.insert(sizes.begin(), arguments[2].toInt());
  return tensor.expand(sizes).movedim(0, arguments[3].toInt());
}

struct Function {
  std::size_t arguments;
  IValue (*call)(const Arguments&);
};

const std::map<std::string_view, Function>& functions() {
  static const std::map<std::string_view, Function> table = {
      {"lazy_load_decompositions", {0, [](const Arguments&) { return IValue(); }}},
      {"_vmap_increment_nesting", {2, open_level}},
      {"_vmap_decrement_nesting", {0, close_level}},
      {"_add_batch_dim", {3, add_batch_dim}},
      {"_remove_batch_dim", {4, remove_batch_dim}},
  };
  return table;
}

}  // namespace

bool is_vmap(const std::string& target) { return target.starts_with(k_prefix); }

IValue call_vmap(const std::string& target, const Arguments& arguments) {
  const auto found = functions().find(std::string_view(target).substr(k_prefix.size()));
  if (found == functions().end()) refuse("a function of vmap that is not known");
  if (arguments.size() != found->second.arguments)
    refuse("expected " + std::to_string(found->second.arguments) + " arguments, found " +
           std::to_string(arguments.size()));
  return found->second.call(arguments);
}

bool inside_vmap() { return !functorch::getDynamicLayerStack().empty(); }

VmapScope::VmapScope() : depth_(functorch::getDynamicLayerStack().size()) {}

VmapScope::~VmapScope() {
  while (functorch::getDynamicLayerStack().size() > depth_)
    functorch::popDynamicLayerAndDeleteMetadata();
}

}  // namespace opreplay
