#include "lib/spec/yaml_node.h"

#include <catch2/catch.hpp>

namespace opreplay {
namespace {

struct Parsed {
  std::optional<YamlNode> root;
  std::string problem;  // the first one, as text
};

Parsed parse(const std::string& text, const YamlLimits& limits = {}) {
  Diagnostics diagnostics("f.yaml");
  Parsed parsed{parse_yaml(text, diagnostics, limits), ""};
  const auto problems = diagnostics.take();
  if (!problems.empty()) parsed.problem = to_string(problems[0]);
  REQUIRE(parsed.root.has_value() == problems.empty());
  return parsed;
}

TEST_CASE("plain and quoted scalars stay apart, with their positions") {
  const auto root = parse("a: no\nb: 'no'\nc:\nd: [x, \"1\"]\n").root;
  REQUIRE(root);
  REQUIRE(root->kind == YamlNode::Kind::map);
  REQUIRE(root->keys.size() == 4);
  const auto& values = root->values;
  CHECK(values[0].kind == YamlNode::Kind::plain);
  CHECK(values[0].text == "no");
  CHECK(values[0].line == 1);
  CHECK(values[0].column == 4);
  CHECK(values[1].kind == YamlNode::Kind::quoted);
  CHECK(values[1].text == "no");
  CHECK(values[2].kind == YamlNode::Kind::null);
  REQUIRE(values[3].values.size() == 2);
  CHECK(values[3].values[1].kind == YamlNode::Kind::quoted);
  CHECK(values[3].values[1].line == 4);
  CHECK(values[3].values[1].column == 8);
}

TEST_CASE("an alias stands for a copy of what it names") {
  const auto root = parse("a: &x [1, 2]\nb: *x\n").root;
  REQUIRE(root);
  REQUIRE(root->values[1].values.size() == 2);
  CHECK(root->values[1].values[1].text == "2");
}

TEST_CASE("deep nesting is refused before the parser runs out of stack") {
  for (const char* opening : {"[", "{a: ", "- ", "? "}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += opening;
    INFO(opening);
    CHECK_THAT(parse(text).problem, Catch::Contains("f.yaml:1:"));
  }
  CHECK_THAT(parse("[[[[1]]]]", {.max_depth = 3}).problem,
             Catch::Contains("f.yaml:1:4: nested more than 3 levels deep"));
  CHECK(parse("[[[1]]]", {.max_depth = 3}).problem.empty());
  // An alias counts with the depth of what it names.
  CHECK_THAT(parse("[&x [[1]], [*x]]", {.max_depth = 3}).problem,
             Catch::Contains("nested more than 3"));
}

TEST_CASE("aliases that multiply are refused") {
  // "Billion laughs": nine levels of ten aliases each.
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    const std::string name = "a" + std::to_string(i);
    text += name + ": &" + name + " [" + last;
    for (int k = 1; k < 10; ++k) text += "," + last;
    text += "]\n";
  }
  CHECK_THAT(parse(text).problem, Catch::Contains("values in one file"));
  // Eleven nodes: the list and its elements.
  CHECK(parse("[1,1,1,1,1,1,1,1,1,1]", {.max_nodes = 11}).problem.empty());
  CHECK_THAT(parse("[1,1,1,1,1,1,1,1,1,1]", {.max_nodes = 10}).problem,
             Catch::Contains("f.yaml:1:20: more than 10 values"));
}

TEST_CASE("what is no plain data is refused with its place") {
  CHECK_THAT(parse("a: !!binary aGk=\n").problem, Catch::Contains("f.yaml:1:4: tags"));
  CHECK_THAT(parse("a: &x [*x]\n").problem, Catch::Contains("f.yaml:1:8: an alias"));
  CHECK_THAT(parse("a: 1\n---\nb: 2\n").problem, Catch::Contains("f.yaml:3:1: expected one"));
  CHECK_THAT(parse("").problem, Catch::Contains("f.yaml:1:1: expected a YAML document"));
  CHECK_THAT(parse("a: [1, 2\n").problem, Catch::Contains("f.yaml:2:1: not valid YAML"));
  CHECK_THAT(parse("a: *nobody\n").problem, Catch::Contains("not valid YAML"));
}

}  // namespace
}  // namespace opreplay
