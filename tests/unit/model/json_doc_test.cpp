#include "lib/model/json_doc.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/model/pt2_fixture.h"

using namespace opreplay;
using namespace opreplay::test;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {

/// Gives the text in pieces of `piece` bytes.
JsonDoc::Source text_source(std::string text, std::size_t piece = 7) {
  return [text = std::move(text), piece, at = std::size_t{0}](std::span<char> to) mutable {
    const std::size_t size = std::min({piece, to.size(), text.size() - at});
    std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at), size, to.begin());
    at += size;
    return size;
  };
}

std::string parse_refusal(const std::string& text, const JsonLimits& limits = {}) {
  return refusal([&] { JsonDoc("m.json", text_source(text), limits); });
}

}  // namespace

TEST_CASE("values are read by their types") {
  const JsonDoc doc("m.json", text_source(R"({"i": -3, "big": 9223372036854775807, "r": 0.1,
      "t": true, "n": null, "s": "a\u00e9\n", "inf": "-Infinity", "nan": "NaN", "l": [[], 1, "x"]})"));
  const Json root = doc.root();
  CHECK(root.at("i").integer() == -3);
  CHECK(root.at("i").number() == -3.0);
  CHECK(root.at("big").integer() == 9223372036854775807);
  CHECK(root.at("r").number() == 0.1);
  CHECK(root.at("t").boolean());
  CHECK(root.at("n").is_null());
  CHECK(root.at("s").string() == "a\xc3\xa9\n");
  CHECK(root.at("inf").number() == -INFINITY);
  CHECK(std::isnan(root.at("nan").number()));
  CHECK_FALSE(root.find("absent"));
  std::vector<JsonKind> kinds;
  for (const Json item : root.at("l").elements()) kinds.push_back(item.kind());
  CHECK(kinds == std::vector{JsonKind::array, JsonKind::integer, JsonKind::string});
  CHECK(Json(doc, 0).at("l").kind() == JsonKind::array);
}

TEST_CASE("a wrong type is named with its path") {
  const JsonDoc doc("f.pt2: m.json",
                    text_source(R"({"a": {"b": [0, {"c": [[1], "x"]}]}, "d": 1})"));
  std::vector<Json> items;
  for (const Json item : doc.root().at("a").at("b").elements()) items.push_back(item);
  std::vector<Json> inner;
  for (const Json item : items[1].at("c").elements()) inner.push_back(item);
  CHECK(inner[1].path() == "a.b[1].c[1]");
  CHECK(doc.root().at("d").path() == "d");
  CHECK_THAT(refusal([&] { inner[1].integer(); }),
             Equals("f.pt2: m.json: a.b[1].c[1]: expected an integer, found a string"));
  CHECK_THAT(refusal([&] { doc.root().integer(); }),
             Equals("f.pt2: m.json: expected an integer, found an object"));
  CHECK_THAT(refusal([&] { doc.root().at("e"); }), Contains("expected a member 'e', found none"));
  CHECK_THAT(refusal([&] { doc.root().only_member(); }), Contains("found 'a' and 'd'"));
  CHECK_THAT(refusal([&] { items[0].members(); }), Contains("a.b[0]: expected an object"));
}

TEST_CASE("a text that is no JSON is refused with the byte") {
  CHECK_THAT(parse_refusal("{\"a\": }"), Contains("m.json: not valid JSON at byte 7"));
  CHECK_THAT(parse_refusal(""), Contains("not valid JSON"));
  CHECK_THAT(parse_refusal("[1, 2] x"), Contains("not valid JSON"));
  CHECK_THAT(parse_refusal("[\"\xff\"]"), Contains("not valid JSON"));
  const std::string text = R"({"a": [1, {"b": "c"}]})";
  for (std::size_t size = 0; size < text.size(); ++size) {
    INFO("cut off at " << size);
    CHECK_FALSE(parse_refusal(text.substr(0, size)).empty());
  }
  CHECK(parse_refusal(text).empty());
}

TEST_CASE("limits of depth, memory and token hold") {
  const std::string deep(1'000'000, '[');
  CHECK_THAT(parse_refusal(deep), Contains("nested deeper than 512 levels at byte 51"));
  CHECK(parse_refusal(std::string(512, '[') + std::string(512, ']')).empty());

  std::string wide = "[0";
  for (int i = 0; i < 100'000; ++i) wide += ",0";
  wide += ']';
  CHECK_THAT(parse_refusal(wide, {.memory = std::size_t{1} << 20}),
             Contains("needs more than 1 MiB to read"));
  CHECK(parse_refusal(wide).empty());

  CHECK_THAT(parse_refusal('"' + std::string(1 << 20, 'x'), {.token = 100'000}),
             Contains("a token of more than 100000 bytes at byte 0"));
}
