#include "lib/base/schema.h"

#include <array>

#include "lib/base/bind.h"
#include "lib/base/scanner.h"
#include "lib/base/torch_enums.h"

namespace opreplay {
namespace {

struct BaseName {
  std::string_view text;
  SchemaBase base;
};
constexpr std::array k_bases = {
    BaseName{"Tensor", SchemaBase::tensor},
    BaseName{"int", SchemaBase::integer},
    BaseName{"SymInt", SchemaBase::sym_int},
    BaseName{"float", SchemaBase::floating},
    BaseName{"SymFloat", SchemaBase::floating},
    BaseName{"complex", SchemaBase::complex},
    BaseName{"Scalar", SchemaBase::scalar},
    BaseName{"bool", SchemaBase::boolean},
    BaseName{"SymBool", SchemaBase::boolean},
    BaseName{"str", SchemaBase::string},
    BaseName{"ScalarType", SchemaBase::scalar_type},
    BaseName{"Layout", SchemaBase::layout},
    BaseName{"MemoryFormat", SchemaBase::memory_format},
    BaseName{"Device", SchemaBase::device},
    BaseName{"Generator", SchemaBase::generator},
};

/// Type constructors: a parenthesis after one of these holds types, after any other name an alias.
constexpr std::array<std::string_view, 6> k_generic = {"Dict", "Tuple", "Future",
                                                       "RRef", "Await", "Union"};

/// torch prints defaults of enum types as numbers.
template <std::size_t N>
void number_to_word(Value& value, const std::array<std::string_view, N>& words) {
  const auto* number = value.get<std::int64_t>();
  if (!number || *number < 0 || static_cast<std::uint64_t>(*number) >= N) return;
  const std::string_view word = words[static_cast<std::size_t>(*number)];
  if (!word.empty()) value.data = Word{std::string(word)};
}

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : in_(text, "schema") {}

  Schema run() {
    Schema schema;
    const std::size_t start = in_.position();
    const std::string_view name = in_.word(":.");
    if (name.empty()) in_.fail("an operator name");
    if (name.find("::") == std::string_view::npos && name.find(':') != std::string_view::npos)
      in_.fail_at(start, "expected NAMESPACE::NAME in the operator name");
    schema.op = spec_name(name.find("::") == std::string_view::npos ? "aten::" + std::string(name)
                                                                    : std::string(name));
    arguments(schema);
    in_.skip_spaces();
    in_.expect("->");
    in_.skip_spaces();
    returns(schema);
    in_.skip_spaces();
    if (!in_.at_end()) in_.fail("the end of the schema");
    return schema;
  }

 private:
  /// Calls `item` for each element of a parenthesised, comma-separated list.
  template <class Item>
  void parenthesised(Item item) {
    in_.expect("(");
    in_.skip_spaces();
    if (in_.accept(")")) return;
    do {
      in_.skip_spaces();
      item();
      in_.skip_spaces();
    } while (in_.accept(","));
    in_.expect(")");
  }

  void arguments(Schema& schema) {
    bool keyword_only = false;
    parenthesised([&] {
      if (in_.accept("...")) {
        schema.vararg = true;
      } else if (in_.accept("*")) {
        keyword_only = true;
      } else {
        SchemaArg arg = typed();
        in_.skip_spaces();
        arg.name = in_.word();
        if (arg.name.empty()) in_.fail("an argument name");
        if (in_.accept("=")) arg.default_value = default_value(arg.type);
        arg.keyword_only = keyword_only;
        schema.args.push_back(std::move(arg));
      }
    });
  }

  void returns(Schema& schema) {
    const auto one = [&] {
      if (in_.accept("...")) {
        schema.vararg = true;
        return;
      }
      SchemaArg result = typed();
      in_.skip_spaces();
      result.name = in_.word();
      schema.returns.push_back(std::move(result));
    };
    // A parenthesis here is always the list of returns: torch wraps a lone tuple type in one more.
    if (in_.peek() == '(')
      parenthesised(one);
    else
      one();
  }

  /// A type with its alias mark; the mark may stand before or after a list's brackets.
  SchemaArg typed() {
    SchemaArg arg;
    SchemaType& type = arg.type;
    bool holdable = base(type);
    while (true) {
      if (in_.accept("[")) {
        if (type.list) holdable = false;  // a list of lists
        type.list = true;
        type.optional_element = type.optional;
        type.optional = false;
        if (in_.peek() != ']') type.size = list_size();
        in_.expect("]");
      } else if (in_.accept("?")) {
        type.optional = true;
      } else if (in_.accept("(")) {
        alias(arg);
      } else {
        break;
      }
    }
    if (!holdable) type = {SchemaBase::other, type.optional, false, false, 0};
    return arg;
  }

  int list_size() {
    constexpr std::int64_t k_most = 64;  // torch's largest is 6
    const std::size_t start = in_.position();
    const std::int64_t size = in_.natural("a list size");
    if (size > k_most) in_.fail_at(start, "expected a list size of at most 64");
    return static_cast<int>(size);
  }

  /// The element type; false for one that no argument value can have.
  bool base(SchemaType& type) {
    if (in_.accept("(")) {
      skip_balanced();
      return false;
    }
    const std::string_view name = in_.word(".");
    if (name.empty()) in_.fail("a type");
    for (const BaseName& row : k_bases) {
      if (row.text == name) {
        type.base = row.base;
        return true;
      }
    }
    for (const std::string_view generic : k_generic)
      if (name == generic && in_.accept("(")) skip_balanced();
    return false;
  }

  /// To the parenthesis that closes the one just taken. Counts instead of recursing.
  void skip_balanced() {
    for (int depth = 1; depth > 0;) {
      if (in_.at_end()) in_.fail("')'");
      if (in_.accept("("))
        ++depth;
      else if (in_.accept(")"))
        --depth;
      else
        in_.rewind(in_.position() + 1);
    }
  }

  /// `a!)`, `a -> *)`, `b|a)`, `*)` after the opening parenthesis.
  void alias(SchemaArg& arg) {
    if (!in_.accept("*")) {
      arg.alias = in_.word("|");
      if (arg.alias.empty()) in_.fail("an alias set");
    }
    arg.written = in_.accept("!") || arg.written;
    in_.skip_spaces();
    if (in_.accept("->")) {
      in_.skip_spaces();
      if (!in_.accept("*") && in_.word("|").empty()) in_.fail("an alias set");
    }
    in_.expect(")");
  }

  Value default_value(const SchemaType& type) {
    Value value = literal();
    switch (type.base) {
      case SchemaBase::scalar_type:
        number_to_word(value, k_scalar_type_words);
        break;
      case SchemaBase::memory_format:
        number_to_word(value, k_memory_format_words);
        break;
      case SchemaBase::layout:
        number_to_word(value, k_layout_words);
        break;
      default:
        break;
    }
    // A default that is outside what a case can hold stays as printed; it can only be left out.
    if (Value fitting = value; coerce(fitting, type)) return fitting;
    return value;
  }

  Value literal() {
    if (in_.peek() == '"') return {in_.quoted_string()};
    if (in_.accept("[")) {
      List list;
      in_.skip_spaces();
      if (in_.accept("]")) return {list};
      do {
        in_.skip_spaces();
        list.push_back(simple());
        in_.skip_spaces();
      } while (in_.accept(","));
      in_.expect("]");
      return {list};
    }
    return simple();
  }

  Value simple() {
    if (in_.accept("None")) return {None{}};
    if (in_.accept("True")) return {true};
    if (in_.accept("False")) return {false};
    if (in_.peek() == '"') return {in_.quoted_string()};
    return in_.number();
  }

  Scanner in_;
};

}  // namespace

const SchemaArg* Schema::find(std::string_view name) const {
  for (const SchemaArg& arg : args)
    if (arg.name == name) return &arg;
  return nullptr;
}

Schema parse_schema(std::string_view text) { return SchemaParser(text).run(); }

std::string spec_name(std::string_view qualified) {
  constexpr std::string_view k_default = ".default";
  std::string name(qualified);
  if (const auto colons = name.find("::"); colons != std::string::npos)
    name.replace(colons, 2, ".");
  if (name.size() > k_default.size() && name.ends_with(k_default))
    name.resize(name.size() - k_default.size());
  return name;
}

QualifiedName qualified_name(std::string_view spec_name) {
  const auto space = spec_name.find('.');
  if (space == std::string_view::npos) return {std::string(spec_name), {}};
  const std::string_view rest = spec_name.substr(space + 1);
  const auto overload = rest.find('.');
  QualifiedName out{std::string(spec_name.substr(0, space)) + "::", {}};
  out.name += rest.substr(0, overload);
  if (overload != std::string_view::npos) out.overload = rest.substr(overload + 1);
  return out;
}

}  // namespace opreplay
