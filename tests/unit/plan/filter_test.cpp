#include "lib/plan/filter.h"

#include <catch2/catch.hpp>

#include "opreplay/error.h"

using namespace opreplay;

namespace {

bool matches(const char* expression) {
  return Filter(expression)
      .matches("aten.clamp(f32[2,3], 0.0) values.nan@first", "9f2c41d07a3b55e1");
}

}  // namespace

TEST_CASE("a filter's words match parts of the case string") {
  CHECK(matches(""));
  CHECK(matches("clamp"));
  CHECK_FALSE(matches("relu"));
  CHECK(matches("\"f32[2,3], 0.0\""));
  CHECK(matches("id:9f2c"));
  CHECK_FALSE(matches("id:9f2d"));
}

TEST_CASE("and binds tighter than or, not tighter than both") {
  CHECK(matches("relu or clamp and values"));
  CHECK_FALSE(matches("(relu or clamp) and layout"));
  CHECK(matches("not relu"));
  CHECK_FALSE(matches("not relu and layout"));
  CHECK(matches("not (relu and layout)"));
}

TEST_CASE("a broken expression names the column") {
  CHECK_THROWS_WITH(Filter("clamp and"), Catch::Matchers::Contains("column 10"));
  CHECK_THROWS_WITH(Filter("(clamp"), Catch::Matchers::Contains("expected )"));
  CHECK_THROWS_WITH(Filter("a \"b"), Catch::Matchers::Contains("closing quote"));
  CHECK_THROWS_AS(Filter(std::string(100000, '(')), Error);
}
