#include "lib/model/storage_roots.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace opreplay {
namespace {

/// Operators whose alias mark means "a view where one is possible, else a copy".
constexpr std::array<std::string_view, 4> k_view_or_copy = {
    "aten.reshape", "aten.flatten.using_ints", "aten.reshape_as", "aten.ravel"};
/// Those that return their argument itself if it already is what was asked for.
constexpr std::array<std::string_view, 9> k_self_or_copy = {"aten.contiguous",
                                                            "aten.to.dtype",
                                                            "aten.to.device",
                                                            "aten.to.dtype_layout",
                                                            "aten.to.other",
                                                            "aten.to.prim_Device",
                                                            "aten.to.prim_dtype",
                                                            "aten._autocast_to_reduced_precision",
                                                            "aten._autocast_to_full_precision"};
/// Those that may return their first argument although their schema has no mark.
constexpr std::array<std::string_view, 9> k_unmarked = {
    "aten.dropout",     "aten.alpha_dropout", "aten.feature_dropout", "aten.feature_alpha_dropout",
    "aten.type_as",     "aten.atleast_1d",    "aten.atleast_2d",      "aten.atleast_3d",
    "aten._unsafe_view"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

enum class Link { fresh, maybe, same };

class RootFinder {
 public:
  RootFinder(const Graph& graph, const SchemaSource& schemas)
      : graph_(graph), schemas_(schemas), roots_(graph.values.size()) {}

  std::vector<StorageRoot> find() {
    for (std::size_t i = 0; i < roots_.size(); ++i) roots_[i].id = static_cast<std::int32_t>(i);
    join_stored_inputs();
    for (const GraphNode& node : graph_.nodes) {
      const Schema* schema = node.op.empty() ? nullptr : schemas_.find(node.op);
      if (schema) follow(node, *schema);
    }
    return std::move(roots_);
  }

 private:
  /// Tied weights are inputs with the same stored bytes.
  void join_stored_inputs() {
    std::map<std::uint64_t, std::int32_t> by_offset;
    for (const GraphInput& input : graph_.inputs) {
      const auto* ref = input.value.get<Ref>();
      if (!ref || !input.stored || input.stored->size == 0) continue;
      root(*ref).id = by_offset.emplace(input.stored->offset, ref->index).first->second;
    }
  }

  StorageRoot& root(Ref ref) { return roots_[static_cast<std::size_t>(ref.index)]; }
  const GraphValue& value(Ref ref) const {
    return graph_.values[static_cast<std::size_t>(ref.index)];
  }

  /// The graph value that argument `name` is, or (for lists) starts with.
  static const Ref* argument(const GraphNode& node, std::string_view name) {
    for (const Arg& arg : node.args) {
      if (arg.name != name) continue;
      if (const auto* list = arg.value.get<List>())
        return list->empty() ? nullptr : list->front().get<Ref>();
      return arg.value.get<Ref>();
    }
    return nullptr;
  }

  void follow(const GraphNode& node, const Schema& schema) {
    for (std::size_t i = 0; i < node.outputs.size() && i < schema.returns.size(); ++i) {
      const SchemaArg& result = schema.returns[i];
      const auto from = std::find_if(schema.args.begin(), schema.args.end(), [&](const auto& arg) {
        return !result.alias.empty() && arg.alias == result.alias;
      });
      const bool unmarked = from == schema.args.end() && contains(k_unmarked, node.op);
      if (from == schema.args.end() && !unmarked) continue;
      const Ref* source = argument(node, unmarked ? schema.args.front().name : from->name);
      if (!source) continue;
      const auto join = [&](Ref to) {
        const Link link = unmarked         ? Link::maybe
                          : result.written ? Link::same
                                           : link_of(node, value(*source).desc, value(to).desc);
        if (link == Link::fresh) return;
        root(to) = {root(*source).id, root(*source).certain && link == Link::same};
      };
      if (const auto* ref = node.outputs[i].get<Ref>()) {
        join(*ref);
      } else if (const auto* list = node.outputs[i].get<List>()) {
        for (const Value& item : *list)
          if (const auto* element = item.get<Ref>()) join(*element);
      }
    }
  }

  static Link link_of(const GraphNode& node, const TensorDesc& from, const TensorDesc& to) {
    if (contains(k_self_or_copy, node.op)) {
      const bool copy = std::any_of(node.args.begin(), node.args.end(), [](const Arg& arg) {
        const auto* flag = arg.value.get<bool>();
        return arg.name == "copy" && flag && *flag;
      });
      return from == to && !copy ? Link::same : Link::fresh;
    }
    if (contains(k_view_or_copy, node.op)) {
      if (is_contiguous(from)) return Link::same;
      // A copy starts at offset 0 with row-major strides.
      if (from.offset != to.offset) return Link::fresh;
      return to.offset != 0 || !is_contiguous(to) ? Link::same : Link::maybe;
    }
    return Link::same;
  }

  const Graph& graph_;
  const SchemaSource& schemas_;
  std::vector<StorageRoot> roots_;
};

}  // namespace

std::vector<StorageRoot> storage_roots(const Graph& graph, const SchemaSource& schemas) {
  return RootFinder(graph, schemas).find();
}

}  // namespace opreplay
