#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "opreplay/capture.h"
#include "opreplay/session.h"
#include "tests/support/temporary_folder.h"

// No false alarm: every call of real models, unvaried and with all families, on honest devices that
// accumulate in four different orders. Models: the small ones exported by the build, and llama and
// timm_resnet of the corpus where OPREPLAY_CORPUS names it.

using namespace opreplay;
using opreplay::testing::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> models() {
  std::vector<fs::path> out = {fs::path(OPREPLAY_MODELS_DIR) / "tiny_llama.pt2",
                               fs::path(OPREPLAY_MODELS_DIR) / "tiny_convnet.pt2"};
  const char* corpus = std::getenv("OPREPLAY_CORPUS");
  if (corpus && *corpus) {
    for (const char* name : {"llama.pt2", "timm_resnet.pt2"})
      out.push_back(fs::path(corpus) / name);
  } else {
    WARN("OPREPLAY_CORPUS is not set: the corpus models are not tried");
  }
  return out;
}

std::string device_file(const std::string& order) {
  return "simdevice: 1\ndeclare: {accumulate: fp32, order: \"" + order +
         "\", intermediates: fp32}\nfaults: []\n";
}

/// Runs every case; each that is not as `fine` says is shown.
std::map<Status, int> run_all(Session& session, const Plan& plan) {
  std::map<Status, int> counts;
  for (const PlannedCase& c : plan.cases) {
    const CaseResult result = session.run(c);
    ++counts[result.verdict.status];
    if (result.verdict.status == Status::blocked || result.verdict.status == Status::substitute ||
        (result.verdict.status == Status::pending && c.workload))
      FAIL_CHECK(failure_text(result));
  }
  return counts;
}

}  // namespace

TEST_CASE("the calls of real models pass on an honest device in four accumulation orders") {
  const TemporaryFolder folder;
  for (const fs::path& model : models()) {
    const CaptureResult captured = capture_file(model);
    for (const char* order : {"cpu", "reversed", "pairwise", "split_k:8"}) {
      INFO(model.filename() << " order " << order);
      Session session(
          {.device = "sim:" + folder.write("honest.yaml", device_file(order)).string()});
      PlanOptions options;
      options.vary = {"none"};
      const Plan plan = session.plan(captured.specs, options);
      const auto counts = run_all(session, plan);
      CHECK(counts.at(Status::pass) == static_cast<int>(plan.cases.size()));
    }
  }
}

TEST_CASE("no variation of a real model's calls is a false alarm on an honest device") {
  const TemporaryFolder folder;
  for (const fs::path& model : models()) {
    const CaptureResult captured = capture_file(model);
    INFO(model.filename());
    Session session(
        {.device = "sim:" + folder.write("honest.yaml", device_file("split_k:8")).string()});
    const auto counts = run_all(session, session.plan(captured.specs));
    CHECK(counts.at(Status::pass) > 100);
  }
}
