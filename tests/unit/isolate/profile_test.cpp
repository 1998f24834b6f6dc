// Profiles: what a file says, where libraries are found, how each mistake is told.

#include "lib/isolate/profile.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "opreplay/error.h"
#include "tests/support/temporary_folder.h"

using namespace opreplay;
using Catch::Contains;
using opreplay::testing::TemporaryFolder;

namespace fs = std::filesystem;

namespace {

/// Sets a variable for one test.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Setting() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

/// An installation's share/opreplay with profiles of the test's making.
struct DataFolder {
  TemporaryFolder folder;
  Setting setting{"OPREPLAY_DATA", folder.path().string()};

  DataFolder() { fs::create_directories(folder.path() / "opspecs"); }
  void profile(const std::string& name, const std::string& text) const {
    folder.write("devices/" + name + ".yaml", text);
  }
};

std::pair<ExitCode, std::string> refusal(const std::string& device) {
  try {
    load_profile(device);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ExitCode::ok, "no error"};
}

}  // namespace

TEST_CASE("every key of a profile is read") {
  const DataFolder data;
  const fs::path library = data.folder.write("libs/libvendor.so", "");
  data.profile("npu",
               "name: npu\n"
               "torch_device: privateuseone\n"
               "libraries: [" +
                   library.string() +
                   "]\n"
                   "fork: false\n"
                   "timeout: 2.5\n"
                   "env: {VENDOR_LOG: 1, VENDOR_MODE: \"a=b c\"}\n"
                   "unsupported_patterns: ['not supported by .* core']\n"
                   "error_patterns: ['error code \\d+', 'EZ9999']\n"
                   "allow: [tf32]\n");
  const Profile profile = load_profile("npu:3");
  CHECK(profile.name == "npu");
  CHECK(profile.torch_device == "privateuseone:3");
  CHECK(profile.index == 3);
  CHECK(profile.libraries == std::vector<fs::path>{library});
  CHECK_FALSE(profile.fork);
  CHECK(profile.timeout_s == 2.5);
  CHECK(profile.env ==
        std::map<std::string, std::string>{{"VENDOR_LOG", "1"}, {"VENDOR_MODE", "a=b c"}});
  CHECK(profile.unsupported_patterns == std::vector<std::string>{"not supported by .* core"});
  CHECK(profile.error_patterns == std::vector<std::string>{"error code \\d+", "EZ9999"});
  CHECK(profile.allow == std::vector<std::string>{"tf32"});
}

TEST_CASE("what a profile leaves out has its default") {
  const DataFolder data;
  data.profile("xpu", "name: xpu\ntorch_device: xpu:1\n");
  const Profile profile = load_profile("xpu");
  CHECK(profile.torch_device == "xpu:1");
  CHECK(load_profile("xpu:0").torch_device == "xpu:0");
  CHECK(profile.libraries.empty());
  CHECK(profile.fork);
  CHECK(profile.timeout_s == 60);  // profile.h
  CHECK(profile.env.empty());
}

TEST_CASE("the shipped profiles are there") {
  const std::vector<std::string> names = profile_names();
  CHECK(std::find(names.begin(), names.end(), "cpu") != names.end());
  CHECK(std::find(names.begin(), names.end(), "sim") != names.end());
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(load_profile("cpu").torch_device == "cpu");
  CHECK(load_profile("cpu:0").torch_device == "cpu");
  CHECK(refusal("cpu:1").first == ExitCode::usage);
}

TEST_CASE("an unknown device is told with those known") {
  const DataFolder data;
  data.profile("cuda", "name: cuda\ntorch_device: cuda\n");
  data.profile("sim", "name: sim\ntorch_device: privateuseone\n");
  for (const char* device : {"cdua", "cdua:0"}) {
    const auto [code, text] = refusal(device);
    CHECK(code == ExitCode::device_missing);
    CHECK(text ==
          "unknown device \"cdua\"; nearest valid word: cuda; known: cuda, sim; without an "
          "accelerator try --device sim");
  }
  // A name is no path.
  CHECK(refusal("../devices/cuda").first == ExitCode::device_missing);
  CHECK(refusal("").first == ExitCode::device_missing);
}

TEST_CASE("an index must be one") {
  const DataFolder data;
  data.profile("cuda", "name: cuda\ntorch_device: cuda\n");
  for (const char* device : {"cuda:", "cuda:x", "cuda:-1", "cuda:0,1", "cuda:99999"}) {
    const auto [code, text] = refusal(device);
    CHECK(code == ExitCode::usage);
    CHECK_THAT(text, Contains("expected an index as in cuda:0"));
  }
}

TEST_CASE("a fault file is made absolute and must exist") {
  const DataFolder data;
  data.profile("sim", "name: sim\ntorch_device: privateuseone:0\n");
  const fs::path file = data.folder.write("faults.yaml", "simdevice: 1\n");
  CHECK(load_profile("sim").env.empty());
  CHECK(load_profile("sim:0").torch_device == "privateuseone:0");
  const fs::path relative = fs::relative(file);
  REQUIRE(relative.is_relative());
  CHECK(load_profile("sim:" + relative.string()).env.at("OPREPLAY_SIM_FILE") == file.string());
  const auto [code, text] = refusal("sim:missing.yaml");
  CHECK(code == ExitCode::invalid_input);
  CHECK_THAT(text, Contains("sim:missing.yaml: no such fault file"));
}

TEST_CASE("libraries with relative names are looked for") {
  const DataFolder data;
  data.profile("npu", "name: npu\ntorch_device: npu\nlibraries: [libone.so, libtwo.so]\n");
  const fs::path beside = data.folder.write("devices/libone.so", "");
  const TemporaryFolder other;
  {
    const auto [code, text] = refusal("npu");
    CHECK(code == ExitCode::device_missing);
    CHECK_THAT(text, Contains("device npu: library libtwo.so not found: looked in ") &&
                         Contains((data.folder.path() / "devices").string()) &&
                         Contains("OPREPLAY_LIBRARY_PATH"));
  }
  const fs::path chosen = other.write("libtwo.so", "");
  const Setting path("OPREPLAY_LIBRARY_PATH", "/nowhere::" + other.path().string());
  CHECK(load_profile("npu").libraries == std::vector<fs::path>{beside, chosen});
  // What the user sets comes before what is shipped.
  const fs::path replacement = other.write("libone.so", "");
  CHECK(load_profile("npu").libraries == std::vector<fs::path>{replacement, chosen});
}

TEST_CASE("a library with an absolute path must exist") {
  const DataFolder data;
  data.profile("npu", "name: npu\ntorch_device: npu\nlibraries: [/nowhere/libnpu.so]\n");
  const auto [code, text] = refusal("npu");
  CHECK(code == ExitCode::device_missing);
  CHECK_THAT(text, Contains("/nowhere/libnpu.so not found"));
}

TEST_CASE("every mistake of a profile is told with its place") {
  const DataFolder data;
  data.profile("npu",
               "name: gpu\n"
               "torch_device: Not A Device\n"
               "librarys: [a.so]\n"
               "fork: maybe\n"
               "timeout: -1\n"
               "env: [a]\n"
               "error_patterns: ['(unclosed']\n");
  const auto [code, text] = refusal("npu");
  const std::string file = (data.folder.path() / "devices/npu.yaml").string();
  CHECK(code == ExitCode::invalid_input);
  CHECK_THAT(text, Contains(file + ":1:7: name: expected \"npu\""));
  CHECK_THAT(text, Contains(file + ":2:15: torch_device: expected"));
  CHECK_THAT(text, Contains(file + ":3:1: profile: unknown key \"librarys\"") &&
                       Contains("nearest valid word: libraries"));
  CHECK_THAT(text, Contains(file + ":4:7: fork: expected"));
  CHECK_THAT(text, Contains(file + ":5:10: timeout: expected a positive number"));
  CHECK_THAT(text, Contains(file + ":6:6: env: expected a map"));
  CHECK_THAT(text, Contains(file + ":7:18: error_patterns: expected a regular expression"));
}

TEST_CASE("a profile without its required keys, or no map at all, is refused") {
  const DataFolder data;
  data.profile("a", "fork: true\n");
  CHECK_THAT(refusal("a").second,
             Contains("key name is missing") && Contains("key torch_device is missing"));
  data.profile("b", "- just\n- a list\n");
  CHECK(refusal("b").first == ExitCode::invalid_input);
  data.profile("c", "name: [unclosed\n");
  CHECK(refusal("c").first == ExitCode::invalid_input);
}
