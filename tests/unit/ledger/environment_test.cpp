#include "lib/ledger/environment.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "lib/ledger/files.h"
#include "opreplay/error.h"
#include "tests/support/temporary_folder.h"

using namespace opreplay;
using opreplay::testing::TemporaryFolder;

TEST_CASE("SHA-256: the example of FIPS 180-2, appendix B.1, and the empty message") {
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("the id is the hash of the facts alone") {
  Environment e;
  e.facts = {{"torch", "2.13.0"}, {"device", "sim"}};
  // printf 'device=sim\ntorch=2.13.0\n' | sha256sum
  CHECK(e.id() == "0ee7ebe75ae701e2");
  const std::string before = e.id();
  e.volatile_facts["time"] = "now";
  CHECK(e.id() == before);
  e.facts["torch"] = "2.13.1";
  CHECK(e.id() != before);
}

TEST_CASE("a line end inside a value cannot imitate another fact") {
  Environment one, two;
  one.facts = {{"a", "1\nb=2"}};
  two.facts = {{"a", "1"}, {"b", "2"}};
  CHECK(one.id() != two.id());
  two.facts = {{"a", "1\\nb=2"}};
  CHECK(one.id() != two.id());
}

TEST_CASE("the host: version, cpu, os, and only variables that matter") {
  setenv("OMP_NUM_THREADS", "3", 1);
  setenv("OPREPLAY_TEST_SECRET", "hush", 1);
  const Environment e = host_environment();
  unsetenv("OMP_NUM_THREADS");
  CHECK(e.facts.at("env.OMP_NUM_THREADS") == "3");
  CHECK(to_json(e).find("hush") == std::string::npos);
  for (const char* key : {"opreplay", "cpu", "os"}) CHECK_FALSE(e.facts.at(key).empty());
  for (const char* key : {"time", "host", "pid", "kernel"}) {
    CHECK(e.facts.count(key) == 0);
    CHECK_FALSE(e.volatile_facts.at(key).empty());
  }
}

TEST_CASE("a library counts by name and content, not by its folder") {
  const TemporaryFolder temporary;
  std::filesystem::create_directory(temporary / "a");
  std::filesystem::create_directory(temporary / "b");
  for (const char* folder : {"a", "b"}) std::ofstream(temporary / folder / "libx.so") << "abc";
  Environment a, b;
  add_library(a, temporary / "a" / "libx.so");
  add_library(b, temporary / "b" / "libx.so");
  CHECK(a.facts.at("library.libx.so") ==
        "3 bytes sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(a.id() == b.id());
  CHECK(a.volatile_facts != b.volatile_facts);
  std::ofstream(temporary / "b" / "libx.so") << "abd";
  add_library(b, temporary / "b" / "libx.so");
  CHECK(a.id() != b.id());
  CHECK_THROWS_AS(add_library(a, temporary / "none.so"), Error);
  CHECK_THROWS_AS(add_library(a, temporary / "a"), Error);
}

TEST_CASE("the worker's identity lines become facts") {
  Environment e;
  add_identity(e, "torch: 2.13.0+cpu\n\ndevice: sim: honest\nnonsense\n : x\nlast: one");
  CHECK(e.facts == std::map<std::string, std::string>{
                       {"torch", "2.13.0+cpu"}, {"device", "sim: honest"}, {"last", "one"}});
}

TEST_CASE("env.json comes back, and a changed fact is noticed") {
  Environment e = host_environment();
  const std::string text = to_json(e);
  CHECK(environment_from_json(text) == e);
  e.facts["torch"] = "2.13.0";
  std::string forged = to_json(e);
  forged.replace(forged.find("2.13.0"), 6, "9.99.9");
  CHECK_THROWS_AS(environment_from_json(forged), Error);
  CHECK_THROWS_AS(environment_from_json("[]"), Error);
  CHECK_THROWS_AS(environment_from_json("{\"facts\":{\"a\":1}}"), Error);
}

TEST_CASE("a file is replaced whole or not at all") {
  const TemporaryFolder temporary;
  write_file(temporary / "f", "one");
  write_file(temporary / "f", "two");
  CHECK(read_file(temporary / "f") == "two");
  CHECK(std::distance(std::filesystem::directory_iterator(temporary.path()), {}) == 1);
  CHECK_THROWS_AS(write_file(temporary / "none/f", "x"), Error);
  std::filesystem::create_directory(temporary / "d");
  CHECK_THROWS_AS(write_file(temporary / "d", "x"), Error);
  CHECK(std::distance(std::filesystem::directory_iterator(temporary.path()), {}) == 2);
  CHECK_THROWS_AS(read_file(temporary / "none"), Error);
}

TEST_CASE("times are UTC") {
  // date -u -d @951868799
  CHECK(utc_text(std::chrono::system_clock::from_time_t(951868799)) == "2000-02-29T23:59:59Z");
}
