// `do:` of a fault: one or more effects, as a word, a mapping, or a list of both.

#include <csignal>
#include <set>

#include "harness/simdevice/fault_parser.h"

namespace opreplay::sim {
namespace {

using Node = YAML::Node;

constexpr const char* k_fill = "a number, nan, inf, -inf, max, min or zero";

/// Reads the effects of one fault.
class EffectParser {
 public:
  EffectParser(YamlReader& reader, Fault& fault) : reader_(reader), fault_(fault) {}

  void parse(const Node& node) {
    if (node.IsSequence()) {
      for (const Node& item : node) parse_one(item);
    } else {
      parse_one(node);
    }
    check_together(node);
  }

 private:
  void parse_one(const Node& node) {
    YamlReader::Keys keys = words();
    keys.merge(failures());
    keys.merge(computations());
    keys.merge(results());
    keys.merge(contracts());
    if (!node.IsScalar()) return reader_.map(node, "an effect, or a mapping of effects", keys);
    // A bare word is short for {word: true}.
    const YamlReader::Keys plain = words();
    if (const auto found = plain.find(node.Scalar()); found != plain.end())
      return found->second(Node(true));
    std::vector<std::string> known;
    for (const auto& [name, read] : plain) known.push_back(name);
    reader_.unknown(node, "effect without a value", known);
  }

  /// Effects that take no value.
  YamlReader::Keys words() {
    return {{"no_kernel", word<NoKernel>()},
            {"oom", word<OutOfMemory>()},
            {"poison", word<Poison>()},
            {"cpu_fallback", word<CpuFallback>()},
            {"silent_cpu", word<SilentCpu>()},
            {"saturate", word<Saturate>()},
            {"drop_term", word<DropTerm>()},
            {"order_random", word<OrderRandom>()},
            {"pick_other", word<PickOther>()},
            {"stale_result", word<StaleResult>()},
            {"on_cpu", word<OnCpu>()},
            {"no_alias", word<NoAlias>()},
            {"zeros", [this](const Node& n) {
               if (wanted(n)) add(FillWith{{FillValue::Kind::number, 0}});
             }}};
  }

  YamlReader::Keys failures() {
    return {{"throw", [this](const Node& n) { parse_throw(n); }},
            {"crash",
             [this](const Node& n) {
               if (const auto signal = reader_.word<int>(
                       n, "signal",
                       {{"SEGV", SIGSEGV}, {"ABRT", SIGABRT}, {"FPE", SIGFPE}, {"KILL", SIGKILL}}))
                 add(Crash{*signal});
             }},
            {"hang",
             [this](const Node& n) {
               if (const auto seconds = at_least(n, "seconds >= 0", 0)) add(Hang{*seconds});
             }},
            {"exit",
             [this](const Node& n) {
               const auto code = reader_.integer(n, "an exit code from 0 to 255", 0);
               if (code && *code > 255) return reader_.expected(n, "an exit code from 0 to 255");
               if (code) add(Exit{static_cast<int>(*code)});
             }},
            {"slow",
             [this](const Node& n) {
               if (const auto ms = at_least(n, "milliseconds >= 0", 0)) add(Slow{*ms});
             }},
            {"leak",
             [this](const Node& n) {
               if (const auto bytes = reader_.integer(n, "bytes >= 1", 1)) add(Leak{*bytes});
             }},
            {"accept_invalid", [this](const Node& n) { parse_accept_invalid(n); }}};
  }

  YamlReader::Keys computations() {
    return {{"round",
             [this](const Node& n) {
               reader_.map(n, "{mantissa: bits}",
                           {{"mantissa", [this](const Node& bits) {
                               const auto count =
                                   reader_.integer(bits, "mantissa bits from 1 to 52", 1);
                               if (count && *count > 52)
                                 return reader_.expected(bits, "mantissa bits from 1 to 52");
                               if (count) add(RoundInputs{static_cast<int>(*count)});
                             }}});
             }},
            {"map_input", [this](const Node& n) { add(MapInput{class_map(n)}); }},
            {"accumulate",
             [this](const Node& n) {
               if (const auto dtype = parse_dtype_node(reader_, n)) {
                 const bool known = *dtype == DType::f16 || *dtype == DType::bf16 ||
                                    *dtype == DType::i8 || *dtype == DType::u8 ||
                                    *dtype == DType::i16 || *dtype == DType::i32;
                 if (!known) return reader_.expected(n, "one of f16, bf16, i8, u8, i16, i32");
                 add(AccumulateIn{*dtype});
               }
             }},
            {"as_dtype",
             [this](const Node& n) {
               if (const auto dtype = parse_dtype_node(reader_, n)) add(AsDType{*dtype});
             }},
            {"ignore", [this](const Node& n) { parse_ignore(n); }}};
  }

  YamlReader::Keys results() {
    return {{"element", [this](const Node& n) { parse_element(n); }},
            {"scale",
             [this](const Node& n) {
               if (const auto factor = reader_.number(n, "a factor")) add(ScaleBy{*factor});
             }},
            {"constant",
             [this](const Node& n) {
               if (n.IsScalar() && n.Scalar() == "first")
                 return add(FillWith{{FillValue::Kind::first, 0}});
               if (const auto value = fill(n)) add(FillWith{*value});
             }},
            {"tail", [this](const Node& n) { parse_tail(n); }},
            {"row",
             [this](const Node& n) {
               if (reader_.word<bool>(n, "row effect", {{"stale", true}})) add(StaleRow{});
             }},
            {"map", [this](const Node& n) { add(MapResult{class_map(n)}); }},
            {"clip", [this](const Node& n) { parse_clip(n); }},
            {"round_half",
             [this](const Node& n) {
               if (reader_.word<bool>(n, "rounding", {{"up", true}})) add(RoundHalfUp{});
             }},
            {"swap",
             [this](const Node& n) {
               const auto pair = integers(n, "a pair of element indices", 0);
               if (pair.size() != 2) return reader_.expected(n, "a pair of element indices");
               add(Swap{pair[0], pair[1]});
             }},
            {"drop_rows",
             [this](const Node& n) {
               if (const auto count = reader_.integer(n, "a number of rows >= 1", 1))
                 add(DropRows{*count});
             }},
            {"unwritten",
             [this](const Node& n) {
               const auto part = reader_.number(n, "a fraction above 0, up to 1");
               if (part && !(*part > 0 && *part <= 1))
                 return reader_.expected(n, "a fraction above 0, up to 1");
               if (part) add(Unwritten{*part});
             }},
            {"where",
             [this](const Node& n) {
               auto found =
                   parse_element_conditions(reader_, n, "a mapping of has, value", Range::some);
               if (found.size() > 1)
                 return reader_.expected(n, "one condition on the elements of one argument");
               for (const ElementIs& one : found)
                 for (const Has has : one.test.has)
                   if (!is_elementwise(has))
                     return reader_.expected(n, "a class of single elements, not of a tensor");
               if (!found.empty()) fault_.where = std::move(found.front());
             }},
            {"output", [this](const Node& n) {
               fault_.output = reader_.integer(n, "the index of an output", 0).value_or(0);
             }}};
  }

  YamlReader::Keys contracts() {
    return {{"drop_write",
             [this](const Node& n) {
               auto which = reader_.text(n, "an argument or the index of an output");
               if (!which) return;
               const auto index = parse_number(*which);
               if (index && !(*index >= 0 && *index < 64))
                 return reader_.expected(n, "an argument or the index of an output");
               add(index ? DropWrite{"", static_cast<std::int64_t>(*index)}
                         : DropWrite{std::move(*which), 0});
             }},
            {"modify_input",
             [this](const Node& n) {
               if (auto arg = reader_.text(n, "the name of an argument"))
                 add(ModifyInput{std::move(*arg)});
             }},
            {"oob_write",
             [this](const Node& n) {
               if (const auto bytes = reader_.integer(n, "bytes >= 1", 1)) add(OobWrite{*bytes});
             }},
            {"wrong_dtype",
             [this](const Node& n) {
               if (const auto dtype = parse_dtype_node(reader_, n)) add(WrongDType{*dtype});
             }},
            {"wrong_shape", [this](const Node& n) {
               if (!n.IsSequence()) return reader_.expected(n, "a list of sizes");
               add(WrongShape{integers(n, "a size >= 0", 0)});
             }}};
  }

  bool wanted(const Node& node) {
    const auto flag = reader_.flag(node, "true, or leave the effect out");
    if (flag && !*flag) reader_.expected(node, "true, or leave the effect out");
    return flag.value_or(false);
  }

  template <class T>
  YamlReader::Read word() {
    return [this](const Node& n) {
      if (wanted(n)) add(T{});
    };
  }

  void add(Effect effect) { fault_.effects.push_back(std::move(effect)); }

  std::optional<double> at_least(const Node& node, const std::string& what, double least) {
    const auto number = reader_.number(node, what);
    if (number && !(*number >= least)) {
      reader_.expected(node, what);
      return std::nullopt;
    }
    return number;
  }

  std::vector<std::int64_t> integers(const Node& node, const std::string& what,
                                     std::int64_t least) {
    std::vector<std::int64_t> list;
    reader_.items(node, [&](const Node& item) {
      if (const auto number = reader_.integer(item, what, least)) list.push_back(*number);
    });
    return list;
  }

  std::vector<std::string> names(const Node& node) {
    std::vector<std::string> list;
    reader_.items(node, [&](const Node& item) {
      if (auto name = reader_.text(item, "the name of an argument"))
        list.push_back(std::move(*name));
    });
    return list;
  }

  std::optional<FillValue> fill(const Node& node) {
    if (node.IsScalar()) {
      const std::string& text = node.Scalar();
      if (text == "max") return FillValue{FillValue::Kind::max, 0};
      if (text == "min") return FillValue{FillValue::Kind::min, 0};
      if (text == "zero") return FillValue{FillValue::Kind::number, 0};
      if (text == "true" || text == "false")
        return FillValue{FillValue::Kind::number, text == "true" ? 1.0 : 0.0};
      if (const auto number = parse_number(text))
        return FillValue{FillValue::Kind::number, *number};
    }
    reader_.expected(node, k_fill);
    return std::nullopt;
  }

  ClassMap class_map(const Node& node) {
    ClassMap map;
    const auto into = [&](ValueClass from) {
      return [this, &map, from](const Node& n) {
        if (const auto value = fill(n)) map.emplace_back(from, *value);
      };
    };
    reader_.map(node, "a mapping of nan, inf, neg_inf, neg_zero, denormal to values",
                {{"nan", into(ValueClass::nan)},
                 {"inf", into(ValueClass::inf)},
                 {"neg_inf", into(ValueClass::neg_inf)},
                 {"neg_zero", into(ValueClass::neg_zero)},
                 {"denormal", into(ValueClass::denormal)}});
    return map;
  }

  void parse_throw(const Node& node) {
    Throw effect;
    reader_.map(
        node, "a mapping of class, text, code, sync",
        {{"class",
          [&](const Node& n) {
            effect.error =
                reader_
                    .word<ErrorClass>(n, "error class",
                                      {{"RuntimeError", ErrorClass::runtime},
                                       {"NotImplementedError", ErrorClass::not_implemented},
                                       {"IndexError", ErrorClass::index},
                                       {"ValueError", ErrorClass::value},
                                       {"TypeError", ErrorClass::type},
                                       {"LinAlgError", ErrorClass::linalg},
                                       {"OutOfMemoryError", ErrorClass::out_of_memory},
                                       {"AcceleratorError", ErrorClass::accelerator}})
                    .value_or(effect.error);
          }},
         {"text",
          [&](const Node& n) {
            effect.text = reader_.text(n, "the text of the error").value_or("");
          }},
         {"code",
          [&](const Node& n) {
            effect.code = static_cast<int>(reader_.integer(n, "an error code", -1).value_or(0));
          }},
         {"sync",
          [&](const Node& n) { effect.sync = reader_.flag(n, "true or false").value_or(false); }}});
    if (node.IsMap() && !node["text"])
      reader_.problem(node, "missing key 'text' of throw: the error's text");
    add(std::move(effect));
  }

  void parse_accept_invalid(const Node& node) {
    AcceptInvalid effect;
    reader_.map(node, "a mapping of shape_of or shape, and fill",
                {{"shape_of",
                  [&](const Node& n) {
                    effect.shape_of = reader_.text(n, "the name of an argument").value_or("");
                  }},
                 {"shape", [&](const Node& n) { effect.shape = integers(n, "a size >= 0", 0); }},
                 {"fill", [&](const Node& n) {
                    if (const auto value = fill(n)) effect.fill = *value;
                  }}});
    if (node.IsMap() && static_cast<bool>(node["shape_of"]) == static_cast<bool>(node["shape"]))
      reader_.problem(node, "accept_invalid: expected exactly one of shape_of and shape");
    add(std::move(effect));
  }

  // {stride: argument, offset: argument, beta: true}: any other key is a scalar argument.
  void parse_ignore(const Node& node) {
    Ignore effect;
    reader_.each(node, "a mapping of stride, offset or scalar arguments",
                 [&](const std::string& key, const Node& value) {
                   if (key == "stride") {
                     effect.stride = names(value);
                   } else if (key == "offset") {
                     effect.offset = names(value);
                   } else if (wanted(value)) {
                     effect.scalars.push_back(key);
                   }
                 });
    add(std::move(effect));
  }

  void parse_element(const Node& node) {
    SetElement effect{0, SetElement::How::factor, 1};
    int kinds = 0;
    const auto number_as = [&](SetElement::How how) {
      return [this, &effect, &kinds, how](const Node& n) {
        effect.how = how;
        effect.number = reader_.number(n, "a number").value_or(1);
        ++kinds;
      };
    };
    reader_.map(node, "a mapping of index and one of factor, value, neighbour",
                {{"index",
                  [&](const Node& n) {
                    effect.index = reader_.integer(n, "the index of an element", 0).value_or(0);
                  }},
                 {"factor", number_as(SetElement::How::factor)},
                 {"value", number_as(SetElement::How::value)},
                 {"neighbour", [&](const Node& n) {
                    if (!wanted(n)) return;
                    effect.how = SetElement::How::neighbour;
                    ++kinds;
                  }}});
    if (node.IsMap() && (kinds != 1 || !node["index"]))
      reader_.problem(node, "element: expected index and exactly one of factor, value, neighbour");
    add(effect);
  }

  void parse_tail(const Node& node) {
    Tail effect{0, 0, {}};
    reader_.map(
        node, "a mapping of dim, from, value",
        {{"dim", [&](const Node& n) { effect.dim = reader_.integer(n, "a dim", -64).value_or(0); }},
         {"from",
          [&](const Node& n) { effect.from = reader_.integer(n, "an index >= 0", 0).value_or(0); }},
         {"value", [&](const Node& n) {
            if (const auto value = fill(n)) effect.value = *value;
          }}});
    if (node.IsMap() && !node["from"])
      reader_.problem(node, "missing key 'from' of tail: the first index that is wrong");
    add(effect);
  }

  void parse_clip(const Node& node) {
    Clip effect;
    reader_.map(node, "a mapping of min, max",
                {{"min", [&](const Node& n) { effect.min = reader_.number(n, "a number"); }},
                 {"max", [&](const Node& n) { effect.max = reader_.number(n, "a number"); }}});
    if (node.IsMap() && !effect.min && !effect.max)
      reader_.problem(node, "clip: expected min, max or both");
    add(effect);
  }

  /// Effects that cannot stand beside each other.
  void check_together(const Node& node) {
    if (fault_.effects.empty() && !node.IsMap() && !node.IsSequence()) return;
    if (fault_.effects.empty()) reader_.problem(node, "expected at least one effect");
    std::set<std::size_t> kinds;
    for (const Effect& effect : fault_.effects) {
      if (!kinds.insert(effect.index()).second)
        reader_.problem(node, "the same effect twice: make a fault of each");
      if (std::holds_alternative<NoKernel>(effect) && fault_.effects.size() > 1)
        reader_.problem(node, "no_kernel leaves nothing to change: give it alone");
    }
  }

  YamlReader& reader_;
  Fault& fault_;
};

}  // namespace

void parse_effects(YamlReader& reader, const YAML::Node& node, Fault& fault) {
  EffectParser(reader, fault).parse(node);
}

}  // namespace opreplay::sim
