#include "lib/isolate/worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "opreplay/error.h"

namespace opreplay {
namespace {

[[noreturn]] void fail_errno(const char* what) {
  throw Error(ExitCode::internal, std::string(what) + ": " + std::strerror(errno));
}

Fd make_socket(Fd& far) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    fail_errno("cannot make a worker's socket");
  far = Fd(ends[1]);
  return Fd(ends[0]);
}

Fd make_output(Fd& far) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail_errno("cannot make a worker's output pipe");
  far = Fd(ends[1]);
  return Fd(ends[0]);
}

/// Sealed against a worker gone wild: a page that shrinks would kill the supervisor by SIGBUS.
int make_journal(Fd& far) {
  far = Fd(memfd_create("opreplay-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!far || ftruncate(far.get(), k_journal_bytes) != 0 ||
      fcntl(far.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail_errno("cannot make a worker's journal page");
  return far.get();
}

}  // namespace

Worker::Worker(std::uint64_t number, FarEnds& far)
    : number_(number),
      socket_(make_socket(far[0])),
      output_(make_output(far[2])),
      journal_(make_journal(far[1])) {}

void Worker::read_hello() {
  switch (read_answer()) {
    case FrameReader::State::complete: {
      const Message hello = reader_.take();
      const auto* text = reinterpret_cast<const char*>(hello.payload.data());
      if (hello.kind == MessageKind::hello && hello.payload.empty())
        ready_ = true;
      else
        failure_ = std::string(text, hello.payload.size());
      return;
    }
    case FrameReader::State::incomplete:
    case FrameReader::State::closed:
    case FrameReader::State::torn:
      return;
  }
}

void Worker::begin_request() {
  output_.drain();
  output_.clear();
  ++requests_;
  writing_ = true;
}

Stage Worker::stage() const {
  if (!has_begun()) return Stage::queued;
  // A worker gone wild may have written anything there.
  const std::uint32_t stage = journal_.page()->stage.load();
  return stage <= static_cast<std::uint32_t>(Stage::done) ? static_cast<Stage>(stage)
                                                          : Stage::queued;
}

FrameReader::State Worker::read_answer() {
  if (!socket_) return FrameReader::State::closed;
  try {
    const FrameReader::State state = reader_.read(socket_.get(), Waiting::never);
    if (state == FrameReader::State::closed || state == FrameReader::State::torn) socket_.reset();
    return state;
  } catch (const Error& error) {
    failure_ = std::string("the worker sent what is no answer: ") + error.what();
    socket_.reset();
    return FrameReader::State::closed;
  }
}

void Worker::write_request(FrameWriter& writer) {
  try {
    if (!socket_ || writer.write(socket_.get(), Waiting::never)) writing_ = false;
  } catch (const Error&) {
    // Dead, or about to be: the launcher reports it, or the deadline passes. What it may have
    // answered before is still to be read.
    writing_ = false;
  }
}

}  // namespace opreplay
