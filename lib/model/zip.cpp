#include "lib/model/zip.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "lib/base/hash.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

constexpr std::uint32_t k_local_signature = 0x04034b50;
constexpr std::uint32_t k_central_signature = 0x02014b50;
constexpr std::uint32_t k_end_signature = 0x06054b50;
constexpr std::uint32_t k_zip64_end_signature = 0x06064b50;
constexpr std::uint32_t k_zip64_locator_signature = 0x07064b50;

constexpr std::size_t k_local_size = 30;
constexpr std::size_t k_central_size = 46;
constexpr std::size_t k_end_size = 22;
constexpr std::size_t k_zip64_end_size = 56;
constexpr std::size_t k_zip64_locator_size = 20;
constexpr std::size_t k_max_comment = 65535;

// Far above any model (one entry per weight), low enough to hold in memory.
constexpr std::uint64_t k_max_entries = 1'000'000;
constexpr std::uint64_t k_max_directory = std::uint64_t{256} << 20;

constexpr std::uint16_t k_flag_encrypted = 0x0001;
constexpr std::uint16_t k_zip64_extra = 0x0001;

/// Little-endian numbers of a byte range; the caller has checked the range.
template <class T>
T load(std::span<const std::byte> bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(bytes[at + i]) << (8 * i)));
  return value;
}

/// A 32-bit field of a central header whose true value may stand in the zip64 extra field.
/// Fields that are 0xffffffff take the extra field's numbers in order (APPNOTE 4.5.3).
class Zip64Extra {
 public:
  explicit Zip64Extra(std::span<const std::byte> extra) {
    while (extra.size() >= 4) {
      const auto id = load<std::uint16_t>(extra, 0);
      const std::size_t size = load<std::uint16_t>(extra, 2);
      if (size > extra.size() - 4) return;
      if (id == k_zip64_extra) {
        numbers_ = extra.subspan(4, size);
        return;
      }
      extra = extra.subspan(4 + size);
    }
  }
  /// Nothing if the field refers to a number that is not there.
  std::optional<std::uint64_t> resolve(std::uint32_t field) {
    if (field != 0xffffffff) return field;
    if (numbers_.size() < 8) return std::nullopt;
    const auto value = load<std::uint64_t>(numbers_, 0);
    numbers_ = numbers_.subspan(8);
    return value;
  }

 private:
  std::span<const std::byte> numbers_;
};

std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) ? 0xedb88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}

}  // namespace

std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) {
  static const std::array<std::uint32_t, 256> table = make_crc_table();
  crc = ~crc;
  for (const std::byte b : bytes)
    crc = table[(crc ^ std::to_integer<std::uint32_t>(b)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

ZipArchive::ZipArchive(std::filesystem::path file) : file_(std::move(file)) {
  fd_ = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) {
    throw Error(ExitCode::invalid_input,
                fmt::format("{}: cannot be opened: {}", file_.string(), std::strerror(errno)));
  }
  try {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail(fmt::format("fstat failed: {}", std::strerror(errno)));
    if (!S_ISREG(status.st_mode)) fail("expected a file, found a folder or device");
    file_size_ = static_cast<std::uint64_t>(status.st_size);
    directory_ = find_directory();
    read_directory(directory_);
    locate_data();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

ZipArchive::~ZipArchive() { ::close(fd_); }

void ZipArchive::fail(const std::string& problem) const {
  throw Error(ExitCode::invalid_input, fmt::format("{}: {}", file_.string(), problem));
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

void ZipArchive::read_file(std::uint64_t offset, std::span<std::byte> to,
                           std::string_view what) const {
  while (!to.empty()) {
    const ssize_t n = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(fmt::format("reading {} at offset {}: {}", what, offset, std::strerror(errno)));
    if (n == 0) fail(fmt::format("truncated: the file ends inside {} at offset {}", what, offset));
    to = to.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

void ZipArchive::read(const ZipEntry& entry, std::uint64_t from, std::span<std::byte> to) const {
  if (from > entry.size || to.size() > entry.size - from) {
    fail(fmt::format("entry '{}' has {} bytes, {} were asked for at {}", entry.name, entry.size,
                     to.size(), from));
  }
  read_file(entry.offset + from, to, "entry '" + entry.name + "'");
}

ZipArchive::Directory ZipArchive::find_directory() const {
  if (file_size_ < k_end_size) {
    fail(fmt::format("not a zip archive: {} bytes, the end record alone has {}", file_size_,
                     k_end_size));
  }
  // The end record is last, save for a comment of at most 64 KiB.
  const std::uint64_t tail_size = std::min<std::uint64_t>(file_size_, k_end_size + k_max_comment);
  const std::uint64_t tail_offset = file_size_ - tail_size;
  std::vector<std::byte> tail(tail_size);
  read_file(tail_offset, tail, "the end record");
  std::optional<std::size_t> end;
  for (std::size_t at = tail.size() - k_end_size + 1; at-- > 0 && !end;) {
    if (load<std::uint32_t>(tail, at) == k_end_signature &&
        load<std::uint16_t>(tail, at + 20) == tail.size() - at - k_end_size)
      end = at;
  }
  if (!end) fail("not a zip archive, or truncated: no end record in the last 64 KiB");

  const std::uint64_t end_offset = tail_offset + *end;
  std::span<const std::byte> record(tail.data() + *end, k_end_size);
  if (load<std::uint16_t>(record, 4) != load<std::uint16_t>(record, 6))
    fail(fmt::format("split over several disks (end record at offset {})", end_offset));
  Directory directory{load<std::uint32_t>(record, 16), load<std::uint32_t>(record, 12),
                      load<std::uint16_t>(record, 10)};
  std::uint64_t directory_limit = end_offset;

  if (end_offset >= k_zip64_locator_size) {
    std::array<std::byte, k_zip64_locator_size> locator;
    read_file(end_offset - k_zip64_locator_size, locator, "the zip64 locator");
    if (load<std::uint32_t>(locator, 0) == k_zip64_locator_signature) {
      const auto at = load<std::uint64_t>(locator, 8);
      if (at > end_offset || end_offset - at < k_zip64_end_size + k_zip64_locator_size)
        fail(fmt::format("the zip64 end record at offset {} is outside the file", at));
      std::array<std::byte, k_zip64_end_size> zip64;
      read_file(at, zip64, "the zip64 end record");
      if (load<std::uint32_t>(zip64, 0) != k_zip64_end_signature)
        fail(fmt::format("no zip64 end record at offset {}", at));
      directory = {load<std::uint64_t>(zip64, 48), load<std::uint64_t>(zip64, 40),
                   load<std::uint64_t>(zip64, 32)};
      directory_limit = at;
    }
  }
  if (directory.offset > directory_limit || directory.size > directory_limit - directory.offset) {
    fail(fmt::format("the central directory ({} bytes at offset {}) is outside the file",
                     directory.size, directory.offset));
  }
  if (directory.count > k_max_entries || directory.count > directory.size / k_central_size) {
    fail(fmt::format("{} entries announced, a central directory of {} bytes holds at most {}",
                     directory.count, directory.size,
                     std::min(k_max_entries, directory.size / k_central_size)));
  }
  if (directory.size > k_max_directory) {
    fail(fmt::format("a central directory of {} bytes, at most {} are read", directory.size,
                     k_max_directory));
  }
  return directory;
}

void ZipArchive::read_directory(const Directory& directory) {
  std::vector<std::byte> bytes(directory.size);
  read_file(directory.offset, bytes, "the central directory");
  std::span<const std::byte> rest(bytes);
  entries_.reserve(directory.count);
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    const std::uint64_t at = directory.offset + (bytes.size() - rest.size());
    const auto where = [&] { return fmt::format("central header {} at offset {}", i, at); };
    if (rest.size() < k_central_size || load<std::uint32_t>(rest, 0) != k_central_signature)
      fail(fmt::format("{}: not a central header", where()));
    const auto flags = load<std::uint16_t>(rest, 8);
    const auto method = load<std::uint16_t>(rest, 10);
    const std::size_t name_size = load<std::uint16_t>(rest, 28);
    const std::size_t extra_size = load<std::uint16_t>(rest, 30);
    const std::size_t header_size =
        k_central_size + name_size + extra_size + load<std::uint16_t>(rest, 32);
    if (header_size > rest.size())
      fail(fmt::format("{}: reaches out of the central directory", where()));

    ZipEntry entry;
    entry.name.assign(reinterpret_cast<const char*>(rest.data()) + k_central_size, name_size);
    if (flags & k_flag_encrypted)
      fail(fmt::format("{}: entry '{}' is encrypted", where(), entry.name));
    if (method != 0) {
      fail(
          fmt::format("{}: entry '{}' is compressed (method {}); torch stores entries "
                      "uncompressed, so save the model again with torch.export.save",
                      where(), entry.name, method));
    }
    Zip64Extra extra(rest.subspan(k_central_size + name_size, extra_size));
    const auto size = extra.resolve(load<std::uint32_t>(rest, 24));
    const auto stored = extra.resolve(load<std::uint32_t>(rest, 20));
    const auto local = extra.resolve(load<std::uint32_t>(rest, 42));
    if (!size || !stored || !local)
      fail(fmt::format("{}: entry '{}' lacks its zip64 sizes", where(), entry.name));
    if (*size != *stored) {
      fail(fmt::format("{}: entry '{}' is stored in {} bytes but has {}", where(), entry.name,
                       *stored, *size));
    }
    entry.offset = *local;  // of the local header until locate_data()
    entry.size = *size;
    entry.crc32 = load<std::uint32_t>(rest, 16);
    entries_.push_back(std::move(entry));
    rest = rest.subspan(header_size);
  }
}

void ZipArchive::locate_data() {
  struct Range {
    std::uint64_t begin, end;
    const ZipEntry* entry;
  };
  std::vector<Range> ranges;
  ranges.reserve(entries_.size());
  by_name_.reserve(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    ZipEntry& entry = entries_[i];
    if (!by_name_.emplace(entry.name, i).second)
      fail(fmt::format("two entries are called '{}'", entry.name));
    const std::uint64_t local = entry.offset;
    const std::uint64_t limit = directory_.offset;
    if (local > limit || limit - local < k_local_size) {
      fail(fmt::format("entry '{}': its local header at offset {} is outside the file's data",
                       entry.name, local));
    }
    std::array<std::byte, k_local_size> header;
    read_file(local, header, "a local header");
    if (load<std::uint32_t>(header, 0) != k_local_signature)
      fail(fmt::format("entry '{}': no local header at offset {}", entry.name, local));
    const std::uint64_t skip = k_local_size + std::uint64_t{load<std::uint16_t>(header, 26)} +
                               std::uint64_t{load<std::uint16_t>(header, 28)};
    if (skip > limit - local || entry.size > limit - local - skip) {
      fail(fmt::format("entry '{}': {} bytes at offset {} reach out of the file's data ({} bytes)",
                       entry.name, entry.size, local, limit));
    }
    entry.offset = local + skip;
    ranges.push_back({local, entry.offset + entry.size, &entry});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) {
      fail(fmt::format("entries '{}' and '{}' overlap at offset {}", ranges[i - 1].entry->name,
                       ranges[i].entry->name, ranges[i].begin));
    }
  }
}

std::uint64_t ZipArchive::content_hash(std::uint64_t whole_up_to) const {
  const bool whole = file_size_ <= whole_up_to;
  std::vector<std::byte> bytes(whole ? file_size_ : directory_.size);
  read_file(whole ? 0 : directory_.offset, bytes, "the file");
  return hash64(bytes);
}

}  // namespace opreplay
