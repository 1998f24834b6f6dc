// Closing line and exit codes: docs/design.md section 4.
#include "lib/judge/summary.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

using namespace opreplay;

namespace {
Summary counted(int pass, int substitute, int blocked, int pending, int invalid = 0) {
  Summary s;
  for (int i = 0; i < pass; ++i) s.add(Status::pass);
  for (int i = 0; i < substitute; ++i) s.add(Status::substitute);
  for (int i = 0; i < blocked; ++i) s.add(Status::blocked);
  for (int i = 0; i < pending; ++i) s.add(Status::pending);
  for (int i = 0; i < invalid; ++i) s.add(Status::invalid);
  return s;
}
}  // namespace

TEST_CASE("the closing line, to the letter") {
  Summary s = counted(3, 1, 2, 4, 5);
  s.seconds = 1.24;
  CHECK(closing_line(s) ==
        "cases:10 pass:3 substitute:1 blocked:2 pending:4 (invalid:5) time:1.2s");
  CHECK(closing_line(Summary{}) ==
        "cases:0 pass:0 substitute:0 blocked:0 pending:0 (invalid:0) time:0.0s");
}

TEST_CASE("a summary whose parts do not sum is refused") {
  Summary s = counted(2, 0, 0, 0);
  s.cases = 3;
  CHECK_THROWS_AS(closing_line(s), Error);
}

TEST_CASE("cases that never ran are pending") {
  Summary s = counted(2, 0, 0, 0);
  s.add_not_run(3);
  CHECK(s.cases == 5);
  CHECK(s.pending == 3);
  CHECK(exit_code(s, {}) == ExitCode::incomplete);
}

TEST_CASE("exit code of what was counted") {
  CHECK(exit_code(counted(3, 0, 0, 0), {}) == ExitCode::ok);
  CHECK(exit_code(counted(3, 0, 0, 0, 9), {}) == ExitCode::ok);
  CHECK(exit_code(counted(3, 1, 1, 1), {}) == ExitCode::blocked);
  CHECK(exit_code(counted(3, 1, 0, 0), {}) == ExitCode::incomplete);
  CHECK(exit_code(counted(3, 0, 0, 1), {}) == ExitCode::incomplete);
  CHECK(exit_code(counted(0, 0, 0, 0), {}) == ExitCode::nothing_selected);
  CHECK(exit_code(counted(0, 0, 0, 0, 4), {}) == ExitCode::nothing_selected);
}

TEST_CASE("failures of the run itself come before what it counted") {
  RunEnd end;
  end.interrupted = end.internal_error = end.output_failed = end.device_missing = true;
  const Summary s = counted(1, 1, 1, 1);
  CHECK(static_cast<int>(exit_code(s, end)) == 130);
  end.interrupted = false;
  CHECK(static_cast<int>(exit_code(s, end)) == 6);
  end.internal_error = false;
  CHECK(static_cast<int>(exit_code(s, end)) == 8);
  end.output_failed = false;
  CHECK(static_cast<int>(exit_code(s, end)) == 4);
  end.device_missing = false;
  CHECK(static_cast<int>(exit_code(s, end)) == 1);
  end.output_failed = true;
  CHECK(static_cast<int>(exit_code(Summary{}, end)) == 8);
}

TEST_CASE("--allow lifts pending and substitute, never blocked") {
  RunEnd end;
  parse_allow("pending", end);
  CHECK(exit_code(counted(1, 0, 0, 1), end) == ExitCode::ok);
  CHECK(exit_code(counted(1, 1, 0, 1), end) == ExitCode::incomplete);
  parse_allow("substitute,pending", end);
  CHECK(exit_code(counted(1, 1, 0, 1), end) == ExitCode::ok);
  CHECK(exit_code(counted(1, 1, 1, 1), end) == ExitCode::blocked);
  for (const char* word : {"", "blocked", "pending,", "Pending"})
    CHECK_THROWS_AS(parse_allow(word, end), Error);
}

TEST_CASE("known failures count in the line, not in the code") {
  Summary s = counted(1, 0, 0, 0);
  s.add(Status::blocked, true);
  s.add(Status::pending, true);
  s.add(Status::substitute, true);
  s.add(Status::pass, true);
  CHECK(closing_line(s).starts_with("cases:5 pass:2 substitute:1 blocked:1 pending:1"));
  CHECK(exit_code(s, {}) == ExitCode::ok);
  s.add(Status::blocked);
  CHECK(exit_code(s, {}) == ExitCode::blocked);
}

TEST_CASE("property: the parts always sum, and only passes give 0 without leave") {
  REQUIRE(rc::check([](const std::vector<std::uint8_t>& statuses) {
    Summary s;
    bool all_pass = true, any = false;
    for (const auto raw : statuses) {
      const auto status = static_cast<Status>(raw % 5);
      s.add(status);
      if (status == Status::invalid) continue;
      any = true;
      all_pass = all_pass && status == Status::pass;
    }
    closing_line(s);
    RC_ASSERT(static_cast<std::size_t>(s.cases + s.invalid) == statuses.size());
    RC_ASSERT((exit_code(s, {}) == ExitCode::ok) == (any && all_pass));
  }));
}
