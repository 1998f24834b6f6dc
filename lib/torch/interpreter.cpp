#include "lib/torch/interpreter.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/torch/boxed_call.h"
#include "lib/torch/errors.h"
#include "lib/torch/higher_order.h"
#include "lib/torch/stored_tensors.h"
#include "lib/torch/symbolic_ops.h"
#include "lib/torch/tensor_stats.h"
#include "lib/torch/vmap.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

using c10::IValue;

[[noreturn]] void fail(const std::string& problem) {
  throw Error(ExitCode::invalid_input, problem);
}

template <class Visit>
void for_each_ref(const Value& value, Visit visit) {
  if (const auto* ref = value.get<Ref>()) visit(*ref);
  if (const auto* list = value.get<List>())
    for (const Value& item : *list) for_each_ref(item, visit);
}

/// The computed values of one graph, each dropped after the last node that uses it.
class Environment {
 public:
  explicit Environment(const Graph& graph)
      : graph_(graph), values_(graph.values.size()), last_use_(graph.values.size(), -1) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto use = [&](Ref ref) { last_use_[at(ref)] = static_cast<std::int64_t>(i); };
      for (const Arg& arg : graph.nodes[i].args) for_each_ref(arg.value, use);
      // Results nobody reads die with their node.
      for (const Value& output : graph.nodes[i].outputs) for_each_ref(output, use);
    }
    for (const GraphOutput& output : graph.outputs) {
      for_each_ref(output.value, [&](Ref ref) {
        last_use_[at(ref)] = static_cast<std::int64_t>(graph.nodes.size());
      });
    }
  }

  void set(Ref ref, IValue value) { values_[at(ref)] = std::move(value); }
  const IValue& get(Ref ref) const {
    const auto& value = values_[at(ref)];
    if (!value) fail("the value '" + graph_.values[at(ref)].name + "' is used before it is made");
    return *value;
  }
  /// Drops what node number `node` was the last to use.
  void release(std::size_t node) {
    const auto drop = [&](Ref ref) {
      if (last_use_[at(ref)] <= static_cast<std::int64_t>(node)) values_[at(ref)].reset();
    };
    for (const Arg& arg : graph_.nodes[node].args) for_each_ref(arg.value, drop);
    for (const Value& output : graph_.nodes[node].outputs) for_each_ref(output, drop);
  }

  /// A constant or computed value as what the dispatcher and higher-order operators take.
  IValue resolve(const Value& value) const {
    if (const auto* ref = value.get<Ref>()) return get(*ref);
    if (const auto* list = value.get<List>()) {
      c10::impl::GenericList items(c10::AnyType::get());
      for (const Value& item : *list) items.push_back(resolve(item));
      return items;
    }
    if (const auto* i = value.get<std::int64_t>()) return *i;
    if (const auto* d = value.get<double>()) return *d;
    if (const auto* b = value.get<bool>()) return *b;
    if (const auto* text = value.get<std::string>()) return *text;
    if (const auto* word = value.get<Word>()) return word->text;
    return {};
  }

 private:
  static std::size_t at(Ref ref) { return static_cast<std::size_t>(ref.index); }

  const Graph& graph_;
  std::vector<std::optional<IValue>> values_;
  std::vector<std::int64_t> last_use_;  // node index; nodes.size() = an output
};

/// Resolves a node's arguments for make_stack.
class NodeArguments : public ArgumentSource {
 public:
  explicit NodeArguments(const Environment& environment) : environment_(environment) {}

  at::Tensor tensor(const std::string& path, const TensorArg&) override {
    fail("argument " + path + " of a graph's node is a tensor without a value");
  }
  IValue ref(const Ref& ref) override { return environment_.get(ref); }
  c10::Device device() const override { return c10::kCPU; }

 private:
  const Environment& environment_;
};

class Interpreter : public SubgraphRunner {
 public:
  Interpreter(const GraphRunRequest& request, GraphRun& run) : request_(request), run_(run) {}

  std::vector<IValue> run(const Graph& graph, std::vector<IValue> inputs,
                          std::int64_t first_number) override {
    if (inputs.size() != graph.inputs.size()) {
      fail("a graph of " + std::to_string(graph.inputs.size()) + " inputs was given " +
           std::to_string(inputs.size()));
    }
    Environment environment(graph);
    const VmapScope scope;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto* ref = graph.inputs[i].value.get<Ref>();
      if (ref) environment.set(*ref, std::move(inputs[i]));
    }
    inputs.clear();
    std::int64_t number = first_number;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const GraphNode& node = graph.nodes[i];
      current_ = &node;
      current_number_ = number;
      run_node(graph, node, number, environment);
      environment.release(i);
      ++number;
      for (const Graph& inner : node.graphs) number += count_nodes(inner);
    }
    std::vector<IValue> outputs;
    for (const GraphOutput& output : graph.outputs)
      outputs.push_back(environment.resolve(output.value));
    return outputs;
  }

  /// "node 12, torch.ops.aten.mm.default in layers.0 (model.py:7)"; empty before the first.
  std::string place() const {
    if (!current_) return {};
    std::string text = "node " + std::to_string(current_number_) + ", " + current_->target;
    if (!current_->module.empty()) text += " in " + current_->module;
    if (!current_->line.empty()) text += " (" + current_->line + ")";
    return text;
  }

 private:
  void run_node(const Graph& graph, const GraphNode& node, std::int64_t number,
                Environment& environment) {
    if (!node.problem.empty()) fail("an argument has " + node.problem);
    if (!node.op.empty()) {
      run_operator(graph, node, number, environment);
      return;
    }
    std::vector<IValue> arguments;
    for (const Arg& arg : node.args) arguments.push_back(environment.resolve(arg.value));
    std::vector<IValue> results;
    if (is_higher_order(node.target)) {
      results = call_higher_order(node, arguments, number + 1, *this);
    } else if (is_vmap(node.target)) {
      results.push_back(call_vmap(node.target, arguments));
    } else {
      results.push_back(call_symbolic(node.target, arguments));
    }
    bind_flat(node, std::move(results), environment);
  }

  void run_operator(const Graph& graph, const GraphNode& node, std::int64_t number,
                    Environment& environment) {
    const auto op = find_operator(node.op);
    if (!op) fail("no loaded library has this operator");
    OpCall call{node.op, node.args};
    for (Arg& arg : call.args) number_refs_to_literals(environment, arg.value);
    NodeArguments source(environment);
    torch::jit::Stack stack = make_stack(op->schema(), call, source);
    // Inside vmap tensors are wrapped: they show one of the batch and hold all of it.
    if (request_.statistics && !inside_vmap()) record(node, number, environment);
    call_boxed(*op, stack);
    bind_results(graph, node, std::move(stack), environment);
  }

  /// Numbers computed in the graph become literals: a number that stands for a Tensor argument has
  /// to be wrapped, which make_stack does for literals.
  static void number_refs_to_literals(const Environment& environment, Value& value) {
    if (auto* list = value.get<List>()) {
      for (Value& item : *list) number_refs_to_literals(environment, item);
      return;
    }
    const auto* ref = value.get<Ref>();
    if (!ref) return;
    const IValue& computed = environment.get(*ref);
    if (computed.isInt()) {
      value.data = computed.toInt();
    } else if (computed.isDouble()) {
      value.data = computed.toDouble();
    } else if (computed.isBool()) {
      value.data = computed.toBool();
    } else if (computed.isNone()) {
      value.data = None{};
    }
  }

  void record(const GraphNode& node, std::int64_t number, const Environment& environment) {
    NodeRun& record = run_.nodes.emplace_back();
    record.node = number;
    const auto add = [&](const std::string& path, const Value& value) {
      const auto* ref = value.get<Ref>();
      if (!ref) return;
      const IValue& computed = environment.get(*ref);
      if (!computed.isTensor() || !computed.toTensor().defined()) return;
      if (auto stats = tensor_stats(computed.toTensor())) {
        stats->path = path;
        record.tensors.push_back(std::move(*stats));
      }
    };
    for (const Arg& arg : node.args) {
      add(arg.name, arg.value);
      if (const auto* list = arg.value.get<List>()) {
        for (std::size_t i = 0; i < list->size(); ++i)
          add(arg.name + "." + std::to_string(i), (*list)[i]);
      }
    }
  }

  void bind_results(const Graph& graph, const GraphNode& node, torch::jit::Stack&& stack,
                    Environment& environment) {
    if (node.outputs.empty()) return;
    if (node.outputs.size() != stack.size()) {
      bind_flat(node,
                {std::make_move_iterator(stack.begin()), std::make_move_iterator(stack.end())},
                environment);
    } else {
      for (std::size_t i = 0; i < stack.size(); ++i) bind(node.outputs[i], stack[i], environment);
    }
    for (const Value& output : node.outputs)
      for_each_ref(output, [&](Ref ref) { check_geometry(graph, ref, environment.get(ref)); });
  }

  static void bind(const Value& output, IValue& result, Environment& environment) {
    if (const auto* ref = output.get<Ref>()) {
      environment.set(*ref, std::move(result));
    } else if (const auto* list = output.get<List>()) {
      if (!result.isList() || result.toListRef().size() != list->size())
        fail("expected a list of " + std::to_string(list->size()) + " results");
      const auto items = result.toListRef();
      for (std::size_t i = 0; i < items.size(); ++i) {
        IValue item = items[i];
        bind((*list)[i], item, environment);
      }
    }
  }

  /// Results one by one onto the names of the outputs, however those are grouped.
  static void bind_flat(const GraphNode& node, std::vector<IValue> results,
                        Environment& environment) {
    std::size_t places = 0;
    for (const Value& output : node.outputs) {
      const auto* list = output.get<List>();
      places += list ? list->size() : 1;
    }
    if (places != results.size()) {
      fail("expected " + std::to_string(places) + " results, got " +
           std::to_string(results.size()));
    }
    std::size_t next = 0;
    for (const Value& output : node.outputs) {
      if (const auto* list = output.get<List>()) {
        for (const Value& item : *list) bind(item, results[next++], environment);
      } else {
        bind(output, results[next++], environment);
      }
    }
  }

  void check_geometry(const Graph& graph, Ref ref, const IValue& result) {
    const GraphValue& value = graph.values[static_cast<std::size_t>(ref.index)];
    if (value.symbolic || !value.problem.empty() || !result.isTensor()) return;
    const auto real = describe(result.toTensor());
    if (!real || *real == value.desc) return;
    run_.differences.push_back(place() + ": '" + value.name +
                               "' has another dtype, shape, stride " +
                               "or offset than the file says");
  }

  const GraphRunRequest& request_;
  GraphRun& run_;
  const GraphNode* current_ = nullptr;
  std::int64_t current_number_ = 0;
};

std::vector<IValue> graph_inputs(const Graph& graph, StoredTensors& stored) {
  std::vector<IValue> leaves;
  if (graph.sample_inputs) leaves = stored.sample_inputs(*graph.sample_inputs);
  std::vector<IValue> inputs;
  std::size_t used = 0;
  for (const GraphInput& input : graph.inputs) {
    switch (input.kind) {
      case InputKind::parameter:
      case InputKind::buffer:
      case InputKind::tensor_constant:
        inputs.emplace_back(stored.tensor(input).set_requires_grad(input.requires_grad));
        break;
      case InputKind::user:
      case InputKind::literal:
        if (used == leaves.size()) {
          fail("the file holds " + std::to_string(leaves.size()) +
               " sample inputs, the graph takes more");
        }
        inputs.push_back(leaves[used++]);
        break;
      case InputKind::other:
        fail("'" + input.target + "' is " + input.problem + ", which cannot be given to a run");
    }
  }
  if (used != leaves.size()) {
    fail("the file holds " + std::to_string(leaves.size()) + " sample inputs, the graph takes " +
         std::to_string(used));
  }
  return inputs;
}

RunOutput to_output(const IValue& value, std::uint64_t& bytes_left) {
  RunOutput output;
  if (value.isTensor() && value.toTensor().defined()) {
    const at::Tensor& tensor = value.toTensor();
    auto desc = describe(tensor);
    if (!desc) fail("an output is of a dtype or layout that cannot be stored");
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(tensor.numel()) * static_cast<std::uint64_t>(tensor.itemsize());
    if (bytes > bytes_left) fail("the outputs are larger than --max-bytes");
    bytes_left -= bytes;
    output.is_tensor = true;
    output.desc = std::move(*desc);
    output.bytes = dense_bytes(tensor);
  } else if (value.isInt()) {
    output.value.data = value.toInt();
  } else if (value.isDouble()) {
    output.value.data = value.toDouble();
  } else if (value.isBool()) {
    output.value.data = value.toBool();
  } else if (value.isString()) {
    output.value.data = value.toStringRef();
  }
  return output;
}

}  // namespace

GraphRun run_graph(const GraphRunRequest& request) {
  GraphRun run;
  const c10::AutoGradMode no_grad(false);
  Interpreter interpreter(request, run);
  try {
    StoredTensors stored(request.file, request.max_bytes);
    const std::vector<IValue> outputs =
        interpreter.run(request.graph, graph_inputs(request.graph, stored), 0);
    auto bytes_left = static_cast<std::uint64_t>(request.max_bytes);
    for (const IValue& output : outputs) run.outputs.push_back(to_output(output, bytes_left));
  } catch (...) {
    const Raised raised = describe_current_exception(Stage::launch);
    const std::string place = interpreter.place();
    run.failure = place.empty() ? raised.message : place + ": " + raised.message;
  }
  return run;
}

}  // namespace opreplay
