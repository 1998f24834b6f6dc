#include "lib/torch/higher_order.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/stack.h>

#include <map>

#include "lib/torch/dtype_map.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

using c10::IValue;

constexpr std::string_view k_prefix = "torch.ops.higher_order.";

/// Autocast as torch.autocast sets it on entry, undone on exit.
class AutocastScope {
 public:
  AutocastScope(c10::DeviceType device, std::optional<c10::ScalarType> dtype, bool enabled,
                bool cache)
      : device_(device),
        enabled_(at::autocast::is_autocast_enabled(device)),
        cache_(at::autocast::is_autocast_cache_enabled()),
        dtype_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_enabled(device, enabled);
    if (dtype) at::autocast::set_autocast_dtype(device, *dtype);
    at::autocast::increment_nesting();
    at::autocast::set_autocast_cache_enabled(cache);
  }
  ~AutocastScope() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
    at::autocast::set_autocast_cache_enabled(cache_);
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  c10::DeviceType device_;
  bool enabled_, cache_;
  c10::ScalarType dtype_;
};

/// The arguments of one node, taken from the front.
class HigherOrderCall {
 public:
  HigherOrderCall(const GraphNode& node, const std::vector<IValue>& arguments,
                  std::int64_t first_number, SubgraphRunner& runner)
      : node_(node), arguments_(arguments), first_number_(first_number), runner_(runner) {}

  [[noreturn]] static void fail(const std::string& problem) {
    throw Error(ExitCode::invalid_input, problem);
  }

  const IValue& next() {
    if (used_ == arguments_.size()) fail("an argument is missing");
    return arguments_[used_++];
  }
  bool next_flag() {
    const IValue& value = next();
    if (!value.isBool()) fail("expected true or false as argument " + std::to_string(used_));
    return value.toBool();
  }
  std::size_t next_graph() {
    const IValue& value = next();
    constexpr std::string_view k_graph = "graph:";
    if (!value.isString() || !value.toStringRef().starts_with(k_graph))
      fail("expected a subgraph as argument " + std::to_string(used_));
    return std::stoul(value.toStringRef().substr(k_graph.size()));
  }
  std::vector<IValue> next_list() {
    const IValue& value = next();
    if (!value.isList()) fail("expected a list as argument " + std::to_string(used_));
    const auto items = value.toListRef();
    return std::vector<IValue>(items.begin(), items.end());
  }
  std::vector<IValue> rest() {
    std::vector<IValue> items(arguments_.begin() + static_cast<std::ptrdiff_t>(used_),
                              arguments_.end());
    used_ = arguments_.size();
    return items;
  }

  std::vector<IValue> run(std::size_t graph, std::vector<IValue> inputs) {
    std::int64_t number = first_number_;
    for (std::size_t i = 0; i < graph; ++i) number += count_nodes(node_.graphs[i]);
    return runner_.run(node_.graphs[graph], std::move(inputs), number);
  }

 private:
  const GraphNode& node_;
  const std::vector<IValue>& arguments_;
  std::int64_t first_number_;
  SubgraphRunner& runner_;
  std::size_t used_ = 0;
};

bool is_true(const IValue& value) {
  if (value.isTensor()) return value.toTensor().item().toBool();
  return value.toBool();
}

std::vector<IValue> concat(std::vector<IValue> first, const std::vector<IValue>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// (flag, body, *inputs). Gradients are not recorded in a run, so the flag changes nothing.
std::vector<IValue> set_grad_enabled(HigherOrderCall& call) {
  call.next_flag();
  const std::size_t body = call.next_graph();
  return call.run(body, call.rest());
}

/// (device type, dtype or none, enabled, cache enabled, body, *inputs)
std::vector<IValue> autocast(HigherOrderCall& call) {
  const IValue& device = call.next();
  if (!device.isString()) call.fail("expected a device type as argument 1");
  const IValue& word = call.next();
  std::optional<c10::ScalarType> dtype;
  if (word.isString()) {
    const auto parsed = parse_dtype(word.toStringRef());
    if (!parsed) call.fail("expected a dtype as argument 2");
    dtype = to_torch(*parsed);
  }
  const bool enabled = call.next_flag();
  const IValue& cache = call.next();
  const AutocastScope scope(
      c10::Device(device.toStringRef()).type(), dtype, enabled,
      cache.isBool() ? cache.toBool() : at::autocast::is_autocast_cache_enabled());
  const std::size_t body = call.next_graph();
  return call.run(body, call.rest());
}

/// (predicate, then graph, else graph, inputs)
std::vector<IValue> cond(HigherOrderCall& call) {
  const bool taken = is_true(call.next());
  const std::size_t then_graph = call.next_graph(), else_graph = call.next_graph();
  return call.run(taken ? then_graph : else_graph, call.next_list());
}

/// (condition graph, body graph, carried values, further inputs)
std::vector<IValue> while_loop(HigherOrderCall& call) {
  const std::size_t condition = call.next_graph(), body = call.next_graph();
  std::vector<IValue> carried = call.next_list();
  const std::vector<IValue> further = call.next_list();
  while (true) {
    const std::vector<IValue> go_on = call.run(condition, concat(carried, further));
    if (go_on.size() != 1) call.fail("the condition of a while loop has several results");
    if (!is_true(go_on[0])) return carried;
    carried = call.run(body, concat(carried, further));
  }
}

/// Slice number `i` of the leading dimension of every tensor.
std::vector<IValue> slices(const std::vector<IValue>& tensors, std::int64_t i) {
  std::vector<IValue> items;
  for (const IValue& tensor : tensors) items.emplace_back(tensor.toTensor().select(0, i));
  return items;
}

std::int64_t leading_size(const std::vector<IValue>& tensors) {
  if (tensors.empty() || !tensors[0].isTensor() || tensors[0].toTensor().dim() == 0)
    HigherOrderCall::fail("expected tensors with a leading dimension");
  return tensors[0].toTensor().size(0);
}

/// Stacks the k-th results of all steps.
std::vector<IValue> stacked(const std::vector<std::vector<IValue>>& steps) {
  if (steps.empty()) HigherOrderCall::fail("a map over no element has no result to stack");
  std::vector<IValue> results;
  for (std::size_t k = 0; k < steps[0].size(); ++k) {
    std::vector<at::Tensor> column;
    for (const std::vector<IValue>& step : steps) column.push_back(step.at(k).toTensor());
    results.emplace_back(at::stack(column));
  }
  return results;
}

/// (body, mapped tensors, further inputs)
std::vector<IValue> map_impl(HigherOrderCall& call) {
  const std::size_t body = call.next_graph();
  const std::vector<IValue> mapped = call.next_list(), further = call.next_list();
  std::vector<std::vector<IValue>> steps;
  for (std::int64_t i = 0, n = leading_size(mapped); i < n; ++i)
    steps.push_back(call.run(body, concat(slices(mapped, i), further)));
  return stacked(steps);
}

/// (combine graph, initial carry, scanned tensors, further inputs) -> carry, stacked results
std::vector<IValue> scan(HigherOrderCall& call) {
  const std::size_t combine = call.next_graph();
  std::vector<IValue> carry = call.next_list();
  const std::vector<IValue> scanned = call.next_list(), further = call.next_list();
  std::vector<std::vector<IValue>> steps;
  for (std::int64_t i = 0, n = leading_size(scanned); i < n; ++i) {
    std::vector<IValue> results =
        call.run(combine, concat(concat(carry, slices(scanned, i)), further));
    if (results.size() < carry.size()) call.fail("a step of a scan returns less than its carry");
    const auto split = results.begin() + static_cast<std::ptrdiff_t>(carry.size());
    steps.emplace_back(split, results.end());
    carry.assign(results.begin(), split);
  }
  return concat(std::move(carry), stacked(steps));
}

using Function = std::vector<IValue> (*)(HigherOrderCall&);

const std::map<std::string, Function, std::less<>>& functions() {
  static const std::map<std::string, Function, std::less<>> table = {
      {"cond", cond},
      {"map_impl", map_impl},
      {"scan", scan},
      {"while_loop", while_loop},
      {"wrap_with_autocast", autocast},
      {"wrap_with_set_grad_enabled", set_grad_enabled},
  };
  return table;
}

}  // namespace

bool is_higher_order(const std::string& target) { return target.starts_with(k_prefix); }

std::vector<IValue> call_higher_order(const GraphNode& node, const std::vector<IValue>& arguments,
                                      std::int64_t first_number, SubgraphRunner& runner) {
  const auto function = functions().find(std::string_view(node.target).substr(k_prefix.size()));
  HigherOrderCall call(node, arguments, first_number, runner);
  if (function == functions().end()) call.fail("this higher-order operator cannot be run");
  return function->second(call);
}

}  // namespace opreplay
