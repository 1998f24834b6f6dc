#pragma once
/// Op-specs as Catch2 tests, for Catch2 v2 and v3. Include it after Catch2's own header.
///
///   #include <catch2/catch.hpp>           // v3: <catch2/catch_all.hpp>
///   #include <opreplay/adapters/catch2.h>
///   OPREPLAY_TEST_CASE("softmax", "specs/aten.softmax.int.yaml", "mydevice")
///
/// Every planned case is a section named by its case string. Only a pass passes: blocked,
/// substitute and pending fail with verdict, worst elements and repro line. Invalid cases (the CPU
/// rejects them as well) and failures that the spec declares as known count as nothing.

#include <opreplay/session.h>

#include <exception>
#include <map>
#include <memory>
#include <string>

namespace opreplay::adapters {

/// One session per device for the whole test program: workers stay warm between tests.
inline Session& shared_session(const std::string& device) {
  static std::map<std::string, std::unique_ptr<Session>> sessions;
  auto& session = sessions[device];
  if (!session) {
    SessionOptions options;
    options.device = device;
    session = std::make_unique<Session>(std::move(options));
  }
  return *session;
}

/// The cases of a spec file, a folder of them or a single case string.
inline Plan plan_of(Session& session, const std::string& what) {
  if (what.find('(') == std::string::npos) return session.plan(load_specs(what));
  Plan plan;
  plan.cases.push_back(session.parse(what));
  return plan;
}

/// What to report for one case: empty for a pass or an invalid case.
inline std::string problem_of(Session& session, const PlannedCase& planned) {
  const CaseResult result = session.run(planned);
  const bool fine = result.verdict.status == Status::pass ||
                    result.verdict.status == Status::invalid || !result.known.empty();
  return fine ? std::string() : failure_text(result);
}

}  // namespace opreplay::adapters

/// One test for everything `WHAT` names (a spec file, a folder or a case string) on `DEVICE`.
#define OPREPLAY_TEST_CASE(NAME, WHAT, DEVICE)                                      \
  TEST_CASE(NAME) {                                                                 \
    opreplay::Session& session = opreplay::adapters::shared_session(DEVICE);        \
    const opreplay::Plan plan = opreplay::adapters::plan_of(session, WHAT);         \
    REQUIRE_FALSE(plan.cases.empty());                                              \
    for (const opreplay::PlannedCase& planned : plan.cases) {                       \
      const std::string problem = opreplay::adapters::problem_of(session, planned); \
      if (problem.empty()) {                                                        \
        SUCCEED(planned.text);                                                      \
      } else {                                                                      \
        FAIL_CHECK(problem);                                                        \
      }                                                                             \
    }                                                                               \
  }                                                                                 \
  static_assert(true, "a semicolon may follow")
