#include "lib/model/zip.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/model/pt2_fixture.h"

using namespace opreplay;
using namespace opreplay::test;
using Catch::Matchers::Contains;

namespace {

std::string open_refusal(const std::string& bytes) {
  const TempFile file("a.pt2", bytes);
  const std::string message = refusal([&] { ZipArchive archive(file.path()); });
  if (!message.empty()) CHECK_THAT(message, Contains(file.path().string()));
  return message;
}

std::string read_all(const ZipArchive& archive, const ZipEntry& entry) {
  std::string text(entry.size, '\0');
  archive.read(entry, 0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

TEST_CASE("crc32 gives the check value of ISO 3309") {
  // The value for "123456789" that every catalogue of CRCs lists for CRC-32/ISO-HDLC.
  const char* digits = "123456789";
  const auto bytes = std::as_bytes(std::span(digits, 9));
  CHECK(crc32(0, bytes) == 0xCBF43926);
  CHECK(crc32(crc32(0, bytes.first(4)), bytes.subspan(4)) == 0xCBF43926);
}

TEST_CASE("entries are found by the central directory") {
  for (const bool zip64 : {false, true}) {
    for (const std::string& comment : {std::string(), std::string("a comment")}) {
      const TempFile file("a.pt2", zip_bytes({{.name = "r/a", .data = "alpha", .padding = 20},
                                              {.name = "r/empty", .data = ""},
                                              {.name = "r/b", .data = "beta"}},
                                             {.zip64_end = zip64, .comment = comment}));
      const ZipArchive archive(file.path());
      REQUIRE(archive.entries().size() == 3);
      REQUIRE(archive.find("r/a"));
      // 30 bytes of local header, 3 of the name, 20 of padding.
      CHECK(archive.find("r/a")->offset == 53);
      CHECK(read_all(archive, *archive.find("r/a")) == "alpha");
      CHECK(read_all(archive, *archive.find("r/b")) == "beta");
      CHECK(archive.find("r/empty")->size == 0);
      CHECK(archive.find("a") == nullptr);
      char one;
      const auto to = std::as_writable_bytes(std::span(&one, 1));
      CHECK_THAT(refusal([&] { archive.read(*archive.find("r/b"), 4, to); }), Contains("'r/b'"));
    }
  }
}

TEST_CASE("sizes may stand in the zip64 extra field") {
  std::string extra = {1, 0, 24, 0};
  for (const std::uint64_t number : {std::uint64_t{5}, std::uint64_t{5}, std::uint64_t{0}})
    extra.append(reinterpret_cast<const char*>(&number), 8);
  const ZipMember member{.name = "a",
                         .data = "alpha",
                         .extra = extra,
                         .size = 0xffffffff,
                         .stored = 0xffffffff,
                         .local_offset = 0xffffffff};
  const TempFile file("a.pt2", zip_bytes({member}));
  const ZipArchive archive(file.path());
  CHECK(read_all(archive, archive.entries().front()) == "alpha");

  ZipMember without = member;
  without.extra.clear();
  CHECK_THAT(open_refusal(zip_bytes({without})), Contains("lacks its zip64 sizes"));
}

TEST_CASE("an archive cut off anywhere is refused") {
  const std::string bytes = zip_bytes(
      {{.name = "r/a", .data = "alpha"}, {.name = "r/b", .data = "beta"}}, {.zip64_end = true});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    INFO("cut off at " << size);
    CHECK_FALSE(open_refusal(bytes.substr(0, size)).empty());
  }
  CHECK(open_refusal(bytes).empty());
}

TEST_CASE("what an archive must not hold is refused by name and place") {
  const ZipMember a{.name = "r/a", .data = "alpha"};
  const auto with = [&](auto change) {
    ZipMember b{.name = "r/b", .data = "beta"};
    change(b);
    return open_refusal(zip_bytes({a, b}));
  };
  CHECK_THAT(with([](ZipMember& b) { b.method = 8; }),
             Contains("'r/b' is compressed (method 8)") && Contains("offset"));
  CHECK_THAT(with([](ZipMember& b) { b.flags = 0x809; }), Contains("'r/b' is encrypted"));
  CHECK_THAT(with([](ZipMember& b) { b.name = "r/a"; }), Contains("two entries are called 'r/a'"));
  CHECK_THAT(with([](ZipMember& b) { b.local_offset = 0; }), Contains("overlap at offset 0"));
  CHECK_THAT(with([](ZipMember& b) { b.local_offset = 3; }),
             Contains("no local header at offset 3"));
  CHECK_THAT(with([](ZipMember& b) { b.local_offset = 0x7fffffff; }),
             Contains("local header at offset 2147483647 is outside"));
  CHECK_THAT(with([](ZipMember& b) { b.size = b.stored = 0x7fffffff; }),
             Contains("2147483647 bytes at offset"));
  CHECK_THAT(with([](ZipMember& b) { b.stored = 3; }), Contains("stored in 3 bytes but has 4"));

  CHECK_THAT(open_refusal(zip_bytes({a}, {.zip64_end = true, .count = ~std::uint64_t{0}})),
             Contains("18446744073709551615 entries announced"));
  CHECK_THAT(open_refusal(zip_bytes({a}, {.zip64_end = true, .offset = ~std::uint64_t{0}})),
             Contains("the central directory") && Contains("outside the file"));
  CHECK_THAT(open_refusal("PK no archive at all, but long enough"), Contains("not a zip archive"));
}

TEST_CASE("the content hash of a large file comes from its directory") {
  const std::string bytes = zip_bytes({{.name = "r/a", .data = "alpha"}});
  std::string other = bytes;
  other[34] = 'A';  // in the data, which the directory knows by its checksum only
  const TempFile file("a.pt2", bytes), changed("a.pt2", other);
  const ZipArchive archive(file.path()), damaged(changed.path());
  CHECK(archive.content_hash(1000) != damaged.content_hash(1000));
  CHECK(archive.content_hash(10) == damaged.content_hash(10));
  CHECK(archive.content_hash(10) != archive.content_hash(1000));
}
