#include "lib/model/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/base/bind.h"
#include "lib/base/case_parser.h"
#include "lib/model/autocast.h"
#include "lib/model/storage_roots.h"
#include "opreplay/case.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

constexpr std::size_t k_max_sites = 4;
constexpr std::string_view k_autocast = "torch.ops.higher_order.wrap_with_autocast";
constexpr std::string_view k_higher_order = "torch.ops.higher_order.";

/// Why a node cannot become a call.
struct Refusal {
  std::string reason;
};

bool is_tensor(const SchemaArg& arg) { return arg.type.base == SchemaBase::tensor; }

/// Something the replay can compare: a tensor result or a tensor that is written.
bool has_tensor_result(const Schema& schema) {
  for (const SchemaArg& result : schema.returns)
    if (is_tensor(result)) return true;
  for (const SchemaArg& arg : schema.args)
    if (is_tensor(arg) && arg.written) return true;
  return false;
}

/// A tensor argument of the call being built and the graph value it is.
struct TensorUse {
  TensorArg* arg;
  std::int32_t value;
};

/// Captures one graph's nodes; subgraphs get a GraphCapture of their own.
class GraphCapture {
 public:
  GraphCapture(const Graph& graph, const SchemaTable& schemas)
      : graph_(graph), schemas_(schemas), roots_(storage_roots(graph, schemas)) {
    for (const GraphInput& input : graph.inputs) {
      const auto* ref = input.value.get<Ref>();
      if (ref && (input.kind == InputKind::parameter || input.kind == InputKind::buffer))
        parameters_.insert(ref->index);
    }
  }

  /// The node as a call with its results, or why it is none.
  std::optional<Refusal> capture(const GraphNode& node, SpecCall& to) const {
    if (node.op.empty()) return Refusal{refuse_target(node.target)};
    const Schema* schema = schemas_.find(node.op);
    if (!schema) return Refusal{needs_library(node.op)};
    if (schema->vararg) return Refusal{"a variable number of arguments"};
    if (!has_tensor_result(*schema)) return Refusal{"no tensor among its results"};
    if (!node.problem.empty()) return Refusal{"an argument has " + node.problem};
    to.call.op = node.op;
    for (const Arg& arg : node.args) {
      Arg& copy = to.call.args.emplace_back();
      copy.name = arg.name;
      copy.keyword = arg.keyword;
      if (auto refusal = resolve(arg.value, copy.value)) return refusal;
    }
    try {
      bind(to.call, *schema);
    } catch (const Error& error) {
      return Refusal{std::string("does not fit its schema: ") + error.what()};
    }
    mark_tensors(to.call);
    to.results = results(node);
    to.at.push_back({node.module, node.line});
    return std::nullopt;
  }

  /// Some size of a tensor of this node is a symbol.
  bool is_dynamic(const GraphNode& node) const {
    bool dynamic = false;
    for (const Arg& arg : node.args) {
      for_each_ref(arg.value, [&](Ref ref) { dynamic |= value(ref).symbolic; });
    }
    return dynamic;
  }

 private:
  static std::string refuse_target(std::string_view target) {
    if (target.starts_with(k_higher_order))
      return "a higher-order operator; the nodes of its body are counted apart";
    if (target.starts_with("_operator.") || target.starts_with("math."))
      return "arithmetic on symbolic sizes";
    return "a Python function, not an operator";
  }

  static std::string needs_library(const std::string& op) {
    const std::string library = op.substr(0, op.find('.'));
    if (library == "aten") return "no schema in the table of this torch version";
    return fmt::format("needs the library that defines '{}'", library);
  }

  const GraphValue& value(Ref ref) const {
    return graph_.values[static_cast<std::size_t>(ref.index)];
  }

  template <class Visit>
  static void for_each_ref(const Value& value, Visit visit) {
    if (const auto* ref = value.get<Ref>()) visit(*ref);
    if (const auto* list = value.get<List>())
      for (const Value& item : *list) for_each_ref(item, visit);
  }

  /// Copies an argument with its Refs replaced by tensors and numbers.
  std::optional<Refusal> resolve(const Value& from, Value& to) const {
    if (const auto* list = from.get<List>()) {
      List& copy = to.data.emplace<List>(list->size());
      for (std::size_t i = 0; i < list->size(); ++i)
        if (auto refusal = resolve((*list)[i], copy[i])) return refusal;
      return std::nullopt;
    }
    const auto* ref = from.get<Ref>();
    if (!ref) {
      to = from;
      return std::nullopt;
    }
    const GraphValue& source = value(*ref);
    if (!source.problem.empty()) return Refusal{"an argument has " + source.problem};
    if (source.kind != ValueKind::tensor) {
      if (source.hint.is_none()) return Refusal{"an argument is a number that depends on data"};
      to = source.hint;
      return std::nullopt;
    }
    TensorArg& tensor = to.data.emplace<TensorArg>();
    tensor.desc = source.desc;
    tensor.requires_grad = source.requires_grad;
    tensor.parameter = parameters_.contains(ref->index);
    // The value's index survives binding, which moves arguments about; see mark_tensors.
    tensor.desc.storage = std::to_string(ref->index);
    return std::nullopt;
  }

  /// Storage labels, CPU operands: what depends on all tensors of the call together.
  void mark_tensors(OpCall& call) const {
    std::vector<TensorUse> uses;
    for_each_tensor(call, [&](const std::string&, TensorArg& tensor) {
      uses.push_back({&tensor, std::stoi(tensor.desc.storage)});
      tensor.desc.storage.clear();
    });
    bool accelerated = false;
    std::map<std::int32_t, std::vector<TensorUse>> groups;
    for (const TensorUse& use : uses) {
      accelerated |= value({use.value}).device != "cpu";
      groups[roots_[static_cast<std::size_t>(use.value)].id].push_back(use);
    }
    for (const auto& [root, group] : groups)
      if (group.size() > 1) label(group);
    canonical_storage({&call, 1});
    for (const TensorUse& use : uses)
      use.arg->on_cpu = accelerated && value({use.value}).device == "cpu";
  }

  /// Tensors of one call whose values have one root.
  void label(const std::vector<TensorUse>& group) const {
    bool certain = true;
    std::set<std::int32_t> values;
    for (const TensorUse& use : group) {
      certain &= roots_[static_cast<std::size_t>(use.value)].certain;
      // A storage of a case has one dtype.
      certain &= use.arg->desc.dtype == group.front().arg->desc.dtype;
      values.insert(use.value);
    }
    const auto root = roots_[static_cast<std::size_t>(group.front().value)].id;
    for (const TensorUse& use : group) {
      const bool one = certain || values.size() == 1;
      use.arg->desc.storage = fmt::format("v{}", one ? root : use.value);
      use.arg->storage_unknown = !one;
    }
  }

  /// Geometry of the results; none if some of it depends on data.
  std::vector<TensorDesc> results(const GraphNode& node) const {
    std::vector<TensorDesc> descs;
    bool known = true;
    for (const Value& output : node.outputs) {
      for_each_ref(output, [&](Ref ref) {
        const GraphValue& result = value(ref);
        if (result.kind != ValueKind::tensor) return;
        known &= result.problem.empty();
        descs.push_back(result.desc);
      });
    }
    return known ? descs : std::vector<TensorDesc>{};
  }

  const Graph& graph_;
  const SchemaTable& schemas_;
  std::vector<StorageRoot> roots_;
  std::set<std::int32_t> parameters_;
};

class Capturer {
 public:
  Capturer(const Pt2Model& model, const SchemaTable& schemas) : schemas_(schemas) {
    result_.source = model.source;
    result_.source.capture = "static";
    walk(model.graph, {.enabled = false});
  }

  CaptureResult take() {
    sort_specs();
    for (auto& [target, count] : captured_) result_.captured.push_back({target, count});
    for (auto& [key, count] : refused_)
      result_.not_captured.push_back({key.first, key.second, count});
    return std::move(result_);
  }

 private:
  void walk(const Graph& graph, const AutocastRegion& autocast) {
    const GraphCapture capture(graph, schemas_);
    for (const GraphNode& node : graph.nodes) {
      const std::int64_t number = result_.nodes++;
      SpecCall call;
      auto refusal = capture.capture(node, call);
      if (!refusal && autocast.enabled &&
          !apply_autocast(autocast, shipped_autocast(), *schemas_.find(node.op), call.call))
        refusal = Refusal{"inside an autocast region, which casts its parts one by one"};
      if (refusal) {
        ++refused_[{node.target, refusal->reason}];
      } else {
        ++captured_[node.target];
        OpSpec& spec = add(node, std::move(call), number);
        if (capture.is_dynamic(node)) add_tag(spec, "dynamic");
        if (autocast.enabled) add_tag(spec, "amp");
      }
      for (const Graph& inner : node.graphs)
        walk(inner, node.target == k_autocast ? region_of(node) : autocast);
    }
  }

  /// (device type, dtype or none, enabled, ...): what torch.autocast was called with.
  static AutocastRegion region_of(const GraphNode& node) {
    AutocastRegion region;
    const auto argument = [&](std::size_t i) -> const Value& {
      static const Value none;
      return i < node.args.size() ? node.args[i].value : none;
    };
    if (const auto* device = argument(0).get<std::string>()) region.device_type = *device;
    if (region.device_type != "cpu") region.dtype = DType::f16;
    if (const auto* word = argument(1).get<Word>())
      region.dtype = parse_dtype(word->text).value_or(region.dtype);
    if (const auto* enabled = argument(2).get<bool>()) region.enabled = *enabled;
    return region;
  }

  static void add_tag(OpSpec& spec, const char* tag) {
    if (std::find(spec.tags.begin(), spec.tags.end(), tag) == spec.tags.end())
      spec.tags.emplace_back(tag);
  }

  OpSpec& add(const GraphNode& node, SpecCall&& call, std::int64_t number) {
    const auto spec_at = spec_index_.emplace(node.op, result_.specs.size());
    if (spec_at.second) {
      OpSpec& spec = result_.specs.emplace_back();
      spec.op = node.op;
      spec.schema = schemas_.text(node.op);
      spec.source = result_.source;
      if (!node.op.starts_with("aten.")) spec.tags.push_back("custom_op");
    }
    OpSpec& spec = result_.specs[spec_at.first->second];
    const auto call_at = call_index_.emplace(call_id(call.call), spec.calls.size());
    if (call_at.second) {
      spec.calls.push_back(std::move(call));
    } else {
      merge(call, spec.calls[call_at.first->second]);
    }
    result_.node_calls.push_back({number, spec_at.first->second, call_at.first->second});
    return spec;
  }

  static void merge(SpecCall& call, SpecCall& into) {
    ++into.count;
    if (into.at.size() < k_max_sites) into.at.push_back(std::move(call.at.front()));
    if (into.results.empty()) into.results = std::move(call.results);
  }

  void sort_specs() {
    std::vector<OpSpec> sorted;
    std::vector<std::size_t> new_index(result_.specs.size());
    std::map<std::string, std::size_t> by_name(spec_index_.begin(), spec_index_.end());
    for (const auto& [op, index] : by_name) {
      new_index[index] = sorted.size();
      sorted.push_back(std::move(result_.specs[index]));
    }
    result_.specs = std::move(sorted);
    for (NodeCall& node : result_.node_calls) node.spec = new_index[node.spec];
  }

  const SchemaTable& schemas_;
  CaptureResult result_;
  std::unordered_map<std::string, std::size_t> spec_index_;
  std::unordered_map<std::uint64_t, std::size_t> call_index_;
  std::map<std::string, std::int64_t> captured_;
  std::map<std::pair<std::string, std::string>, std::int64_t> refused_;
};

}  // namespace

CaptureResult capture_graph(const Pt2Model& model, const SchemaTable& schemas) {
  return Capturer(model, schemas).take();
}

CaptureResult capture_file(const std::filesystem::path& file, const CaptureOptions& options) {
  return capture_graph(read_pt2(file), options.schemas ? *options.schemas : shipped_schemas());
}

}  // namespace opreplay
