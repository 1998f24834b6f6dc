// Frames, the control socket's packets, the journal. Bytes that are wrong on purpose are written
// by hand.

#include "lib/base/worker_protocol.h"

#include <fcntl.h>
#include <rapidcheck.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "lib/base/launcher_protocol.h"
#include "opreplay/error.h"

using namespace opreplay;
using Catch::Contains;

namespace {

struct Pair {
  Fd a, b;
};

Pair connected(int type) {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

void send_bytes(const Fd& to, const void* bytes, std::size_t size) {
  REQUIRE(send(to.get(), bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size));
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// "OPR1", the mark that frames begin with, as the number it is on this machine.
constexpr std::uint32_t k_mark = 0x4f505231;

}  // namespace

TEST_CASE("frames come back as they were written") {
  const Pair pair = connected(SOCK_STREAM);
  REQUIRE(rc::check("any payload, in order", [&](std::vector<std::uint8_t> data) {
    const auto payload = std::as_bytes(std::span(data));
    write_message(pair.a.get(), MessageKind::schemas, payload);
    write_message(pair.a.get(), MessageKind::identity, {});
    Message first, second;
    RC_ASSERT(read_message(pair.b.get(), first));
    RC_ASSERT(read_message(pair.b.get(), second));
    RC_ASSERT(first.kind == MessageKind::schemas);
    RC_ASSERT(
        std::equal(payload.begin(), payload.end(), first.payload.begin(), first.payload.end()));
    RC_ASSERT(second.kind == MessageKind::identity);
    RC_ASSERT(second.payload.empty());
  }));
}

TEST_CASE("a frame larger than the socket's buffer passes in pieces") {
  const Pair pair = connected(SOCK_STREAM);
  std::vector<std::byte> payload(5'000'001, std::byte{7});
  payload.back() = std::byte{9};
  FrameWriter writer(MessageKind::replay, payload);
  FrameReader reader;
  bool written = false;
  FrameReader::State state = FrameReader::State::incomplete;
  int turns = 0;
  while (state != FrameReader::State::complete) {
    REQUIRE(++turns < 1000);
    if (!written) written = writer.write(pair.a.get(), Waiting::never);
    state = reader.read(pair.b.get(), Waiting::never);
  }
  CHECK(written);
  CHECK(turns > 1);
  CHECK((reader.take().payload == payload));
  CHECK(reader.read(pair.b.get(), Waiting::never) == FrameReader::State::incomplete);
}

TEST_CASE("the end of a stream is clean between frames and torn inside one") {
  Pair pair = connected(SOCK_STREAM);
  Message message;
  SECTION("between frames") {
    pair.a.reset();
    CHECK_FALSE(read_message(pair.b.get(), message));
  }
  SECTION("in the header") {
    send_bytes(pair.a, &k_mark, 3);
    pair.a.reset();
    CHECK_THROWS_WITH(read_message(pair.b.get(), message), Contains("torn frame"));
  }
  SECTION("in the payload") {
    const FrameHeader header{k_mark, 1, 10};
    send_bytes(pair.a, &header, sizeof header);
    send_bytes(pair.a, "123456789", 9);
    pair.a.reset();
    CHECK_THROWS_WITH(read_message(pair.b.get(), message), Contains("torn frame"));
  }
}

TEST_CASE("frames that are too large or no frames are refused") {
  const Pair pair = connected(SOCK_STREAM);
  Message message;
  SECTION("larger than allowed") {
    write_message(pair.a.get(), MessageKind::replay, bytes_of("12345678901"));
    CHECK_THROWS_WITH(read_message(pair.b.get(), message, 10),
                      Contains("11 bytes") && Contains("at most 10"));
  }
  SECTION("a length that no machine holds") {
    const FrameHeader header{k_mark, 1, ~std::uint64_t{0}};
    send_bytes(pair.a, &header, sizeof header);
    CHECK_THROWS_WITH(read_message(pair.b.get(), message), Contains("too large"));
  }
  SECTION("no mark") {
    send_bytes(pair.a, "0123456789abcdef", 16);
    CHECK_THROWS_WITH(read_message(pair.b.get(), message), Contains("malformed frame"));
  }
}

TEST_CASE("bytes that are no frame are never taken for one") {
  REQUIRE(rc::check("any bytes without the mark, then the end", [](std::vector<char> bytes) {
    Pair pair = connected(SOCK_STREAM);
    if (bytes.size() >= sizeof k_mark) {
      std::uint32_t mark = 0;
      std::memcpy(&mark, bytes.data(), sizeof mark);
      RC_PRE(mark != k_mark);
    }
    send_bytes(pair.a, bytes.data(), bytes.size());
    pair.a.reset();
    Message message;
    if (bytes.empty())
      RC_ASSERT_FALSE(read_message(pair.b.get(), message));
    else
      RC_ASSERT_THROWS_AS(read_message(pair.b.get(), message), Error);
  }));
}

TEST_CASE("writing to a closed socket throws and raises no signal") {
  Pair pair = connected(SOCK_STREAM);
  pair.b.reset();
  CHECK_THROWS_AS(write_message(pair.a.get(), MessageKind::replay, {}), Error);
}

TEST_CASE("serve numbers requests in the journal, the stage set back") {
  class Recorder : public WorkerHandler {
   public:
    explicit Recorder(const JournalPage* page) : page_(page) {}
    std::vector<std::byte> handle(MessageKind, std::span<const std::byte>,
                                  Journal& journal) override {
      seen += std::to_string(page_->sequence) + ":" + std::to_string(page_->stage) + " ";
      journal.enter(Stage::compare);
      return bytes_of("answer");
    }
    std::string seen;

   private:
    const JournalPage* page_;
  };
  Pair pair = connected(SOCK_STREAM);
  JournalPage page{};
  Recorder recorder(&page);
  for (int i = 0; i < 3; ++i) write_message(pair.a.get(), MessageKind::replay, {});
  shutdown(pair.a.get(), SHUT_WR);
  serve(pair.b.get(), Journal(&page), recorder);
  CHECK(recorder.seen == "1:0 2:0 3:0 ");  // stage 0 = queued, outcome.h
  CHECK(page.stage == static_cast<std::uint32_t>(Stage::compare));
  Message answer;
  REQUIRE(read_message(pair.a.get(), answer));
  CHECK(answer.payload == bytes_of("answer"));
}

TEST_CASE("both sides of a journal see one page") {
  const Fd file(memfd_create("journal", MFD_CLOEXEC));
  REQUIRE(ftruncate(file.get(), k_journal_bytes) == 0);
  const JournalMapping worker(file.get()), supervisor(file.get());
  Journal(worker.page()).begin(17);
  Journal(worker.page()).enter(Stage::synchronise);
  CHECK(supervisor.page()->sequence == 17);
  CHECK(supervisor.page()->stage == static_cast<std::uint32_t>(Stage::synchronise));
  CHECK_THROWS_AS(JournalMapping(-1), Error);
}

TEST_CASE("control messages carry numbers, text and descriptors") {
  Pair pair = connected(SOCK_SEQPACKET);
  ControlMessage got;
  std::vector<Fd> descriptors;
  CHECK(receive_control(pair.b.get(), Waiting::never, got, descriptors) == Received::nothing);

  const Pair other = connected(SOCK_STREAM);
  const int sent[] = {other.a.get(), other.b.get()};
  REQUIRE(send_control(pair.a.get(), {ControlKind::spawn, 5, -7, "text"}, sent));
  REQUIRE(receive_control(pair.b.get(), Waiting::block, got, descriptors) == Received::message);
  CHECK(got.kind == ControlKind::spawn);
  CHECK(got.worker == 5);
  CHECK(got.value == -7);
  CHECK(got.text == "text");
  REQUIRE(descriptors.size() == 2);
  // They are the other pair: what is written to one end arrives at the other.
  write_message(descriptors[0].get(), MessageKind::schemas, {});
  Message message;
  CHECK(read_message(other.b.get(), message));
  CHECK((fcntl(descriptors[0].get(), F_GETFD) & FD_CLOEXEC) != 0);

  REQUIRE(send_control(pair.a.get(), {ControlKind::failed, 0, 0, std::string(100'000, 'x')}));
  REQUIRE(receive_control(pair.b.get(), Waiting::block, got, descriptors) == Received::message);
  CHECK(got.text == std::string(k_control_text_bytes, 'x'));
  CHECK(descriptors.empty());

  SECTION("a malformed one is refused") {
    send_bytes(pair.a, "short", 5);
    CHECK_THROWS_WITH(receive_control(pair.b.get(), Waiting::block, got, descriptors),
                      Contains("malformed message"));
  }
  SECTION("the end is told") {
    pair.a.reset();
    CHECK(receive_control(pair.b.get(), Waiting::block, got, descriptors) == Received::closed);
    CHECK_FALSE(send_control(pair.b.get(), {ControlKind::ready, 0, 0, {}}));
  }
}

TEST_CASE("values of a configuration are found by their whole key") {
  const std::string config = "worker=/a/b=c.so\nfork=1\nlibrary=/x\nlibrary=/y\nempty=\n";
  CHECK(config_value(config, "worker") == "/a/b=c.so");
  CHECK(config_value(config, "fork") == "1");
  CHECK(config_value(config, "library") == "/x");
  CHECK(config_value(config, "empty").empty());
  CHECK(config_value(config, "work").empty());
  CHECK(config_value(config, "ork").empty());
  CHECK(config_value("last=9", "last") == "9");
  CHECK(config_of_worker("fork=1\n\ndevice=cpu\n") == "device=cpu\n");
  CHECK(config_of_worker("fork=1\n").empty());
}
