#include "lib/base/worker_protocol.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "opreplay/error.h"

namespace opreplay {
namespace {

constexpr std::uint32_t k_magic = 0x4f505231;  // "OPR1"
constexpr int k_exit_exception = 70;           // EX_SOFTWARE of sysexits.h

// A payload's memory grows as bytes arrive: a false length costs no memory.
constexpr std::size_t k_first_piece = std::size_t{1} << 20;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "the journal is shared between processes");
static_assert(sizeof(JournalPage) <= k_journal_bytes);

[[noreturn]] void fail(const std::string& what) { throw Error(ExitCode::internal, what); }

[[noreturn]] void fail_errno(const std::string& what) {
  fail(what + ": " + std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
}

}  // namespace

JournalMapping::JournalMapping(int fd) {
  void* memory = ::mmap(nullptr, k_journal_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) fail_errno("cannot map the worker's journal page");
  // The page is zero when made and may already be in use by the other side: no construction here.
  page_ = static_cast<JournalPage*>(memory);
}

JournalMapping::JournalMapping(JournalMapping&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)) {}

JournalMapping& JournalMapping::operator=(JournalMapping&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}

JournalMapping::~JournalMapping() {
  if (page_ != nullptr) ::munmap(page_, k_journal_bytes);
}

FrameReader::State FrameReader::read(int fd, Waiting waiting) {
  const int flags = waiting == Waiting::never ? MSG_DONTWAIT : 0;
  for (;;) {
    const bool in_header = header_got_ < sizeof header_;
    if (!in_header && payload_got_ == header_.length) return State::complete;
    if (!in_header && payload_got_ == payload_.size())
      payload_.resize(
          std::min<std::size_t>(header_.length, std::max(k_first_piece, payload_.size() * 2)));
    std::byte* const to = in_header ? reinterpret_cast<std::byte*>(&header_) + header_got_
                                    : payload_.data() + payload_got_;
    const std::size_t wanted =
        in_header ? sizeof header_ - header_got_ : payload_.size() - payload_got_;
    const ssize_t got = ::recv(fd, to, wanted, flags);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::incomplete;
    // ECONNRESET is how the end of a process with unread requests shows.
    if (got < 0 && errno != ECONNRESET) fail_errno("cannot read a frame");
    if (got <= 0) return header_got_ == 0 ? State::closed : State::torn;
    (in_header ? header_got_ : payload_got_) += static_cast<std::size_t>(got);
    if (in_header && header_got_ == sizeof header_) take_header();
  }
}

void FrameReader::take_header() {
  if (header_.magic != k_magic) fail("malformed frame: it does not begin with the frame mark");
  if (header_.length > max_bytes_)
    fail("frame too large: " + std::to_string(header_.length) + " bytes, at most " +
         std::to_string(max_bytes_) + " are taken");
}

Message FrameReader::take() {
  Message message{static_cast<MessageKind>(header_.kind), std::move(payload_)};
  header_ = {};
  header_got_ = payload_got_ = 0;
  payload_.clear();
  return message;
}

FrameWriter::FrameWriter(MessageKind kind, std::span<const std::byte> payload)
    : header_{k_magic, static_cast<std::uint32_t>(kind), payload.size()}, payload_(payload) {}

bool FrameWriter::write(int fd, Waiting waiting) {
  const int flags = MSG_NOSIGNAL | (waiting == Waiting::never ? MSG_DONTWAIT : 0);
  while (sent_ < sizeof header_ + payload_.size()) {
    const std::size_t header_sent = std::min(sent_, sizeof header_);
    const std::size_t payload_sent = sent_ - header_sent;
    iovec parts[2] = {
        {reinterpret_cast<std::byte*>(&header_) + header_sent, sizeof header_ - header_sent},
        {const_cast<std::byte*>(payload_.data()) + payload_sent, payload_.size() - payload_sent}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t sent = ::sendmsg(fd, &message, flags);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      fail_errno("cannot write a frame");
    }
    sent_ += static_cast<std::size_t>(sent);
  }
  return true;
}

void write_message(int fd, MessageKind kind, std::span<const std::byte> payload) {
  FrameWriter writer(kind, payload);
  while (!writer.write(fd, Waiting::block)) {
  }
}

bool read_message(int fd, Message& message, std::size_t max_bytes) {
  FrameReader reader(max_bytes);
  for (;;) {
    switch (reader.read(fd, Waiting::block)) {
      case FrameReader::State::complete:
        message = reader.take();
        return true;
      case FrameReader::State::closed:
        return false;
      case FrameReader::State::torn:
        fail("torn frame: the other side closed in the middle of it");
      case FrameReader::State::incomplete:
        break;
    }
  }
}

void serve(int fd, Journal journal, WorkerHandler& handler) {
  Message request;
  for (std::uint64_t sequence = 1; read_message(fd, request); ++sequence) {
    // The stage first: a reader who sees this number must not see the last request's stage.
    journal.enter(Stage::queued);
    journal.begin(sequence);
    write_message(fd, request.kind, handler.handle(request.kind, request.payload, journal));
  }
}

// The one place of this library that prints: standard error of a worker is what its supervisor
// collects.
int serve_process(int socket_fd, int journal_fd, WorkerHandler& handler) noexcept {
  try {
    const JournalMapping journal(journal_fd);
    try {
      serve(socket_fd, Journal(journal.page()), handler);
      return 0;
    } catch (...) {
      journal.page()->failed.store(1);
      throw;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "opreplay worker: %s\n", error.what());
  } catch (...) {
    std::fputs("opreplay worker: exception of unknown type\n", stderr);
  }
  return k_exit_exception;
}

}  // namespace opreplay
