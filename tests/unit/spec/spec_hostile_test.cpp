// Broken and hostile files: always Error{invalid_input} that names the file, never a crash, never a
// large allocation.

#include <catch2/catch.hpp>
#include <random>

#include "opreplay/error.h"
#include "opreplay/spec.h"
#include "tests/support/temporary_folder.h"

namespace opreplay {
namespace {

using namespace testing;

const std::filesystem::path k_data = std::filesystem::path(OPREPLAY_TEST_DATA) / "specs";

// The first line of each file under bad/ says what must be reported first:
// "# expect: LINE:COLUMN: words of the message".
TEST_CASE("each broken file is reported at its place") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(k_data / "bad")) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    const std::string text = contents_of(entry.path());
    const std::string head = "# expect: ";
    REQUIRE(text.starts_with(head));
    const std::string expected = text.substr(head.size(), text.find('\n') - head.size());
    const auto words = expected.find(' ');
    try {
      load_specs(entry.path());
      FAIL_CHECK("loaded");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::invalid_input);
      const std::string message = error.what();
      CHECK_THAT(message.substr(0, message.find('\n')),
                 Catch::StartsWith(entry.path().string() + ":" + expected.substr(0, words)) &&
                     Catch::Contains(expected.substr(words + 1)));
    }
    ++files;
  }
  CHECK(files >= 20);
}

TEST_CASE("a file in UTF-16 is told what it is") {
  const TemporaryFolder folder;
  const auto file = folder.write("utf16.yaml", std::string("\xff\xfeo\0p\0:\0", 8));
  CHECK_THROWS_WITH(load_specs(file),
                    Catch::Contains("utf16.yaml:1:1: expected UTF-8, found UTF-16"));
}

// One random change: cut, flip, delete, double or replace by an awkward token.
std::string mutate(std::string text, std::mt19937& random) {
  static const std::vector<std::string> k_tokens = {"[",
                                                    "]",
                                                    "{",
                                                    "}",
                                                    ":",
                                                    "- ",
                                                    "&a ",
                                                    "*a",
                                                    "!!str ",
                                                    "\"",
                                                    "'",
                                                    "#",
                                                    "\n",
                                                    "\t",
                                                    "null",
                                                    "~",
                                                    "-1",
                                                    "1e999",
                                                    "99999999999999999999",
                                                    ".nan",
                                                    "true",
                                                    "f32[",
                                                    "9223372036854775807",
                                                    "|\n",
                                                    "? ",
                                                    "%",
                                                    "---\n",
                                                    std::string(1, '\0'),
                                                    "\xff\xfe",
                                                    "\xc3\x28",
                                                    "<<: ",
                                                    "../",
                                                    "@"};
  const auto below = [&random](std::size_t limit) {
    return limit == 0 ? 0 : static_cast<std::size_t>(random()) % limit;
  };
  const std::size_t at = below(text.size());
  switch (below(6)) {
    case 0:
      text.resize(at);
      break;
    case 1:
      if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
      break;
    case 2:
      text.erase(at, 1 + below(20));
      break;
    case 3:
      text.insert(at, text.substr(below(text.size()), 1 + below(40)));
      break;
    case 4:
      text.insert(at, k_tokens[below(k_tokens.size())]);
      break;
    default:
      text.replace(at, 1 + below(8), k_tokens[below(k_tokens.size())]);
  }
  return text;
}

TEST_CASE("mutated files load or are refused with file and place") {
  const TemporaryFolder folder;
  std::mt19937 random(20250101);
  int refused = 0;
  for (const char* name : {"aten.softmax.int.yaml", "aten.cat.yaml", "h4lib.scaled_gather.yaml"}) {
    const std::string good = contents_of(k_data / name);
    for (int round = 0; round < 250; ++round) {
      std::string text = mutate(good, random);
      if (round % 3 == 0) text = mutate(text, random);
      const auto file = folder.write("s.yaml", text);
      try {
        // What loads is sound: it can be written and read again.
        const OpSpec spec = load_specs(file)[0];
        const std::string yaml = to_yaml(spec);
        CHECK(to_yaml(load_specs(folder.write("t.yaml", yaml))[0]) == yaml);
      } catch (const Error& error) {
        ++refused;
        INFO(text);
        CHECK(error.code() == ExitCode::invalid_input);
        CHECK_THAT(error.what(), Catch::StartsWith(file.string() + ":"));
      }
    }
  }
  CHECK(refused > 300);
}

TEST_CASE("bombs are refused quickly") {
  const TemporaryFolder folder;
  const std::string head = "opspec: 1\nop: aten.relu\nschema: \"relu(Tensor self) -> Tensor\"\n";
  const auto refused = [&](const std::string& text) {
    try {
      load_specs(folder.write("bomb.yaml", text));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("loaded");
  };
  CHECK_THAT(refused(head + "calls: " + std::string(100'000, '[')),
             Catch::Contains("bomb.yaml:4:") && Catch::Contains("nested more than"));
  CHECK_THAT(refused(head + "calls: [{args: {self: \"f32" + std::string(100'000, '[') + "\"}}]\n"),
             Catch::Contains("bomb.yaml:4:23: calls.0.self: "));
  CHECK_THAT(refused(head + "calls: [{args: {self: \"f32[4611686018427387904,4]\"}}]\n"),
             Catch::Contains("bomb.yaml:4:23: calls.0.self: "));
  // Very many problems: the first ones are listed, the others counted.
  std::string wrong;
  for (int i = 0; i < 10'000; ++i) wrong += "key" + std::to_string(i) + ": 1\n";
  const std::string message = refused(head + wrong + "calls: [1, 2, 3]\n");
  CHECK(std::count(message.begin(), message.end(), '\n') <= 201);
}

}  // namespace
}  // namespace opreplay
