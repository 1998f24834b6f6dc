#include "harness/simdevice/checks.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <functional>

#include "harness/simdevice/call.h"
#include "harness/simdevice/effects.h"
#include "harness/simdevice/kernels.h"
#include "harness/simdevice/own_kernels.h"

namespace opreplay::sim {
namespace {

using Operators = std::vector<const c10::OperatorHandle*>;

bool some(const Operators& operators, const std::function<bool(const c10::OperatorHandle&)>& test) {
  return std::any_of(operators.begin(), operators.end(),
                     [&](const c10::OperatorHandle* op) { return test(*op); });
}

bool has_argument(const c10::OperatorHandle& op, const std::string& name) {
  const auto& arguments = op.schema().arguments();
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const c10::Argument& argument) { return argument.name() == name; });
}

/// Every argument that the fault names.
struct NamedArguments {
  std::vector<std::string> names;

  template <class Condition>
  void operator()(const Condition& condition) {
    if constexpr (requires { condition.arg; }) names.push_back(condition.arg);
  }
  void operator()(const ModifyInput& effect) { names.push_back(effect.arg); }
  void operator()(const DropWrite& effect) { names.push_back(effect.arg); }
  void operator()(const AcceptInvalid& effect) { names.push_back(effect.shape_of); }
  void operator()(const Ignore& effect) {
    for (const auto* list : {&effect.stride, &effect.offset, &effect.scalars})
      names.insert(names.end(), list->begin(), list->end());
  }
};

std::vector<std::string> named_arguments(const Fault& fault) {
  NamedArguments named;
  for (const Condition& condition : fault.when) std::visit(named, condition);
  for (const Effect& effect : fault.effects) std::visit(named, effect);
  if (fault.where) named(*fault.where);
  std::erase(named.names, "");
  return std::move(named.names);
}

bool starts_with_any(const c10::OperatorHandle& op, std::initializer_list<const char*> prefixes) {
  const std::string name = spec_name(op);
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const char* prefix) {
    return name.starts_with(std::string("aten.") + prefix);
  });
}

bool adds_up_itself(const c10::OperatorHandle& op) {
  return find_own_kernel(qualified_name(op)) != nullptr || is_composite(op);
}

bool returns_output(const c10::OperatorHandle& op, std::int64_t output) {
  const auto& returns = op.schema().returns();
  const bool list = std::any_of(returns.begin(), returns.end(), [](const c10::Argument& result) {
    return result.type()->kind() == c10::TypeKind::ListType;
  });
  return list || output < static_cast<std::int64_t>(returns.size());
}

}  // namespace

std::vector<std::string> problems_of(const Fault& fault,
                                     const std::vector<c10::OperatorHandle>& operators) {
  std::vector<std::string> problems;
  const auto problem = [&](const std::string& text) {
    problems.push_back("fault '" + fault.name + "': " + text);
  };
  Operators matched;
  for (const std::string& pattern : fault.ops) {
    const std::size_t before = matched.size();
    for (const c10::OperatorHandle& op : operators)
      if (matches_glob(pattern, spec_name(op)) && (is_composite(op) || honest_kernel(op)))
        matched.push_back(&op);
    if (matched.size() == before) problem("no operator of the device matches '" + pattern + "'");
  }
  if (matched.empty()) return problems;

  for (const std::string& name : named_arguments(fault))
    if (!some(matched, [&](const auto& op) { return has_argument(op, name); }))
      problem("no matched operator has an argument '" + name + "'");

  const auto* accumulate = find_effect<AccumulateIn>(fault);
  const bool about_sums = find_effect<DropTerm>(fault) != nullptr ||
                          find_effect<OrderRandom>(fault) != nullptr ||
                          (accumulate != nullptr && is_floating(accumulate->dtype));
  if (about_sums && !some(matched, adds_up_itself))
    problem(
        "the device adds up in an order of its own for matrix products, convolution, sum, mean, "
        "softmax and layer_norm only: drop_term, order_random and accumulate have no effect here");
  if (find_effect<PickOther>(fault) != nullptr && !some(matched, [](const auto& op) {
        return starts_with_any(op, {"scatter", "index_put", "_index_put", "index_copy", "put"});
      }))
    problem("pick_other is for operators that write to places of an index");
  if (find_effect<RoundHalfUp>(fault) != nullptr &&
      !some(matched, [](const auto& op) { return starts_with_any(op, {"round"}); }))
    problem("round_half is for aten.round");
  if (!some(matched, [&](const auto& op) { return returns_output(op, fault.output); }))
    problem("no matched operator has an output " + std::to_string(fault.output));
  return problems;
}

}  // namespace opreplay::sim
