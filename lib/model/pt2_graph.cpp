#include "lib/model/pt2_graph.h"

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <unordered_map>
#include <utility>

#include "lib/base/schema.h"
#include "lib/model/pt2_enums.h"
#include "lib/model/source_site.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

constexpr int k_max_graph_depth = 16;
constexpr std::size_t k_max_rank = 128;
constexpr std::string_view k_operator_prefix = "torch.ops.";
constexpr std::string_view k_higher_order_prefix = "torch.ops.higher_order.";

/// A size, stride or offset: {"as_int": 3}, or {"as_expr": {..., "hint": {"as_int": 3}}}.
struct Extent {
  std::optional<std::int64_t> value;  ///< nothing: known only when the graph runs
  bool symbolic = false;
};

Extent read_extent(const Json& json) {
  const Json::Member member = json.only_member();
  if (member.key == "as_int") return {member.value.integer(), false};
  if (member.key != "as_expr")
    json.fail(fmt::format("expected 'as_int' or 'as_expr', found '{}'", member.key));
  const Json hint = member.value.at("hint");
  if (hint.is_null()) return {std::nullopt, true};
  return {hint.at("as_int").integer(), true};
}

/// Reads sizes or strides into `to`; sets `problem` where one has no hint.
void read_extents(const Json& json, std::string_view what, std::vector<std::int64_t>& to,
                  TensorMeta& meta) {
  for (const Json item : json.elements()) {
    const Extent extent = read_extent(item);
    meta.symbolic |= extent.symbolic;
    if (!extent.value) meta.problem = fmt::format("a {} that depends on data", what);
    if (extent.value.value_or(0) < 0)
      item.fail(fmt::format("expected a {} >= 0, found {}", what, *extent.value));
    to.push_back(extent.value.value_or(0));
    if (to.size() > k_max_rank)
      json.fail(fmt::format("expected at most {} dimensions", k_max_rank));
  }
}

std::string read_device(const Json& json) {
  std::string device(json.at("type").string());
  const auto index = json.find("index");
  if (index && !index->is_null()) device += fmt::format(":{}", index->integer());
  return device;
}

/// The number of a symbol at export, or none: {"as_expr": ...} or a literal.
Value read_hint(const Json& json) {
  const Json::Member member = json.only_member();
  if (member.key != "as_expr") return read_constant(json);
  const Json hint = member.value.at("hint");
  return hint.is_null() ? Value{None{}} : read_constant(hint);
}

/// A constant of an `Argument` union; nothing if it is of another kind.
std::optional<Value> find_constant(const Json& argument) {
  const Json::Member member = argument.only_member();
  const Json& value = member.value;
  if (member.key == "as_none") return Value{None{}};
  if (member.key == "as_int") return Value{value.integer()};
  if (member.key == "as_float") return Value{value.number()};
  if (member.key == "as_bool") return Value{value.boolean()};
  if (member.key == "as_string") return Value{std::string(value.string())};
  if (member.key == "as_complex") {
    return Value{std::complex<double>(value.at("real").number(), value.at("imag").number())};
  }
  return std::nullopt;
}

template <class Make>
Value read_list(const Json& json, GraphBudget& budget, Make make) {
  List list;
  for (const Json item : json.elements()) {
    budget.spend(sizeof(Value), item);
    list.push_back(make(item));
  }
  return {std::move(list)};
}

class GraphReader {
 public:
  GraphReader(GraphBudget& budget, int depth) : budget_(budget), depth_(depth) {}

  Graph read(const Json& json) {
    if (depth_ > k_max_graph_depth)
      json.fail(fmt::format("graphs nested deeper than {} levels", k_max_graph_depth));
    read_values(json);
    for (const Json item : json.at("inputs").elements()) {
      budget_.spend(sizeof(GraphInput), item);
      GraphInput& input = graph_.inputs.emplace_back();
      input.value = read_argument(item, nullptr);
      if (const auto* ref = input.value.get<Ref>()) input.target = value_at(*ref).name;
    }
    for (const Json item : json.at("nodes").elements()) {
      budget_.spend(sizeof(GraphNode), item);
      read_node(item, graph_.nodes.emplace_back());
    }
    for (const Json item : json.at("outputs").elements()) {
      budget_.spend(sizeof(GraphOutput), item);
      graph_.outputs.emplace_back().value = read_argument(item, nullptr);
    }
    return std::move(graph_);
  }

 private:
  GraphValue& add_value(const Json::Member& member, ValueKind kind) {
    budget_.spend(sizeof(GraphValue) + member.key.size(), member.value);
    const auto index = static_cast<std::int32_t>(graph_.values.size());
    if (!by_name_.emplace(member.key, index).second)
      member.value.fail("two values of the graph have this name");
    GraphValue& value = graph_.values.emplace_back();
    value.name = member.key;
    value.kind = kind;
    return value;
  }

  void read_values(const Json& json) {
    for (const Json::Member member : json.at("tensor_values").members()) {
      GraphValue& value = add_value(member, ValueKind::tensor);
      TensorMeta meta = read_tensor_meta(member.value);
      budget_.spend(meta.desc.sizes.size() * 2 * sizeof(std::int64_t), member.value);
      value.desc = std::move(meta.desc);
      value.requires_grad = meta.requires_grad;
      value.symbolic = meta.symbolic;
      value.device = std::move(meta.device);
      value.problem = std::move(meta.problem);
    }
    const auto read_symbols = [&](const char* key, ValueKind kind) {
      const auto table = json.find(key);
      if (!table) return;
      for (const Json::Member member : table->members())
        add_value(member, kind).hint = read_hint(member.value);
    };
    read_symbols("sym_int_values", ValueKind::sym_int);
    read_symbols("sym_bool_values", ValueKind::sym_bool);
    read_symbols("sym_float_values", ValueKind::sym_float);
    if (const auto objects = json.find("custom_obj_values")) {
      for (const Json::Member member : objects->members())
        add_value(member, ValueKind::object).problem = "a custom class";
    }
  }

  const GraphValue& value_at(Ref ref) const {
    return graph_.values[static_cast<std::size_t>(ref.index)];
  }

  /// The value called `name`, whose kind must be one of `kinds`.
  Value ref(const Json& name, std::initializer_list<ValueKind> kinds) const {
    const std::string_view text = name.string();
    const auto found = by_name_.find(text);
    if (found == by_name_.end())
      name.fail(fmt::format("expected the name of a value of this graph, found '{}'", text));
    const Ref ref{found->second};
    for (const ValueKind kind : kinds)
      if (value_at(ref).kind == kind) return {ref};
    name.fail(fmt::format("the value '{}' is of another kind", text));
  }
  Value tensor_ref(const Json& argument) const {
    return ref(argument.at("name"), {ValueKind::tensor});
  }
  /// {"as_name": "s0"} or a literal such as {"as_int": 3}.
  Value symbol(const Json& json, ValueKind kind) const {
    const Json::Member member = json.only_member();
    return member.key == "as_name" ? ref(member.value, {kind}) : read_constant(json);
  }
  Value optional_tensor(const Json& json) const {
    const Json::Member member = json.only_member();
    if (member.key == "as_none") return {None{}};
    if (member.key != "as_tensor")
      json.fail(fmt::format("expected 'as_tensor' or 'as_none', found '{}'", member.key));
    return tensor_ref(member.value);
  }

  /// An `Argument` union. With a node, what we cannot express becomes the node's problem.
  Value read_argument(const Json& json, GraphNode* node) {
    const Json::Member member = json.only_member();
    const std::string_view kind = member.key;
    const Json& value = member.value;
    if (kind == "as_tensor") return tensor_ref(value);
    if (kind == "as_sym_int") return symbol(value, ValueKind::sym_int);
    if (kind == "as_sym_float") return symbol(value, ValueKind::sym_float);
    if (kind == "as_sym_bool") return symbol(value, ValueKind::sym_bool);
    if (kind == "as_optional_tensor") return optional_tensor(value);
    const auto list = [&](auto make) { return read_list(value, budget_, make); };
    if (kind == "as_tensors") return list([&](const Json& t) { return tensor_ref(t); });
    if (kind == "as_optional_tensors")
      return list([&](const Json& t) { return optional_tensor(t); });
    if (kind == "as_nested_tensors") {
      return list([&](const Json& inner) {
        return read_list(inner, budget_, [&](const Json& t) { return tensor_ref(t); });
      });
    }
    if (kind == "as_sym_ints")
      return list([&](const Json& s) { return symbol(s, ValueKind::sym_int); });
    if (kind == "as_sym_floats")
      return list([&](const Json& s) { return symbol(s, ValueKind::sym_float); });
    if (kind == "as_sym_bools")
      return list([&](const Json& s) { return symbol(s, ValueKind::sym_bool); });
    if (kind == "as_ints") return list([](const Json& i) { return Value{i.integer()}; });
    if (kind == "as_floats") return list([](const Json& f) { return Value{f.number()}; });
    if (kind == "as_bools") return list([](const Json& b) { return Value{b.boolean()}; });
    if (kind == "as_strings")
      return list([](const Json& s) { return Value{std::string(s.string())}; });
    if (kind == "as_int_lists") {
      return list([&](const Json& inner) {
        return read_list(inner, budget_, [](const Json& i) { return Value{i.integer()}; });
      });
    }
    if (kind == "as_float_lists") {
      return list([&](const Json& inner) {
        return read_list(inner, budget_, [](const Json& f) { return Value{f.number()}; });
      });
    }
    if (kind == "as_graph" && node) {
      node->graphs.push_back(GraphReader(budget_, depth_ + 1).read(value.at("graph")));
      return {Word{fmt::format("graph:{}", node->graphs.size() - 1)}};
    }
    return read_plain(json, member, node);
  }

  /// Kinds that hold no reference to a value.
  Value read_plain(const Json& json, const Json::Member& member, GraphNode* node) {
    const std::string_view kind = member.key;
    const Json& value = member.value;
    const auto cannot = [&](const std::string& why) {
      if (!node) json.fail("cannot be expressed here: " + why);
      node->problem = why;
      return Value{None{}};
    };
    if (kind == "as_scalar_type") {
      const ExportDType dtype = export_dtype(value.integer());
      if (!dtype.dtype) return cannot("dtype " + dtype.name);
      return {Word{dtype.name}};
    }
    if (kind == "as_layout") return {Word{export_layout(value.integer())}};
    if (kind == "as_memory_format") {
      const auto format = export_memory_format(value.integer());
      if (!format) return cannot(fmt::format("memory format number {}", value.integer()));
      return {Word{*format}};
    }
    if (kind == "as_device") return {Word{read_device(value)}};
    if (kind == "as_custom_obj") return ref(value.at("name"), {ValueKind::object});
    if (!node) return read_constant(json);
    if (auto constant = find_constant(json)) return std::move(*constant);
    return cannot(fmt::format("kind '{}'", kind));
  }

  void read_node(const Json& json, GraphNode& node) {
    node.target = json.at("target").string();
    if (node.target.starts_with(k_operator_prefix) &&
        !node.target.starts_with(k_higher_order_prefix))
      node.op = spec_name(std::string_view(node.target).substr(k_operator_prefix.size()));
    for (const Json item : json.at("inputs").elements()) {
      budget_.spend(sizeof(Arg), item);
      Arg& arg = node.args.emplace_back();
      arg.name = item.at("name").string();
      arg.value = read_argument(item.at("arg"), &node);
      // 2 = KEYWORD; older minor versions of the format leave the kind out.
      const auto kind = item.find("kind");
      arg.keyword = kind && !kind->is_null() && kind->integer() == 2;
    }
    for (const Json item : json.at("outputs").elements()) {
      budget_.spend(sizeof(Value), item);
      node.outputs.push_back(read_argument(item, nullptr));
    }
    const Json metadata = json.at("metadata");
    if (const auto stack = metadata.find("nn_module_stack"))
      node.module = innermost_module(stack->string());
    if (const auto trace = metadata.find("stack_trace")) node.line = last_line(trace->string());
    budget_.spend(node.target.size() * 2 + node.module.size() + node.line.size(), json);
  }

  GraphBudget& budget_;
  int depth_;
  Graph graph_;
  std::unordered_map<std::string_view, std::int32_t> by_name_;
};

}  // namespace

void GraphBudget::spend(std::size_t bytes, const Json& where) {
  if (bytes > left_) where.fail("the graph is too large to be read in bounded memory");
  left_ -= bytes;
}

TensorMeta read_tensor_meta(const Json& json) {
  TensorMeta meta;
  const ExportDType dtype = export_dtype(json.at("dtype").integer());
  if (dtype.dtype) meta.desc.dtype = *dtype.dtype;
  const Json sizes = json.at("sizes");
  read_extents(sizes, "size", meta.desc.sizes, meta);
  read_extents(json.at("strides"), "stride", meta.desc.strides, meta);
  if (meta.desc.strides.size() != meta.desc.sizes.size()) {
    json.fail(fmt::format("expected as many strides as sizes, found {} and {}",
                          meta.desc.strides.size(), meta.desc.sizes.size()));
  }
  const Json offset_json = json.at("storage_offset");
  const Extent offset = read_extent(offset_json);
  meta.symbolic |= offset.symbolic;
  if (!offset.value) meta.problem = "a storage offset that depends on data";
  meta.desc.offset = offset.value.value_or(0);
  if (meta.desc.offset < 0)
    offset_json.fail(fmt::format("expected an offset >= 0, found {}", meta.desc.offset));
  if (!numel(meta.desc) || !storage_elements(meta.desc))
    sizes.fail("the tensor has more than 2^63 elements");
  meta.requires_grad = json.at("requires_grad").boolean();
  meta.device = read_device(json.at("device"));
  if (!dtype.dtype) meta.problem = "dtype " + dtype.name;
  const std::int64_t layout = json.at("layout").integer();
  if (layout != k_export_strided) meta.problem = "layout " + export_layout(layout);
  return meta;
}

Value read_constant(const Json& argument) {
  if (auto constant = find_constant(argument)) return std::move(*constant);
  argument.fail(
      fmt::format("expected a constant such as 'as_int', found '{}'", argument.only_member().key));
}

Graph read_graph(const Json& graph, GraphBudget& budget) {
  return GraphReader(budget, 0).read(graph);
}

}  // namespace opreplay
