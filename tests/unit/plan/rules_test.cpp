#include "lib/plan/rules.h"

#include <catch2/catch.hpp>

#include "lib/base/case_parser.h"
#include "lib/plan/expression.h"
#include "lib/spec/schema_table.h"
#include "opreplay/error.h"
#include "tests/support/temporary_folder.h"

namespace opreplay {
namespace {

using namespace testing;

OpCall call_of(const std::string& text) { return parse_case(text, shipped_schemas()).calls.at(0); }

Values resolve(const RuleSet& rules, const std::string& call_text, const std::string& path) {
  const OpCall call = call_of(call_text);
  std::optional<Values> found;
  for_each_tensor(call, [&](const std::string& at, const TensorArg& tensor) {
    if (at == path) found = resolve_values(rules.find(call.op), call, at, tensor);
  });
  REQUIRE(found);
  return *found;
}

RuleSet load(const std::string& text) {
  const TemporaryFolder folder;
  folder.write("r.yaml", text);
  return RuleSet::load({folder.path()});
}

std::string problem(const std::string& text) {
  try {
    load(text);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::invalid_input);
    const std::string message = error.what();
    return message.substr(message.find("r.yaml"));
  }
  FAIL("loaded");
  return "";
}

TEST_CASE("expressions follow the grammar and the call") {
  const OpCall gather = call_of("aten.gather(f32[4,7], 1, i64[4,3])");
  // Hand computation.
  CHECK(evaluate("size(self, dim)", gather) == 7);
  CHECK(evaluate("size(self, -2)", gather) == 4);
  CHECK(evaluate("numel(self) - 2*size(index, 1)", gather) == 22);
  CHECK(evaluate("-(1 + 2) * -3", gather) == 9);
  CHECK(evaluate("10 - 2 - 3", gather) == 5);
  CHECK(evaluate("position + 1", gather, 4) == 5);
  CHECK(evaluate("prod(size)", call_of("aten.view(f32[6], [2,3])")) == 6);
  CHECK(evaluate("size(tensors.1, 0)", call_of("aten.cat([f32[2,3], f32[5,3]])")) == 5);
  for (const char* wrong :
       {"", "1 +", "size(self)", "size(other, 0)", "size(self, 2)", "size(self, -3)", "nothing",
        "self", "half(self)", "1 2", "(1", "9223372036854775807 + 1", "99999999999999999999",
        "size(dim, 0)", "numel(dim)", "tensors.0"}) {
    INFO(wrong);
    CHECK_THROWS_AS(evaluate(wrong, gather), Error);
  }
  CHECK_THROWS_WITH(evaluate(std::string(100'000, '('), gather),
                    Catch::Contains("nested too deep"));
  CHECK_THROWS_WITH(evaluate("1 + ?", gather), Catch::Contains("column 5: expected a number"));
}

TEST_CASE("a domain is evaluated on the call, per argument and per list element") {
  const RuleSet rules = RuleSet::load({data_folder() / "opspecs/rules"});
  const Values indices = resolve(rules, "aten.embedding(f32[10,4], i64[2,3])", "indices");
  CHECK(indices.dist == Dist::randint);
  CHECK(indices.low == 0);
  CHECK(indices.high == 10);
  const std::string index = "aten.index.Tensor(f32[5,6,7], [null, i64[2], i64[2]])";
  CHECK(resolve(rules, index, "indices.1").high == 6);
  CHECK(resolve(rules, index, "indices.2").high == 7);
  // A mask stays a mask.
  CHECK(resolve(rules, "aten.index.Tensor(f32[5], [bool[5]])", "indices.0").dist ==
        Dist::bernoulli);
  const Values variance = resolve(
      rules, "aten.batch_norm(f32[2,3], f32[3], f32[3], f32[3], f32[3], false, 0.1, 1e-05, true)",
      "running_var");
  CHECK(variance.dist == Dist::uniform);
  CHECK(variance.low == 0.5);
  CHECK(variance.high == 1.5);
}

TEST_CASE("a tensor without rule gets the values of its dtype") {
  const RuleSet none;
  const auto values = [&none](const std::string& dtype) {
    return resolve(none, "aten.relu(" + dtype + "[2])", "self");
  };
  CHECK(values("bf16") == Values{});  // standard normal
  CHECK(values("c64") == Values{});
  CHECK(values("bool").dist == Dist::bernoulli);
  CHECK(values("bool").p == 0.5);
  CHECK(values("i32").dist == Dist::randint);
  CHECK(values("i32").low == -8);
  CHECK(values("i32").high == 8);
  CHECK(values("u8").low == 0);
  CHECK(values("u8").high == 16);
}

TEST_CASE("what the spec says wins over the rule") {
  const RuleSet rules = RuleSet::load({data_folder() / "opspecs/rules"});
  OpCall call = call_of("aten.sqrt(f32[2])");
  auto* self = find_arg(call, "self")->get<TensorArg>();
  REQUIRE(self);
  CHECK(resolve_values(rules.find("aten.sqrt"), call, "self", *self).dist == Dist::uniform);
  self->values = Values{};
  self->values->mean = 3;
  CHECK(resolve_values(rules.find("aten.sqrt"), call, "self", *self) == *self->values);
}

TEST_CASE("an exact name wins over a prefix, a longer prefix over a shorter one") {
  const RuleSet rules = load(
      "rules:\n"
      "  - {op: \"aten.a*\", source: short}\n"
      "  - {op: \"aten.add.*\", source: long}\n"
      "  - {op: aten.add.Tensor, source: exact}\n");
  CHECK(rules.find("aten.add.Tensor")->citation == "exact");
  CHECK(rules.find("aten.add.Scalar")->citation == "long");
  CHECK(rules.find("aten.abs")->citation == "short");
  CHECK(rules.find("aten.relu") == nullptr);
}

TEST_CASE("every key of a rule is read") {
  const RuleSet rules = load(
      "rules:\n"
      "  - op: aten.x\n"
      "    oracle: {model: elementwise, ulp: 16}\n"
      "    domain: {self: {dist: normal, mean: 2*dim, std: 0.5, max: 3}}\n"
      "    parameters: [weight]\n"
      "    shape: [prod(self) == prod(size)]\n"
      "    equivalent: [\"y(self)\"]\n"
      "    not_covered: [{family: shape, why: because}]\n"
      "    source: a book\n");
  const Rule* rule = rules.find("aten.x");
  REQUIRE(rule);
  CHECK(rule->op == "aten.x");
  CHECK(rule->oracle == OracleRule{"elementwise", {{"ulp", "16"}}});
  REQUIRE(rule->domain.count("self") == 1);
  const Domain& domain = rule->domain.at("self");
  CHECK(domain.expressions == std::map<std::string, std::string>{{"mean", "2*dim"}});
  CHECK(domain.base.std == 0.5);
  CHECK(domain.base.max == 3.0);
  CHECK(rule->parameters == std::vector<std::string>{"weight"});
  CHECK(rule->shape == std::vector<std::string>{"prod(self) == prod(size)"});
  CHECK(rule->equivalent == std::vector<std::string>{"y(self)"});
  CHECK(rule->not_covered == std::vector<std::string>{"shape: because"});
  CHECK(rule->citation == "a book");
  CHECK_THAT(rule->source, Catch::EndsWith("r.yaml:2"));
}

TEST_CASE("mistakes in rules are reported with their place") {
  CHECK_THAT(problem("rules:\n  - {op: aten.x, oracl: gelu}\n"),
             Catch::StartsWith("r.yaml:2:18: rule: unknown key \"oracl\""));
  CHECK_THAT(problem("rules:\n  - {op: aten.x, oracle: gela}\n"),
             Catch::StartsWith("r.yaml:2:26: oracle: expected one of ") &&
                 Catch::EndsWith("nearest valid word: gelu"));
  CHECK_THAT(problem("rules:\n  - {op: relu}\n"),
             Catch::StartsWith("r.yaml:2:10: op: expected an"));
  CHECK_THAT(problem("rules:\n  - {oracle: gelu}\n"),
             Catch::StartsWith("r.yaml:2:5: rule: key op is missing"));
  CHECK_THAT(problem("rules:\n  - {op: aten.x}\n  - {op: [aten.y, aten.x]}\n"),
             Catch::StartsWith("r.yaml:3:19: op: aten.x has a rule at ") &&
                 Catch::EndsWith("r.yaml:2 already"));
  CHECK_THAT(problem("rules:\n  - {op: aten.x, domain: {a: {dist: randint, low: 0, high: "
                     "\"size(b\"}}}\n"),
             Catch::StartsWith("r.yaml:2:60: domain.a.high: expression \"size(b\": column 7: "
                               "expected ','"));
  // YAML splits an unquoted expression at its comma.
  CHECK_THAT(problem("rules:\n  - {op: aten.x, domain: {a: {dist: randint, high: size(b,0)}}}\n"),
             Catch::Contains("in {...} an expression with a comma needs quotes"));
  CHECK_THAT(problem("rules:\n  - {op: aten.x, domain: {a: {data: [1]}}}\n"),
             Catch::StartsWith("r.yaml:2:37: domain.a.data: literal data has no place here"));
  CHECK_THAT(problem("rules:\n  - {op: aten.x, shape: [prod(a)]}\n"),
             Catch::StartsWith("r.yaml:2:26: shape: expected a relation"));
  CHECK_THAT(problem("rule: []\n"), Catch::Contains("r.yaml:1:1: rule file: key rules is missing"));
}

TEST_CASE("a later folder replaces the rules of an earlier one; the hash follows the content") {
  const TemporaryFolder first, second, same;
  first.write("a.yaml", "rules: [{op: aten.x, oracle: gelu, parameters: [w]}, {op: aten.y}]\n");
  second.write("b.yaml", "rules: [{op: aten.x, oracle: silu}]\n");
  same.write("z.yaml",
             "# moved\nrules:\n  - {op: aten.y, source: a book}\n"
             "  - {op: aten.x, parameters: [w], oracle: {model: gelu}}\n");
  const RuleSet base = RuleSet::load({first.path()});
  const RuleSet both = RuleSet::load({first.path(), second.path()});
  CHECK(both.find("aten.x")->oracle.model == "silu");
  CHECK(both.find("aten.x")->parameters.empty());
  CHECK(both.find("aten.y") != nullptr);
  CHECK(base.hash() != both.hash());
  CHECK(RuleSet::load({same.path()}).hash() == base.hash());
  CHECK_THROWS_WITH(RuleSet::load({first.path() / "none"}),
                    Catch::Contains("cannot read the rules"));
}

// The argument an expression's name belongs to: "tensors.0" -> "tensors".
std::string argument(const std::string& name) { return name.substr(0, name.find('.')); }

TEST_CASE("the shipped rules name operators and arguments that exist") {
  const RuleSet rules = RuleSet::load({data_folder() / "opspecs/rules"});
  CHECK(rules.all().size() > 400);
  for (const auto& [op, rule] : rules.all()) {
    INFO(rule.source << " " << op);
    const Schema* schema = shipped_schemas().find(op);
    REQUIRE(schema);
    for (const auto& [name, domain] : rule.domain) {
      INFO(name);
      const SchemaArg* arg = schema->find(name);
      REQUIRE(arg);
      CHECK(arg->type.base == SchemaBase::tensor);
      for (const auto& [key, expression] : domain.expressions) {
        std::vector<std::string> names;
        REQUIRE_FALSE(check_expression(expression, &names));
        for (const std::string& used : names) {
          const SchemaArg* found = schema->find(argument(used));
          REQUIRE(found);
          // resolve_values sees the call without defaults.
          CHECK_FALSE(found->default_value);
        }
      }
    }
    for (const std::string& name : rule.parameters) CHECK(schema->find(name));
    for (const auto& [key, value] : rule.oracle.attributes)
      if (key == "reduce" || (key == "mean" && value != "all")) CHECK(schema->find(value));
  }
}

TEST_CASE("distinct indices where the dim has enough, indices in range where it has not") {
  const RuleSet rules = RuleSet::load({data_folder() / "opspecs/rules"});
  const auto indices = [&](const std::string& text) { return resolve(rules, text, "indices.0"); };
  const Values few = indices("aten.index_put_(f32[10,8], [i64[4]], f32[4,8])");
  CHECK(few.dist == Dist::permutation);
  CHECK(few == Values{.dist = Dist::permutation});
  const Values many = indices("aten.index_put_(f32[10,8], [i64[11]], f32[11,8], true)");
  CHECK(many.dist == Dist::randint);
  CHECK(many.low == 0);
  CHECK(many.high == 10);
  // A spec's permutation has no such limit.
  CHECK_THAT(problem("rules:\n  - {op: aten.x, domain: {a: {dist: labels, high: size(b,0)}}}\n"),
             Catch::Contains("high is no parameter of labels"));
}

// What two common models call (operators of a small decoder and of a ResNet, exported by torch
// 2.13): a verdict needs a rule for each.
TEST_CASE("the operators of common models have an error model") {
  const RuleSet rules = RuleSet::load({data_folder() / "opspecs/rules"});
  for (const char* op : {"__and__.Tensor",
                         "add.Tensor",
                         "alias",
                         "arange",
                         "cat",
                         "cos",
                         "cumsum",
                         "diff",
                         "embedding",
                         "eq.Tensor",
                         "expand",
                         "index.Tensor",
                         "le.Tensor",
                         "linear",
                         "mean.dim",
                         "mul.Tensor",
                         "ne.Scalar",
                         "neg",
                         "new_ones",
                         "pow.Tensor_Scalar",
                         "reshape",
                         "rsqrt",
                         "scaled_dot_product_attention",
                         "silu",
                         "sin",
                         "slice.Tensor",
                         "sub.Tensor",
                         "to.device",
                         "to.dtype",
                         "to.dtype_layout",
                         "transpose.int",
                         "unsqueeze",
                         "view",
                         "adaptive_avg_pool2d",
                         "add_.Tensor",
                         "batch_norm",
                         "conv2d",
                         "flatten.using_ints",
                         "max_pool2d",
                         "relu_"}) {
    INFO(op);
    const Rule* rule = rules.find(std::string("aten.") + op);
    REQUIRE(rule);
    CHECK_FALSE(rule->oracle.model.empty());
  }
}

}  // namespace
}  // namespace opreplay
