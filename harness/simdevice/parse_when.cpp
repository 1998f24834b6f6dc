// `when:` of a fault: every key becomes conditions that must all hold.

#include <charconv>

#include "harness/simdevice/fault_parser.h"

namespace opreplay::sim {
namespace {

constexpr const char* k_comparison = "a number or a comparison such as \">1024\" or \"%16!=0\"";

std::optional<Comparison> comparison_of(const std::string& text) {
  Comparison c;
  std::string rest = text;
  if (!rest.empty() && rest[0] == '%') {
    const auto end = rest.find_first_not_of("0123456789", 1);
    const auto [last, error] =
        std::from_chars(rest.data() + 1, rest.data() + rest.size(), c.modulus);
    if (error != std::errc() || end == std::string::npos || c.modulus <= 0) return std::nullopt;
    rest = rest.substr(end);
    if (!rest.starts_with("==") && !rest.starts_with("!=")) return std::nullopt;
  }
  using Op = Comparison::Op;
  constexpr std::pair<const char*, Op> k_ops[] = {{"==", Op::eq}, {"!=", Op::ne}, {"<=", Op::le},
                                                  {">=", Op::ge}, {"<", Op::lt},  {">", Op::gt}};
  for (const auto& [symbol, op] : k_ops) {
    if (!rest.starts_with(symbol)) continue;
    c.op = op;
    rest = rest.substr(std::string(symbol).size());
    if (const auto start = rest.find_first_not_of(' '); start != std::string::npos)
      rest = rest.substr(start);
    break;
  }
  const auto number = parse_number(rest);
  if (!number) return std::nullopt;
  c.value = *number;
  return c;
}

std::optional<std::int64_t> dim_of(const std::string& text) {
  std::int64_t dim = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return dim;
}

const std::map<std::string, Has>& has_words() {
  static const std::map<std::string, Has> words{
      {"nan", Has::nan},
      {"inf", Has::inf},
      {"neg_inf", Has::neg_inf},
      {"neg_zero", Has::neg_zero},
      {"denormal", Has::denormal},
      {"negative", Has::negative},
      {"duplicate_index", Has::duplicate_index},
      {"out_of_range", Has::out_of_range},
      {"ties", Has::ties},
      {"constant", Has::constant},
  };
  return words;
}

/// Reads the keys of one `when`.
class WhenParser {
 public:
  explicit WhenParser(YamlReader& reader) : reader_(reader) {}

  std::vector<Condition> parse(const YAML::Node& node) {
    reader_.map(node, "a mapping of conditions", keys());
    return std::move(conditions_);
  }

 private:
  using Node = YAML::Node;

  YamlReader::Keys keys() {
    YamlReader::Keys keys = tensor_keys();
    keys.merge(call_keys());
    return keys;
  }

  /// Conditions on tensors: "condition" or "{argument: condition}".
  YamlReader::Keys tensor_keys() {
    return {
        {"dtype", per_argument([this](const std::string& arg, const Node& n) {
           DTypeIs condition{arg, {}};
           reader_.items(n, [&](const Node& item) {
             if (const auto dtype = parse_dtype_node(reader_, item))
               condition.any_of.push_back(*dtype);
           });
           conditions_.emplace_back(std::move(condition));
         })},
        {"numel", per_argument([this](const std::string& arg, const Node& n) {
           if (const auto is = comparison(n)) conditions_.emplace_back(NumelIs{arg, *is});
         })},
        {"rank", per_argument([this](const std::string& arg, const Node& n) {
           if (const auto is = comparison(n)) conditions_.emplace_back(RankIs{arg, *is});
         })},
        {"size", [this](const Node& n) { parse_sizes("", n); }},
        {"empty", trait(Trait::empty, "true", "false")},
        {"contiguous", trait(Trait::contiguous, "true", "false")},
        {"offset", trait(Trait::offset, "nonzero", "zero")},
        {"stride0", trait(Trait::stride0, "true", "false")},
        {"channels_last", trait(Trait::channels_last, "true", "false")},
        {"misaligned", per_argument([this](const std::string& arg, const Node& n) {
           if (const auto bytes = reader_.integer(n, "a number of bytes >= 2", 2))
             conditions_.emplace_back(MisalignedTo{arg, *bytes});
         })},
        {"has", [this](const Node& n) { parse_elements("has", n, Range::some); }},
        {"value", [this](const Node& n) { parse_elements("value", n, Range::some); }},
        {"row", [this](const Node& n) {
           for (ElementIs& one : parse_element_conditions(
                    reader_, n, "a mapping of has, value about every element of a row", Range::row))
             conditions_.emplace_back(std::move(one));
         }}};
  }

  /// Conditions on the call as a whole.
  YamlReader::Keys call_keys() {
    return {{"out_size",
             [this](const Node& n) {
               reader_.each(
                   n, "a mapping {dim: condition}", [&](const std::string& key, const Node& v) {
                     const auto dim = dim_of(key);
                     if (!dim)
                       return reader_.problem(v, "expected a dim as key, found '" + key + "'");
                     if (const auto is = comparison(v))
                       conditions_.emplace_back(OutSizeIs{*dim, *is});
                   });
             }},
            {"arg",
             [this](const Node& n) {
               reader_.each(n, "a mapping {argument: value}",
                            [&](const std::string& arg, const Node& v) {
                              conditions_.emplace_back(ArgumentIs{arg, literal(v)});
                            });
             }},
            {"present", [this](const Node& n) { parse_present(n, true); }},
            {"absent", [this](const Node& n) { parse_present(n, false); }},
            {"call",
             [this](const Node& n) {
               if (const auto is = comparison(n)) conditions_.emplace_back(CallIs{*is});
             }},
            {"after",
             [this](const Node& n) {
               if (auto op = reader_.text(n, "an operator name, as in aten.mm"))
                 conditions_.emplace_back(AfterOp{std::move(*op)});
             }},
            {"grad", per_argument([this](const std::string& arg, const Node& n) {
               if (const auto flag = reader_.flag(n, "true or false"))
                 conditions_.emplace_back(GradIs{arg, *flag});
             })},
            {"inplace",
             [this](const Node& n) {
               if (const auto flag = reader_.flag(n, "true or false"))
                 conditions_.emplace_back(InPlaceIs{*flag});
             }},
            {"phase",
             [this](const Node& n) {
               if (const auto backward =
                       reader_.word<bool>(n, "phase", {{"forward", false}, {"backward", true}}))
                 conditions_.emplace_back(PhaseIs{*backward});
             }},
            {"probability",
             [this](const Node& n) {
               const auto p = reader_.number(n, "a probability from 0 to 1");
               if (p && !(*p >= 0 && *p <= 1))
                 return reader_.expected(n, "a probability from 0 to 1");
               if (p) conditions_.emplace_back(Chance{*p});
             }},
            {"reduced",
             [this](const Node& n) {
               if (const auto is = comparison(n)) conditions_.emplace_back(ReducedIs{*is});
             }},
            {"history", [this](const Node& n) {
               if (const auto past = reader_.word<Past>(n, "history",
                                                        {{"other_shape", Past::other_shape},
                                                         {"other_dtype", Past::other_dtype},
                                                         {"other_scalar", Past::other_scalar}}))
                 conditions_.emplace_back(HistoryHas{*past});
             }}};
  }

  template <class One>
  YamlReader::Read per_argument(One one) {
    return [this, one](const Node& node) {
      if (!node.IsMap()) return one(std::string(), node);
      reader_.each(node, "a mapping {argument: condition}", one);
    };
  }

  YamlReader::Read trait(Trait which, const std::string& yes, const std::string& no) {
    return per_argument([this, which, yes, no](const std::string& arg, const Node& n) {
      if (const auto expected = reader_.word<bool>(n, "condition", {{yes, true}, {no, false}}))
        conditions_.emplace_back(TraitIs{arg, which, *expected});
    });
  }

  std::optional<Comparison> comparison(const Node& node) {
    const auto parsed = node.IsScalar() ? comparison_of(node.Scalar()) : std::nullopt;
    if (!parsed) reader_.expected(node, k_comparison);
    return parsed;
  }

  void parse_sizes(const std::string& arg, const Node& node) {
    reader_.each(node, "a mapping {dim: condition} or {argument: {dim: condition}}",
                 [&](const std::string& key, const Node& value) {
                   const auto dim = dim_of(key);
                   if (!dim && arg.empty()) return parse_sizes(key, value);
                   if (!dim)
                     return reader_.problem(value, "expected a dim as key, found '" + key + "'");
                   if (const auto is = comparison(value))
                     conditions_.emplace_back(SizeIs{arg, *dim, *is});
                 });
  }

  void parse_elements(const std::string& key, const Node& node, Range range) {
    Node wrapped;
    wrapped[key] = node;
    for (ElementIs& one : parse_element_conditions(reader_, wrapped, key, range))
      conditions_.emplace_back(std::move(one));
  }

  void parse_present(const Node& node, bool expected) {
    const auto add = [&](const Node& n) {
      if (auto arg = reader_.text(n, "the name of an argument"))
        conditions_.emplace_back(PresentIs{std::move(*arg), expected});
    };
    if (node.IsMap()) {
      reader_.map(node, "{arg: name}", {{"arg", [&](const Node& n) { reader_.items(n, add); }}});
    } else {
      reader_.items(node, add);
    }
  }

  Literal literal(const Node& node, int depth = 0) {
    if (node.IsNull()) return {};
    // A list may contain itself (YAML's anchors): no argument nests this deep.
    if (node.IsSequence() && depth < 4) {
      std::vector<Literal> list;
      for (const Node& item : node) list.push_back(literal(item, depth + 1));
      return {std::move(list)};
    }
    if (!node.IsScalar()) {
      reader_.expected(node, "a value, a comparison, a list or null");
      return {};
    }
    const std::string& text = node.Scalar();
    if (text == "true" || text == "false") return {text == "true"};
    if (const auto number = parse_number(text)) return {*number};
    if (const auto compared = comparison_of(text)) return {*compared};
    return {text};
  }

  YamlReader& reader_;
  std::vector<Condition> conditions_;
};

/// Adds what one of `has`, `value` says of one argument.
void add_element_test(YamlReader& reader, const std::string& key, const YAML::Node& node,
                      ElementIs& condition) {
  if (key == "has") {
    reader.items(node, [&](const YAML::Node& item) {
      if (const auto has = reader.word<Has>(item, "element class", has_words()))
        condition.test.has.push_back(*has);
    });
    return;
  }
  condition.test.value = node.IsScalar() ? comparison_of(node.Scalar()) : std::nullopt;
  if (!condition.test.value) reader.expected(node, k_comparison);
}

}  // namespace

std::vector<ElementIs> parse_element_conditions(YamlReader& reader, const YAML::Node& node,
                                                const std::string& what, Range range) {
  std::vector<ElementIs> found;
  for (const std::string key : {"has", "value"}) {
    if (!node.IsMap() || !node[key]) continue;
    const YAML::Node about = node[key];
    if (!about.IsMap()) {
      found.push_back({"", {}, range});
      add_element_test(reader, key, about, found.back());
      continue;
    }
    // {argument: condition, all: true}
    Range wanted = range;
    const std::size_t first = found.size();
    reader.each(about, what, [&](const std::string& name, const YAML::Node& value) {
      if (name == "all") {
        if (reader.flag(value, "true or false").value_or(false)) wanted = Range::all;
        return;
      }
      found.push_back({name, {}, range});
      add_element_test(reader, key, value, found.back());
    });
    for (std::size_t i = first; i < found.size(); ++i) found[i].range = wanted;
  }
  reader.map(node, what, {{"has", [](const YAML::Node&) {}}, {"value", [](const YAML::Node&) {}}});
  return found;
}

std::optional<DType> parse_dtype_node(YamlReader& reader, const YAML::Node& node) {
  const auto dtype = node.IsScalar() ? parse_dtype(node.Scalar()) : std::nullopt;
  if (!dtype) reader.expected(node, "a dtype such as f32, bf16 or i64");
  return dtype;
}

std::vector<Condition> parse_when(YamlReader& reader, const YAML::Node& node) {
  if (node.IsNull()) return {};
  return WhenParser(reader).parse(node);
}

}  // namespace opreplay::sim
