#include "lib/torch/interception.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "opreplay/error.h"

namespace opreplay {
namespace {

constexpr c10::DispatchKey k_key = c10::DispatchKey::Fake;

thread_local const Interception* t_active = nullptr;

template <class Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) for_each_tensor(item, visit);
  }
}

bool is_computed_number(const at::Tensor& t) {
  return (t.is_floating_point() || t.is_complex()) && t.layout() == at::kStrided && t.is_cpu() &&
         t.numel() > 0 && t.has_storage() && !t.is_conj() && !t.is_neg() &&
         at::has_internal_overlap(t) != at::MemOverlap::Yes;
}

/// The operators that every other one allocates through.
bool only_allocates(const c10::OperatorHandle& op) {
  const std::string_view name = op.operator_name().name;
  return name == "aten::empty" || name == "aten::empty_strided";
}

/// Whole numbers come out exact on any device; off by a roundoff they would be other indices.
bool rounds_to_whole_numbers(const c10::OperatorHandle& op) {
  const c10::OperatorName& name = op.operator_name();
  std::string_view base = name.name;
  if (base.ends_with('_')) base.remove_suffix(1);
  return name.overload_name.find("decimals") == std::string::npos &&
         (base == "aten::ceil" || base == "aten::floor" || base == "aten::round" ||
          base == "aten::trunc");
}

}  // namespace

struct InterceptedCall {
  static void run(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    const Interception* active = t_active;
    const auto below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, k_key);
    if (!active) return op.redispatchBoxed(below, stack);

    // The stack holds the arguments as long as the call lasts: their storages stay distinct from
    // those of new results.
    const c10::FunctionSchema& schema = op.schema();
    const std::size_t first = stack->size() - schema.arguments().size();
    std::vector<const c10::StorageImpl*> given;
    std::vector<at::Tensor> written;
    for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
      const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
      for_each_tensor((*stack)[first + i], [&](const at::Tensor& t) {
        if (t.has_storage()) given.push_back(t.storage().unsafeGetStorageImpl());
        if (alias && alias->isWrite()) written.push_back(t);
      });
    }
    op.redispatchBoxed(below, stack);

    if (rounds_to_whole_numbers(op)) return;

    const c10::impl::ExcludeDispatchKeyGuard not_again(k_key);
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const bool uninitialised = only_allocates(op);
    const auto change = [&](const at::Tensor& t) {
      if (is_computed_number(t)) active->change_(t, uninitialised);
    };
    if (!op.hasTag(at::Tag::inplace_view))
      for (const at::Tensor& t : written) change(t);
    for (std::size_t i = stack->size() - schema.returns().size(); i < stack->size(); ++i)
      for_each_tensor((*stack)[i], [&](const at::Tensor& t) {
        const bool shared =
            t.has_storage() &&
            std::ranges::find(given, t.storage().unsafeGetStorageImpl()) != given.end();
        if (!shared) change(t);
      });
  }
};

namespace {

/// Registered when first needed, for the rest of the process: a fallback is an entry in the table
/// of every operator.
void need_fallback() {
  static const c10::RegistrationHandleRAII registered =
      c10::Dispatcher::singleton().registerFallback(
          k_key, c10::KernelFunction::makeFromBoxedFunction<&InterceptedCall::run>(),
          "opreplay interception");
}

c10::DispatchKey prepared_key() {
  if (t_active)
    throw Error(ExitCode::internal, "interception: expected none on this thread, found one");
  need_fallback();
  return k_key;
}

}  // namespace

Interception::Interception(Change change) : change_(std::move(change)), include_(prepared_key()) {
  t_active = this;
}

Interception::~Interception() { t_active = nullptr; }

}  // namespace opreplay
