#include "lib/base/text.h"

#include <array>
#include <catch2/catch.hpp>

using namespace opreplay;

TEST_CASE("edits between words") {
  // Levenshtein's own example, and one swap (Boytsov 2011: optimal string alignment).
  CHECK(edit_distance("kitten", "sitting", 9) == 3);
  CHECK(edit_distance("bwd", "bdw", 9) == 1);
  // The textbook case where optimal string alignment gives 3, not 2.
  CHECK(edit_distance("ca", "abc", 9) == 3);
  CHECK(edit_distance("", "abc", 9) == 3);
  CHECK(edit_distance("same", "same", 0) == 0);
  CHECK(edit_distance("kitten", "sitting", 2) == 3);  // cap + 1: more than the cap
  CHECK(edit_distance("a", "abcdefgh", 2) == 3);
}

TEST_CASE("the nearest word") {
  constexpr std::array<std::string_view, 4> words = {"f32", "f64", "bool", "bf16"};
  CHECK(nearest_word("f31", words) == "f32");
  CHECK(nearest_word("f46", words) == "f64");
  CHECK(nearest_word("bfloat16", words).empty());
  CHECK(nearest_word("int", words).empty());
  CHECK(nearest_word("bool", words) == "bool");
  CHECK(nearest_dtype("bf61") == "bf16");
  CHECK(nearest_hint("f32") == "; nearest valid word: f32");
  CHECK(nearest_hint("").empty());
}

TEST_CASE("quoted text is one line of valid UTF-8") {
  CHECK(quoted("a\"b\\c\n\t\r") == R"("a\"b\\c\n\t\r")");
  CHECK(quoted(std::string_view("\0\x1f\x7f", 3)) == R"("\x00\x1f\x7f")");
  // Source of the sequences: The Unicode Standard 15.0, table 3-7.
  CHECK(quoted("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  CHECK(quoted("\xc0\xaf") == R"("\xc0\xaf")");                  // overlong
  CHECK(quoted("\xed\xa0\x80") == R"("\xed\xa0\x80")");          // surrogate
  CHECK(quoted("\xf4\x90\x80\x80") == R"("\xf4\x90\x80\x80")");  // beyond U+10FFFF
  CHECK(quoted("\xe2\x82") == R"("\xe2\x82")");                  // cut short
}

TEST_CASE("long text is shown in part") {
  CHECK(excerpt("short") == "\"short\"");
  CHECK(excerpt(std::string(100, 'a')) == '"' + std::string(32, 'a') + "\"...");
}

TEST_CASE("floats look like floats") {
  // Source: Python's repr of the same doubles.
  CHECK(float_text(1) == "1.0");
  CHECK(float_text(-0.0) == "-0.0");
  CHECK(float_text(1e-5) == "1e-05");
  CHECK(float_text(0.1) == "0.1");
  CHECK(float_text(1e300 * 1e300) == "inf");
  CHECK(float_text(-1e300 * 1e300) == "-inf");
}
