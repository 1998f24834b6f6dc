// What the supervisor makes of each way a worker can end. Expected signals, codes and stages are
// those the request asks the fake worker for.

#include "lib/isolate/supervisor.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "lib/isolate/clock.h"
#include "opreplay/error.h"
#include "tests/unit/isolate/support.h"

using namespace opreplay;
using namespace opreplay::test;

namespace {

pid_t process_of(Supervisor& supervisor) {
  return std::stoi(line(supervisor.identity(), "process"));
}

/// Long enough for a worker on a busy machine to reach the place where it hangs.
constexpr double k_deadline_s = 0.3;

bool answers(Supervisor& supervisor) {
  return supervisor.exchange(MessageKind::replay, encode(wish("test.echo")), k_patience_s).ending ==
         Ending::answered;
}

}  // namespace

TEST_CASE("an answer comes back whole, again and again from one worker") {
  Supervisor supervisor(fake_profile(), fake_options());
  CHECK(supervisor.workers_started() == 0);
  for (int i = 1; i <= 100; ++i) {
    const Outcome outcome = supervisor.run(wish("test.echo", i));
    REQUIRE(outcome.ending == Ending::answered);
    REQUIRE(outcome.input_hash == static_cast<std::uint64_t>(i));
    REQUIRE(outcome.stage == Stage::done);
  }
  CHECK(supervisor.workers_started() == 1);
}

TEST_CASE("a crash is an outcome with its signal and stage") {
  Supervisor supervisor(fake_profile(), fake_options());
  for (const int signal : {SIGSEGV, SIGABRT, SIGKILL, SIGFPE, SIGBUS, SIGILL}) {
    const Outcome outcome = supervisor.run(wish("test.crash", signal));
    CHECK(outcome.ending == Ending::crashed);
    CHECK(outcome.signal == signal);
    CHECK(outcome.stage == Stage::launch);
  }
  CHECK(supervisor.workers_started() == 6);
}

TEST_CASE("an exit is an outcome with its code") {
  Supervisor supervisor(fake_profile(), fake_options());
  for (const int code : {0, 3, 255}) {
    const Outcome outcome = supervisor.run(wish("test.exit", code));
    CHECK(outcome.ending == Ending::exited);
    CHECK(outcome.exit_code == code);
  }
}

TEST_CASE("an exception in the worker is no exit of the device, whatever the code") {
  Supervisor supervisor(fake_profile(), fake_options());
  const Outcome exits = supervisor.run(wish("test.exit", 70));
  CHECK(exits.ending == Ending::exited);
  CHECK(exits.exit_code == 70);
  const Outcome thrown = supervisor.run(wish("test.throw"));
  CHECK(thrown.ending == Ending::lost);
  CHECK(thrown.output_tail == "opreplay worker: thrown by the fake handler\n");
}

TEST_CASE("the stage is the last one the worker noted") {
  Supervisor supervisor(fake_profile(), fake_options());
  for (const Stage stage : {Stage::inputs, Stage::reference, Stage::copy_in, Stage::launch,
                            Stage::synchronise, Stage::copy_back, Stage::compare, Stage::done})
    CHECK(supervisor.run(wish("test.stage", static_cast<std::int64_t>(stage))).stage == stage);
  // No stage has this number: a journal that was scribbled over.
  CHECK(supervisor.run(wish("test.stage", 200)).stage == Stage::queued);
}

TEST_CASE("a crash of one case is no trouble for the next") {
  Supervisor supervisor(fake_profile(), fake_options());
  int crashed = 0, answered = 0;
  for (int i = 0; i < 200; ++i) {
    const Outcome outcome =
        supervisor.run(i % 2 == 0 ? wish("test.crash", SIGSEGV) : wish("test.echo", i));
    if (i % 2 == 0)
      crashed += outcome.ending == Ending::crashed && outcome.signal == SIGSEGV ? 1 : 0;
    else
      answered +=
          outcome.ending == Ending::answered && outcome.input_hash == static_cast<std::uint64_t>(i)
              ? 1
              : 0;
  }
  CHECK(crashed == 100);
  CHECK(answered == 100);
  CHECK(supervisor.workers_started() == 101);
}

TEST_CASE("a hang ends at its deadline") {
  SupervisorOptions options = fake_options();
  options.timeout_s = k_deadline_s;
  Supervisor supervisor(fake_profile(), options);
  const auto start = Clock::now();
  const Outcome hung = supervisor.run(wish("test.hang"));
  CHECK(Clock::now() - start >= std::chrono::milliseconds(300));
  CHECK(hung.ending == Ending::hung);
  CHECK(hung.stage == Stage::launch);
  CHECK(hung.total_ms >= 300);
  CHECK(answers(supervisor));
}

TEST_CASE("a hang that ignores SIGTERM is killed after the grace period") {
  Supervisor supervisor(fake_profile(), fake_options());
  const Watched worker(process_of(supervisor));
  REQUIRE(worker.exists());
  const auto start = Clock::now();
  const Exchange hung =
      supervisor.exchange(MessageKind::replay, encode(wish("test.ignore_term")), k_deadline_s);
  // The deadline and 0.5 s of grace, docs/isolation.md.
  CHECK(Clock::now() - start >= std::chrono::milliseconds(800));
  CHECK(hung.ending == Ending::hung);
  CHECK(hung.stage == Stage::launch);
  CHECK(worker.ends());
  CHECK(answers(supervisor));
}

TEST_CASE("a stopped worker hangs too") {
  Supervisor supervisor(fake_profile(), fake_options());
  const Watched worker(process_of(supervisor));
  const Exchange hung =
      supervisor.exchange(MessageKind::replay, encode(wish("test.crash", SIGSTOP)), k_deadline_s);
  CHECK(hung.ending == Ending::hung);
  CHECK(worker.ends());
}

TEST_CASE("the tail of the output is kept and capped") {
  Supervisor supervisor(fake_profile(), fake_options());
  SECTION("10 MB") {
    const Outcome outcome = supervisor.run(wish("test.stderr_crash", 10'000'000));
    CHECK(outcome.ending == Ending::crashed);
    CHECK(outcome.output_tail.size() <= 4096);
    CHECK(outcome.output_tail.size() > 3900);
    CHECK(outcome.output_tail.starts_with(std::string(99, 'x') + "\n"));
    CHECK(outcome.output_tail.ends_with("\nthe last line\n"));
  }
  SECTION("of a worker that answers") {
    const Outcome outcome = supervisor.run(wish("test.stderr", 1'000'000));
    CHECK(outcome.ending == Ending::answered);
    CHECK(outcome.output_tail.ends_with("\nthe last line\n"));
  }
  SECTION("of one case only") {
    supervisor.run(wish("test.stderr", 1000));
    CHECK(supervisor.run(wish("test.echo")).output_tail.empty());
  }
  SECTION("of standard output, line by line") {
    CHECK(supervisor.run(wish("test.stdout_crash")).output_tail == "printed to standard output\n");
  }
  SECTION("as valid UTF-8") {
    CHECK(supervisor.run(wish("test.bytes_crash")).output_tail == "good \xc3\xa9, bad ??.\n");
  }
}

TEST_CASE("what a worker started ends with it") {
  Supervisor supervisor(fake_profile(), fake_options());
  const Outcome started = supervisor.run(wish("test.grandchild"));
  const Watched grandchild(static_cast<pid_t>(started.output_hash));
  REQUIRE(grandchild.exists());
  CHECK(grandchild.alive());
  // The grandchild holds the worker's socket open: the end must be seen nevertheless.
  CHECK(supervisor.run(wish("test.crash", SIGSEGV)).ending == Ending::crashed);
  CHECK(grandchild.ends());
}

TEST_CASE("a worker that dies between cases is not blamed on the next") {
  Supervisor supervisor(fake_profile(), fake_options());
  const pid_t process = process_of(supervisor);
  REQUIRE(kill(process, SIGKILL) == 0);
  const Outcome outcome = supervisor.run(wish("test.echo", 3));
  CHECK(outcome.ending == Ending::answered);
  CHECK(outcome.input_hash == 3);
  CHECK(supervisor.workers_started() == 2);
}

TEST_CASE("a torn answer is the end of the worker, garbage a loss") {
  Supervisor supervisor(fake_profile(), fake_options());
  const Outcome torn = supervisor.run(wish("test.torn"));
  CHECK(torn.ending == Ending::exited);
  CHECK(torn.exit_code == 9);
  const Outcome garbage = supervisor.run(wish("test.garbage"));
  CHECK(garbage.ending == Ending::lost);
  REQUIRE(garbage.notes.size() == 1);
  CHECK(garbage.notes[0].find("malformed frame") != std::string::npos);
  const Outcome kind = supervisor.run(wish("test.wrong_kind"));
  CHECK(kind.ending == Ending::lost);
  REQUIRE(kind.notes.size() == 1);
  CHECK(kind.notes[0].find("another kind") != std::string::npos);
  CHECK(supervisor.run(wish("test.echo", 4)).input_hash == 4);
}

TEST_CASE("a worker that answers and then dies has answered") {
  Supervisor supervisor(fake_profile(), fake_options());
  for (int i = 0; i < 20; ++i)
    REQUIRE(supervisor.run(wish("test.answer_twice", i)).input_hash ==
            static_cast<std::uint64_t>(i));
  CHECK(supervisor.run(wish("test.echo", 4)).input_hash == 4);
}

TEST_CASE("64 MB go there and back") {
  Supervisor supervisor(fake_profile(), fake_options());
  std::vector<std::byte> payload(std::size_t{64} << 20);
  for (std::size_t i = 0; i < payload.size(); i += 997) payload[i] = std::byte(i % 251);
  const Exchange exchange = supervisor.exchange(MessageKind::run_graph, payload);
  REQUIRE(exchange.ending == Ending::answered);
  REQUIRE(exchange.payload.size() == payload.size());
  CHECK(std::memcmp(exchange.payload.data(), payload.data(), payload.size()) == 0);
}

TEST_CASE("an exchange tells a crash") {
  Supervisor supervisor(fake_profile(), fake_options());
  const Exchange crash =
      supervisor.exchange(MessageKind::replay, encode(wish("test.crash", SIGSEGV)));
  CHECK(crash.ending == Ending::crashed);
  CHECK(describe(crash) == "the worker was killed by signal 11 (Segmentation fault)");
  const Exchange hang = supervisor.exchange(MessageKind::replay, encode(wish("test.hang")), 0.1);
  CHECK(hang.ending == Ending::hung);
}

TEST_CASE("an interrupt ends the case at once") {
  Supervisor supervisor(fake_profile(), fake_options());
  const Watched worker(process_of(supervisor));
  int asked = 0;
  const Outcome outcome = supervisor.run(wish("test.hang"), [&] { return ++asked > 3; });
  CHECK(outcome.ending == Ending::lost);
  CHECK(outcome.notes == std::vector<std::string>{"interrupted"});
  CHECK(worker.ends());
  CHECK(asked == 4);
  CHECK(supervisor.run(wish("test.echo", 6)).input_hash == 6);
}

TEST_CASE("workers are recycled after so many cases") {
  SupervisorOptions options = fake_options();
  options.recycle_after = 3;
  options.nonce = 1000;
  Supervisor supervisor(fake_profile(), options);
  CHECK(supervisor.nonce() == 0);
  std::vector<std::uint64_t> nonces;
  for (int i = 0; i < 9; ++i) {
    CHECK(supervisor.run(wish("test.echo", i)).ending == Ending::answered);
    nonces.push_back(supervisor.nonce());
  }
  CHECK(nonces == std::vector<std::uint64_t>{1001, 1001, 1001, 1002, 1002, 1002, 1003, 1003, 1003});
  CHECK(supervisor.workers_started() == 3);
}

TEST_CASE("a worker process has what it is promised") {
  Profile profile = fake_profile();
  profile.env["FAKE_SETTING"] = "from the profile";
  SupervisorOptions options = fake_options();
  options.nonce = 41;
  // Inherited settings of the simulated device are not passed on.
  setenv("OPREPLAY_SIM_FILE", "/somewhere/faults.yaml", 1);
  for (const bool forked : {true, false}) {
    profile.fork = forked;
    Supervisor supervisor(profile, options);
    const std::string identity = supervisor.identity();
    CHECK(line(identity, "nonce") == "42");
    CHECK(supervisor.nonce() == 42);
    CHECK(line(identity, "setting") == "from the profile");
    CHECK(line(identity, "sim file") == "none");
    CHECK(line(identity, "group") == line(identity, "process"));
    CHECK(line(identity, "loaded in") == line(identity, forked ? "parent" : "process"));
  }
  unsetenv("OPREPLAY_SIM_FILE");
}

TEST_CASE("workers that are executed anew crash and hang like others") {
  Profile profile = fake_profile();
  profile.fork = false;
  Supervisor supervisor(profile, fake_options());
  CHECK(supervisor.run(wish("test.crash", SIGSEGV)).signal == SIGSEGV);
  CHECK(supervisor.run(wish("test.echo", 7)).input_hash == 7);
  CHECK(supervisor.exchange(MessageKind::replay, encode(wish("test.hang")), 0.05).ending ==
        Ending::hung);
  CHECK(supervisor.run(wish("test.stderr_crash", 1000)).output_tail.ends_with("the last line\n"));
  CHECK(supervisor.run(wish("test.echo", 8)).input_hash == 8);
}

TEST_CASE("a supervisor outlives the thread that made it") {
  std::unique_ptr<Supervisor> supervisor;
  std::thread([&] {
    supervisor = std::make_unique<Supervisor>(fake_profile(), fake_options());
    supervisor->run(wish("test.echo"));
  }).join();
  for (int i = 0; i < 20; ++i)
    REQUIRE(supervisor->run(wish("test.echo", i)).ending == Ending::answered);
  CHECK(supervisor->workers_started() == 1);
}
