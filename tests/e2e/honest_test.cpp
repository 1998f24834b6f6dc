#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <vector>

#include "opreplay/capture.h"
#include "opreplay/session.h"
#include "tests/support/honest_devices.h"
#include "tests/support/tier.h"

// No false alarm on honest devices that accumulate in four different orders: every call of every
// model unvaried, and those of a transformer and a convolutional net with all families. Models: the
// small ones exported by the build, and those of the corpus that OPREPLAY_CORPUS names.

using namespace opreplay;
using namespace opreplay::testing;

namespace {

namespace fs = std::filesystem;

/// The small models that the build exports.
std::vector<fs::path> own_models() {
  return {fs::path(OPREPLAY_MODELS_DIR) / "tiny_llama.pt2",
          fs::path(OPREPLAY_MODELS_DIR) / "tiny_convnet.pt2"};
}

/// Those, and every model of the corpus that `chosen` accepts.
std::vector<fs::path> models(const std::function<bool(const std::string& name)>& chosen) {
  std::vector<fs::path> out = own_models();
  const char* corpus = std::getenv("OPREPLAY_CORPUS");
  if (!corpus || !*corpus) {
    WARN("OPREPLAY_CORPUS is not set: the corpus models are not tried");
    return out;
  }
  for (const auto& entry : fs::directory_iterator(corpus))
    if (entry.path().extension() == ".pt2" && chosen(entry.path().stem().string()))
      out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// Runs one varied case; shows it if it is a false alarm, or a workload case that does not pass.
Status run_honest(Session& session, const PlannedCase& c) {
  const CaseResult result = session.run(c);
  const Status status = result.verdict.status;
  if (status == Status::blocked || status == Status::substitute ||
      (status == Status::pending && c.workload))
    FAIL_CHECK(failure_text(result));
  return status;
}

}  // namespace

TEST_CASE("the calls of real models pass on an honest device in four accumulation orders") {
  HonestDevices devices;
  for (const fs::path& model : models([](const std::string&) { return true; })) {
    const CaptureResult captured = capture_file(model);
    for (std::size_t order = 0; order < k_orders.size(); ++order) {
      INFO(model.filename() << " order " << k_orders[order]);
      PlanOptions options;
      options.vary = {"none"};
      for (const PlannedCase& c : devices[order].plan(captured.specs, options).cases)
        CHECK(run_honest(devices[order], c) == Status::pass);
    }
  }
}

// ci: every case once, in an order drawn by the seed. full: in all of them, with three fills.
TEST_CASE("no variation of a real model's calls is a false alarm on an honest device") {
  HonestDevices devices;
  const std::uint64_t first_seed = sample_seed();
  const auto two = [](const std::string& name) { return name == "llama" || name == "timm_resnet"; };
  for (const fs::path& model : models(two)) {
    const CaptureResult captured = capture_file(model);
    for (std::uint64_t seed = first_seed; seed < first_seed + (full_tier() ? 3 : 1); ++seed) {
      PlanOptions options;
      options.seed = seed;
      std::mt19937_64 draw(seed);
      int passed = 0;
      for (const PlannedCase& c : devices[0].plan(captured.specs, options).cases) {
        const std::size_t drawn = draw() % k_orders.size();
        for (std::size_t order = 0; order < k_orders.size(); ++order) {
          if (!full_tier() && order != drawn) continue;
          INFO(model.filename() << " order " << k_orders[order] << " OPREPLAY_SEED=" << seed);
          passed += run_honest(devices[order], c) == Status::pass;
        }
      }
      CHECK(passed > 100);
    }
  }
}
