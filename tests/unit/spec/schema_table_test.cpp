#include "lib/spec/schema_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "opreplay/error.h"
#include "tests/unit/base/message.h"

using namespace opreplay;
namespace fs = std::filesystem;

namespace {

const fs::path k_shipped_file = OPREPLAY_TEST_DATA "/../../opspecs/schemas/torch-2.13.txt";

const char* const k_small =
    "# a comment\n"
    "\n"
    "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor\n"
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
    "aten::relu(Tensor self) -> Tensor\n"
    "aten::broken(Tensor\n"
    "mine::relu6(Tensor self) -> Tensor";

/// Sets an environment variable for one test.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Setting() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("a table finds operators by spec name") {
  const SchemaTable table(k_small);
  CHECK(table.size() == 5);
  REQUIRE(table.find("aten.add.Tensor"));
  CHECK(table.find("aten.add.Tensor")->op == "aten.add.Tensor");
  CHECK(table.find("aten.add.Tensor")->args[2].keyword_only);
  CHECK_FALSE(table.find("aten.add.Scalar")->args[2].keyword_only);
  CHECK(table.find("aten.add.Tensor") == table.find("aten.add.Tensor"));
  CHECK(table.find("aten.relu"));
  CHECK(table.find("mine.relu6"));  // the last line has no end
  CHECK_FALSE(table.find("aten.add"));
  CHECK_FALSE(table.find("relu"));
  CHECK_FALSE(table.find(""));
}

TEST_CASE("a broken line is told when its operator is asked for") {
  const SchemaTable table(k_small);
  CHECK(message_of([&] { (void)table.find("aten.broken"); }) ==
        "schema, column 20: expected an argument name, found the end");
}

TEST_CASE("the nearest operator") {
  const SchemaTable table(k_small);
  CHECK(table.nearest("aten.add") == "aten.add.Scalar");  // an overload, first by name
  CHECK(table.nearest("relu") == "aten.relu");            // the namespace is missing
  CHECK(table.nearest("aten.rleu") == "aten.relu");       // two letters swapped
  CHECK(table.nearest("aten.add.tensor") == "aten.add.Tensor");
  CHECK(table.nearest("mine.relu") == "mine.relu6");
  CHECK(table.nearest("aten.convolution").empty());
  CHECK(table.nearest("").empty());
  CHECK(table.nearest(std::string(1'000'000, 'x')).empty());
}

TEST_CASE("several threads may ask one table") {
  const SchemaTable table = SchemaTable::load(k_shipped_file);
  std::vector<std::thread> threads;
  std::vector<const Schema*> found(4);
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&, i] {
      for (const char* op : {"aten.relu", "aten.softmax.int", "aten.add.Tensor"})
        found[i] = table.find(op);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Schema* schema : found) CHECK(schema == table.find("aten.add.Tensor"));
}

TEST_CASE("the shipped table") {
  const SchemaTable& table = shipped_schemas();
  CHECK(table.size() == 4231);  // counted with grep -vc '^#'
  CHECK(table.find("aten.softmax.int"));
  CHECK(table.find("quantized.add"));
  CHECK_FALSE(table.find("prims.add"));  // registered by Python only
  CHECK(table.nearest("aten.sofmax.int") == "aten.softmax.int");
  CHECK(table.nearest("aten.scaled_dot_prodct_attention") == "aten.scaled_dot_product_attention");
}

TEST_CASE("the shipped file is sorted and has one line per operator") {
  std::ifstream file(k_shipped_file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#')) lines.push_back(line);
  CHECK(std::is_sorted(lines.begin(), lines.end()));
  CHECK(lines.size() == SchemaTable::load(k_shipped_file).size());
}

TEST_CASE("a table that cannot be read names the file") {
  CHECK(message_of([] { SchemaTable::load("/nowhere/torch.txt"); }) ==
        "/nowhere/torch.txt: cannot read the table; set OPREPLAY_DATA to the folder that "
        "holds opspecs/");
}

TEST_CASE("the data folder is the one chosen, else the source tree's") {
  const fs::path chosen = fs::temp_directory_path() / "opreplay-data-folder-test";
  fs::create_directories(chosen / "opspecs");
  {
    const Setting set("OPREPLAY_DATA", chosen.string());
    CHECK(data_folder() == chosen);
    fs::remove_all(chosen);
    CHECK(message_of(data_folder).starts_with("OPREPLAY_DATA names " + chosen.string()));
  }
  const Setting set("OPREPLAY_DATA", "");
  CHECK(fs::equivalent(data_folder(), OPREPLAY_TEST_DATA "/../.."));
}

#ifdef NDEBUG
TEST_CASE("loading the shipped table takes less than 5 ms") {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const SchemaTable table = SchemaTable::load(k_shipped_file);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  INFO(best << " ms");
  CHECK(best < 5);
}
#endif
