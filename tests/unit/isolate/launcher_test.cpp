// The launcher: what is said when it cannot start, what remains when it or the supervisor dies.

#include <fcntl.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lib/isolate/clock.h"
#include "opreplay/error.h"
#include "tests/unit/isolate/support.h"

using namespace opreplay;
using namespace opreplay::test;
using Catch::Contains;

namespace {

/// Code and text of the Error that making a supervisor throws.
std::pair<ExitCode, std::string> refusal(const Profile& profile, const SupervisorOptions& options) {
  try {
    Supervisor supervisor(profile, options);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ExitCode::ok, "no error"};
}

std::vector<pid_t> children_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  return {std::istream_iterator<pid_t>(file), {}};
}

}  // namespace

TEST_CASE("a device that does not load is said with the loader's text") {
  SupervisorOptions options = fake_options();
  SECTION("the library's own text") {
    const auto [code, text] = refusal(fake_profile("test:fail"), options);
    CHECK(code == ExitCode::device_missing);
    CHECK(text == "libvendor.so: cannot open shared object file");
  }
  SECTION("no worker library") {
    options.worker = "/nowhere/libworker.so";
    const auto [code, text] = refusal(fake_profile(), options);
    CHECK(code == ExitCode::device_missing);
    CHECK_THAT(text, Contains("/nowhere/libworker.so") && Contains("No such file"));
  }
  SECTION("a file that is no library") {
    options.worker = OPREPLAY_TEXT_FILE;
    const auto [code, text] = refusal(fake_profile(), options);
    CHECK(code == ExitCode::device_missing);
    CHECK_THAT(text, Contains(OPREPLAY_TEXT_FILE));
  }
  SECTION("a library that is no worker") {
    options.worker = OPREPLAY_NO_WORKER;
    const auto [code, text] = refusal(fake_profile(), options);
    CHECK(code == ExitCode::device_missing);
    CHECK_THAT(text, Contains("it has no opreplay_worker_load"));
  }
  SECTION("a crash while loading") {
    const auto [code, text] = refusal(fake_profile("test:abort"), options);
    CHECK(code == ExitCode::device_missing);
    CHECK_THAT(text, Contains("signal 6") && Contains("terminate called by a static constructor"));
  }
  SECTION("a hang while loading") {
    options.load_timeout_s = 0.2;
    const auto [code, text] = refusal(fake_profile("test:hang"), options);
    CHECK(code == ExitCode::device_missing);
    CHECK_THAT(text, Contains("did not finish loading in time"));
  }
}

TEST_CASE("a launcher that cannot be executed is an internal error that names it") {
  SupervisorOptions options = fake_options();
  options.launcher = "/nowhere/opreplay-launcher";
  const auto [code, text] = refusal(fake_profile(), options);
  CHECK(code == ExitCode::internal);
  CHECK_THAT(text, Contains("/nowhere/opreplay-launcher") && Contains("No such file"));
}

TEST_CASE("a launcher that dies during a case loses that case only") {
  Supervisor supervisor(fake_profile(), fake_options());
  for (int i = 0; i < 5; ++i) {
    const Outcome lost = supervisor.run(wish("test.kill_launcher"));
    CHECK(lost.ending == Ending::lost);
    CHECK(lost.stage == Stage::launch);
    REQUIRE(lost.notes.size() == 1);
    CHECK(lost.notes[0] == "the launcher was killed by signal 9 (Killed)");
    CHECK(supervisor.run(wish("test.echo", i)).input_hash == static_cast<std::uint64_t>(i));
  }
}

TEST_CASE("a launcher that dies between cases is started again unnoticed") {
  Supervisor supervisor(fake_profile(), fake_options());
  const pid_t launcher = std::stoi(line(supervisor.identity(), "parent"));
  const Watched watched(launcher);
  REQUIRE(kill(launcher, SIGKILL) == 0);
  REQUIRE(watched.ends());
  CHECK(supervisor.run(wish("test.echo", 3)).input_hash == 3);
  CHECK(std::stoi(line(supervisor.identity(), "parent")) != launcher);
}

TEST_CASE("a launcher that cannot be started again makes every further case lost") {
  const auto mark = std::filesystem::temp_directory_path() /
                    ("opreplay-launcher-test-" + std::to_string(getpid()));
  std::filesystem::remove(mark);
  Supervisor supervisor(fake_profile("test:once:" + mark.string()), fake_options());
  CHECK(supervisor.run(wish("test.kill_launcher")).ending == Ending::lost);
  for (int i = 0; i < 4; ++i) {
    const Outcome lost = supervisor.run(wish("test.echo"));
    CHECK(lost.ending == Ending::lost);
    REQUIRE(lost.notes.size() == 1);
    CHECK_THAT(lost.notes[0], Contains("killed by signal 9") && Contains("the device is gone"));
  }
  CHECK_THROWS_AS(supervisor.identity(), Error);
  std::filesystem::remove(mark);
}

TEST_CASE("workers that do not get ready make a case lost, with the reason") {
  Profile profile = fake_profile("test:fail_in_worker");
  profile.fork = false;
  SECTION("by their own text") {
    Supervisor supervisor(profile, fake_options());
    const Outcome lost = supervisor.run(wish("test.echo"));
    CHECK(lost.ending == Ending::lost);
    REQUIRE(lost.notes.size() == 1);
    CHECK_THAT(lost.notes[0], Contains("libvendor.so: cannot open shared object file"));
  }
  SECTION("by a crash") {
    profile.torch_device = "test:abort_in_worker";
    Supervisor supervisor(profile, fake_options());
    const Outcome lost = supervisor.run(wish("test.echo"));
    CHECK(lost.ending == Ending::lost);
    REQUIRE(lost.notes.size() == 1);
    CHECK_THAT(lost.notes[0], Contains("signal 6") && Contains("static constructor"));
  }
}

TEST_CASE("a supervisor that is killed leaves no process behind") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const Fd from_child(ends[0]), to_parent(ends[1]);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Supervisor supervisor(fake_profile(), fake_options());
    const std::string identity = supervisor.identity();
    const pid_t report[] = {
        std::stoi(line(identity, "parent")), std::stoi(line(identity, "process")),
        static_cast<pid_t>(supervisor.run(wish("test.grandchild")).output_hash)};
    if (write(to_parent.get(), report, sizeof report) != sizeof report) _exit(1);
    supervisor.run(wish("test.ignore_term"));
    _exit(1);
  }
  pid_t report[3];
  REQUIRE(read(from_child.get(), report, sizeof report) == sizeof report);
  std::vector<Watched> left;
  for (const pid_t process : report) left.emplace_back(process);
  // The worker once more, and its spare if the launcher has come to start it.
  for (const pid_t process : children_of(report[0])) left.emplace_back(process);
  REQUIRE(left.size() >= 4);
  for (const Watched& process : left) REQUIRE(process.exists());
  REQUIRE(kill(child, SIGKILL) == 0);
  for (const Watched& process : left) CHECK(process.ends());
  CHECK(waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a supervisor that is destroyed leaves no process behind") {
  std::vector<Watched> left;
  {
    Supervisor supervisor(fake_profile(), fake_options());
    const pid_t launcher = std::stoi(line(supervisor.identity(), "parent"));
    left.emplace_back(launcher);
    left.emplace_back(static_cast<pid_t>(supervisor.run(wish("test.grandchild")).output_hash));
    for (const pid_t process : children_of(launcher)) left.emplace_back(process);
    REQUIRE(left.size() >= 3);
    for (const Watched& process : left) REQUIRE(process.exists());
  }
  for (const Watched& process : left) CHECK(process.ends());
}

TEST_CASE("started by hand the launcher says what it is") {
  std::FILE* pipe = popen((std::string(OPREPLAY_LAUNCHER) + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char text[200] = "";
  CHECK(std::fgets(text, sizeof text, pipe) != nullptr);
  CHECK(std::string(text) == "opreplay-launcher: started by opreplay, not by hand\n");
  CHECK(WEXITSTATUS(pclose(pipe)) == 2);
}
