// A vendor's adapter test suite: op-specs and single cases as Catch2 tests.
// The device comes from the environment, so that one program serves every machine.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_CONSOLE_WIDTH 1000  // repro lines stay whole, to be copied
#include <catch2/catch.hpp>
#endif
#include <opreplay/adapters/catch2.h>

#include <cstdlib>
#include <string>

static std::string device() {
  const char* name = std::getenv("VENDOR_DEVICE");
  return name ? name : "sim";
}

OPREPLAY_TEST_CASE("relu", SPECS "/aten.relu.yaml", device());
OPREPLAY_TEST_CASE("softmax", SPECS "/aten.softmax.int.yaml", device());
OPREPLAY_TEST_CASE("clamp keeps NaN", "aten.clamp(f32[2,3,4,5], 0.0, 1.0) values.nan@first",
                   device());
