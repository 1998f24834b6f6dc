#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <ctime>

#include "lib/base/case_parser.h"
#include "lib/spec/schema_table.h"
#include "opreplay/case.h"
#include "opreplay/error.h"
#include "tests/unit/base/message.h"

using namespace opreplay;

// Case strings come from command lines, spec files and packs: none may crash, hang or eat memory.

namespace {

std::string repeated(std::string_view part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

std::string message(const std::string& text) {
  return message_of([&] { parse_case(text, shipped_schemas()); });
}

}  // namespace

TEST_CASE("lists nest 64 deep at most") {
  CHECK_NOTHROW(parse_value(repeated("[", 64) + repeated("]", 64)));
  CHECK(message_of([] { parse_value(repeated("[", 65) + repeated("]", 65)); }) ==
        "value, column 65: expected lists nested at most 64 deep, found \"" + std::string("[") +
            repeated("]", 31) + "\"...");
  CHECK(message("aten.cat(" + repeated("[", 1'000'000)).find("column 74") != std::string::npos);
}

TEST_CASE("an embedded NUL is told, not taken for the end") {
  using namespace std::string_literals;
  CHECK(message("aten.relu(f32[2])\0"s) ==
        "case string, column 18: expected '->', FAMILY.MEMBER, fwd, bwd, seed=, data= or grad=, "
        "found \"\\x00\"");
  CHECK(message("aten.relu(\0f32[2])"s) ==
        "case string, column 11: expected an argument value, found \"\\x00f32[2])\"");
  CHECK(message("aten.gelu(f32[2], approximate=\"\0\")"s) ==
        "case string, column 32: expected '\"' or a printable character (write others as \\x1f), "
        "found \"\\x00\\\")\"");
}

TEST_CASE("messages show a part of long text only") {
  CHECK(message(repeated("x", 1'000'000)).size() < 200);
  CHECK(message("aten.relu(" + repeated("9", 1'000'000) + ")").size() < 200);
  CHECK(message("aten.gelu(f32[2], approximate=[\"" + repeated("\\x00", 100'000) + "\"])").size() <
        400);
}

TEST_CASE("time grows with the length of the text, not with its square") {
  struct Text {
    const char *head, *part, *tail;
  };
  const Text text = GENERATE(values<Text>({
      {"aten.cat([", "f32[2,3]&a, ", "f32[2]])"},
      {"aten.cat([", "null, ", "null])"},
      {"aten.relu(", "self=f32[2], ", "self=f32[2])"},
      {"aten.relu(f32[", "1,", "1])"},
      {"aten.relu(f32[2]) ", "values.nan@first:self+", "values.nan"},
      {"aten.relu(f32[2]) grad=", "a,", "a"},
      {"aten.relu(f32[2])", " -> aten.relu(f32[2])", ""},
      {"aten.gelu(f32[2], approximate=\"", "\\\\", "\")"},
      {"aten.fill_.Scalar(f32[2], 0.", "1", ")"},
      {"", "(", ""},
      {"", "aten.", ""},
      {"", " ", ""},
  }));
  // Processor time of reading, and of printing what was read: least of three, since others share
  // the machine.
  const auto seconds = [&text](std::size_t bytes) {
    const std::string whole =
        text.head + repeated(text.part, bytes / std::strlen(text.part)) + text.tail;
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
      const std::clock_t start = std::clock();
      message_of([&] { to_string(parse_case(whole, shipped_schemas())); });
      least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return least;
  };
  // Eight times the text: 8 for a linear reader, 64 for a quadratic one.
  const double small = seconds(10'000), large = seconds(80'000);
  INFO(text.head << text.part << ": " << small << " s, " << large << " s");
  CHECK(large < 25 * std::max(small, 1e-4));
}

TEST_CASE("a megabyte is read") {
  const std::string text = "aten.cat([" + repeated("f32[2,3]&a, ", 90'000) + "f32[2]&a])";
  CHECK(to_string(parse_case(text, shipped_schemas())) == text);
}
