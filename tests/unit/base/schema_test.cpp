#include "lib/base/schema.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "lib/base/bind.h"
#include "lib/spec/schema_table.h"
#include "opreplay/case.h"
#include "opreplay/error.h"
#include "tests/unit/base/message.h"

using namespace opreplay;

namespace {

/// The type as torch's Python spells it: "Optional[List[int]]". SymInt shows as int there.
std::string python_type(const SchemaType& type) {
  SchemaType element;
  element.base = type.base == SchemaBase::sym_int ? SchemaBase::integer : type.base;
  std::string text = element.base == SchemaBase::scalar ? "number" : type_text(element);
  if (type.optional_element) text = "Optional[" + text + "]";
  if (type.list) text = "List[" + text + "]";
  if (type.optional) text = "Optional[" + text + "]";
  return text;
}

/// The default as dump_schema_arguments.py writes it.
std::string dumped_default(const SchemaArg& arg) {
  if (!arg.default_value) return "-";
  const auto* text = arg.default_value->get<std::string>();
  if (!text) return to_string(*arg.default_value);
  std::string out = "str:";
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : *text) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, '\t');) cells.push_back(cell);
  return cells;
}

std::string row(const std::string& op, const std::string& name, const SchemaArg& arg,
                const std::string& type) {
  return op + '\t' + name + '\t' + type + '\t' + std::to_string(arg.type.size) + '\t' +
         (arg.keyword_only ? "1" : "0") + '\t' + (arg.written ? "1" : "0") + '\t' +
         (arg.alias.empty() ? "-" : arg.alias) + '\t' + dumped_default(arg);
}

}  // namespace

TEST_CASE("schemas agree with what torch says of its operators") {
  // Source: torch 2.13.0, by tests/support/dump_schema_arguments.py.
  std::ifstream file(OPREPLAY_TEST_DATA "/schemas/torch-2.13-arguments.tsv");
  std::size_t rows = 0, holdable = 0, index = 0;
  std::string previous;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const auto cells = split(line);
    REQUIRE(cells.size() == 8);
    const Schema* schema = shipped_schemas().find(spec_name(cells[0]));
    REQUIRE(schema);
    if (cells[0] != previous) index = 0;
    previous = cells[0];
    INFO(line);
    const std::size_t arguments = schema->args.size();
    REQUIRE(index < arguments + schema->returns.size());
    const bool is_return = index >= arguments;
    const SchemaArg& arg = is_return ? schema->returns[index - arguments] : schema->args[index];
    // Types that no case can hold are not kept apart.
    const bool other = arg.type.base == SchemaBase::other;
    SchemaArg shown = arg;
    if (cells[6] == "?") {
      CHECK_FALSE(arg.alias.empty());
      shown.alias = "?";
    }
    CHECK(row(cells[0], (is_return ? "-> " : "") + arg.name, shown,
              other ? cells[2] : python_type(arg.type)) == line);
    ++rows;
    ++index;
    if (!other) ++holdable;
  }
  CHECK(rows > 900);
  CHECK(holdable > rows * 8 / 10);
}

TEST_CASE("every shipped schema parses") {
  std::ifstream file(OPREPLAY_TEST_DATA "/../../opspecs/schemas/torch-2.13.txt");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const Schema schema = parse_schema(line);
    const QualifiedName name = qualified_name(schema.op);
    CHECK(name.name + (name.overload.empty() ? "" : "." + name.overload) ==
          line.substr(0, line.find('(')));
    ++count;
  }
  CHECK(count == 4231);  // counted with grep -vc '^#'
}

TEST_CASE("parts of a schema") {
  SECTION("written lists, keyword-only arguments, named returns") {
    const Schema s = parse_schema(
        "aten::_foreach_add.List_out(Tensor[] self, Tensor?[] other, *, Scalar alpha=1, "
        "Tensor(a!)[] out) -> (Tensor(a!) out, int[2]? where)");
    CHECK(s.op == "aten._foreach_add.List_out");
    REQUIRE(s.args.size() == 4);
    CHECK(s.args[1].type == SchemaType{SchemaBase::tensor, false, true, true, 0});
    CHECK(s.args[2].default_value == Value{std::int64_t{1}});
    CHECK(s.args[3].written);
    CHECK(s.args[3].alias == "a");
    CHECK(s.args[3].keyword_only);
    CHECK_FALSE(s.args[1].keyword_only);
    REQUIRE(s.returns.size() == 2);
    CHECK(s.returns[1].name == "where");
    CHECK(s.returns[1].type == SchemaType{SchemaBase::integer, true, true, false, 2});
  }
  SECTION("a lone number as the default of int[2] stands for two") {
    const Schema s = parse_schema("f(int[2] stride=1, float? scale=2) -> ()");
    CHECK(s.op == "aten.f");
    CHECK(to_string(*s.args[0].default_value) == "[1, 1]");
    CHECK(to_string(*s.args[1].default_value) == "2.0");
    CHECK(s.returns.empty());
  }
  SECTION("types that only TorchScript has") {
    const Schema s = parse_schema(
        "aten::x(Dict(str, (t, Tensor[])[])(a!) self, __torch__.torch.classes.a.B b, Tensor[][] c, "
        "t(b -> *)? d=None) -> ((str, t)[])");
    REQUIRE(s.args.size() == 4);
    for (const SchemaArg& arg : s.args) CHECK(arg.type.base == SchemaBase::other);
    CHECK(s.args[0].written);
    CHECK(s.args[3].type.optional);
    CHECK(s.returns.size() == 1);
  }
  SECTION("any arguments, any returns") {
    CHECK(parse_schema("prim::Print(...) -> ()").vararg);
    CHECK(parse_schema("prim::TupleUnpack(Any tup) -> ...").vararg);
    CHECK_FALSE(parse_schema("aten::relu(Tensor self) -> Tensor").vararg);
  }
}

TEST_CASE("names of operators") {
  CHECK(spec_name("aten::add.Tensor") == "aten.add.Tensor");
  CHECK(spec_name("aten::relu") == "aten.relu");
  CHECK(spec_name("aten::relu.default") == "aten.relu");
  CHECK(spec_name("aten.relu.default") == "aten.relu");
  CHECK(qualified_name("aten.add.Tensor").name == "aten::add");
  CHECK(qualified_name("aten.add.Tensor").overload == "Tensor");
  CHECK(qualified_name("aten.relu").name == "aten::relu");
  CHECK(qualified_name("aten.relu").overload.empty());
}

TEST_CASE("broken schemas name the column") {
  const auto message = [](const char* text) { return message_of([&] { parse_schema(text); }); };
  CHECK(message("aten::f(Tensor self") == "schema, column 20: expected ')', found the end");
  CHECK(message("aten::f(Tensor) -> Tensor") ==
        "schema, column 15: expected an argument name, found \") -> Tensor\"");
  CHECK(message("") == "schema, column 1: expected an operator name, found the end");
  CHECK(message("aten::f() -> Tensor x y") ==
        "schema, column 23: expected the end of the schema, found \"y\"");
  CHECK(message("f(int[99] a) -> ()") == "schema, column 7: expected a list size of at most 64");
  CHECK(message("f(str a=\"x) -> ()") ==
        "schema, column 18: expected '\"' at the end of the string, found the end");
}
