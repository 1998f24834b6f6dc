// A worker library without torch: what it does with a request is the request's own wish. The name
// of the last call says what, its first argument how much.

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lib/base/launcher_protocol.h"
#include "lib/base/request.h"
#include "lib/base/worker_abi.h"
#include "lib/base/worker_protocol.h"

namespace {

using namespace opreplay;

pid_t loaded_in = 0;  // the process that loaded the library
int socket_of_worker = -1;

[[noreturn]] void wait_for_ever() {
  for (;;) pause();
}

void crash(int signal) {
  if (signal == SIGABRT) std::abort();
  if (signal == SIGSEGV) {
    // A page that nobody may touch; a null pointer would only meet the sanitizer's check.
    void* forbidden = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile int*>(forbidden) = 1;
  }
  kill(getpid(), signal);
  wait_for_ever();
}

void print_lines(std::int64_t bytes) {
  std::string line(99, 'x');
  line += '\n';
  for (std::int64_t done = 0; done < bytes; done += 100) std::fputs(line.c_str(), stderr);
  std::fputs("the last line\n", stderr);
}

pid_t start_grandchild() {
  const pid_t child = fork();
  if (child == 0) wait_for_ever();
  return child;
}

std::int64_t number(const OpCall& call) {
  return call.args.empty() ? 0 : *call.args.front().value.get<std::int64_t>();
}

class FakeHandler : public WorkerHandler {
 public:
  std::vector<std::byte> handle(MessageKind kind, std::span<const std::byte> payload,
                                Journal& journal) override {
    if (kind == MessageKind::identity) return identity();
    if (kind != MessageKind::replay) return {payload.begin(), payload.end()};
    const ReplayRequest request = decode_request(payload);
    return encode(replay(request.calls.back().op, number(request.calls.back()), journal));
  }

 private:
  static std::vector<std::byte> identity() {
    const char* nonce = std::getenv(k_nonce_variable);
    const char* setting = std::getenv("FAKE_SETTING");
    const char* sim_file = std::getenv("OPREPLAY_SIM_FILE");
    const std::string text =
        "process: " + std::to_string(getpid()) + "\nparent: " + std::to_string(getppid()) +
        "\nloaded in: " + std::to_string(loaded_in) + "\ngroup: " + std::to_string(getpgrp()) +
        "\nnonce: " + nonce + "\nsetting: " + (setting == nullptr ? "none" : setting) +
        "\nsim file: " + (sim_file == nullptr ? "none" : sim_file) + "\n";
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  static Outcome replay(std::string_view op, std::int64_t argument, Journal& journal) {
    Outcome outcome;
    outcome.kernel = op;
    outcome.input_hash = static_cast<std::uint64_t>(argument);
    outcome.stage = Stage::done;
    if (op == "test.echo") return outcome;
    journal.enter(Stage::launch);
    if (op == "test.crash") crash(static_cast<int>(argument));
    if (op == "test.exit") std::exit(static_cast<int>(argument));
    if (op == "test.throw") throw std::runtime_error("thrown by the fake handler");
    if (op == "test.stderr") print_lines(argument);
    if (op == "test.stderr_crash") {
      print_lines(argument);
      crash(SIGSEGV);
    }
    if (op == "test.stdout_crash") {
      std::printf("printed to standard output\n");
      crash(SIGSEGV);
    }
    if (op == "test.bytes_crash") {
      std::fputs("good \xc3\xa9, bad \xff\xc3.\n", stderr);
      crash(SIGABRT);
    }
    if (op == "test.stage") {
      journal.enter(static_cast<Stage>(argument));
      crash(SIGKILL);
    }
    if (op == "test.hang") wait_for_ever();
    if (op == "test.ignore_term") {
      std::signal(SIGTERM, SIG_IGN);
      wait_for_ever();
    }
    if (op == "test.grandchild")
      outcome.output_hash = static_cast<std::uint64_t>(start_grandchild());
    if (op == "test.kill_launcher") {
      kill(getppid(), SIGKILL);
      wait_for_ever();
    }
    if (op == "test.torn") {
      const FrameHeader header{0x4f505231, 1, 100};
      send(socket_of_worker, &header, sizeof header, 0);
      _exit(9);
    }
    if (op == "test.garbage") {
      send(socket_of_worker, "this is no frame at all", 23, 0);
      wait_for_ever();
    }
    if (op == "test.answer_twice") {
      write_message(socket_of_worker, MessageKind::replay, encode(outcome));
      _exit(9);
    }
    if (op == "test.wrong_kind") {
      write_message(socket_of_worker, MessageKind::schemas, {});
      wait_for_ever();
    }
    return outcome;
  }
};

void give(const char* text, char* error, std::size_t size) {
  std::snprintf(error, size, "%s", text);
}

}  // namespace

int opreplay_worker_load(const char* config, char* error, std::size_t error_size) {
  loaded_in = getpid();
  const std::string device = config_value(config, "device");
  const bool executed_anew = std::getenv(k_nonce_variable) != nullptr;
  if (device == "test:fail" || (device == "test:fail_in_worker" && executed_anew)) {
    give("libvendor.so: cannot open shared object file", error, error_size);
    return 1;
  }
  if (device == "test:abort" || (device == "test:abort_in_worker" && executed_anew)) {
    std::fputs("terminate called by a static constructor\n", stderr);
    std::abort();
  }
  if (device == "test:hang") wait_for_ever();
  // Once is fine, a second time is not: what a launcher meets that is started again.
  if (device.starts_with("test:once:")) {
    const std::string mark = device.substr(std::strlen("test:once:"));
    if (std::FILE* made = std::fopen(mark.c_str(), "wx")) {
      std::fclose(made);
      return 0;
    }
    give("the device is gone", error, error_size);
    return 1;
  }
  return 0;
}

int opreplay_worker_serve(int socket_fd, int journal_fd) {
  socket_of_worker = socket_fd;
  FakeHandler handler;
  return serve_process(socket_fd, journal_fd, handler);
}
