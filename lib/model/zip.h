#pragma once
/// Reads zip archives whose entries are stored uncompressed, as torch.export.save writes them.
/// The central directory alone is trusted (local headers of such files hold no sizes); every number
/// in it is checked against the file before use. Next: lib/model/pt2_reader.h.
/// Source of the format: PKWARE APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12, 4.3.14-16, 4.5.3.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace opreplay {

struct ZipEntry {
  std::string name;
  std::uint64_t offset = 0;  ///< of the first data byte in the file
  std::uint64_t size = 0;
  std::uint32_t crc32 = 0;  ///< 0 = the writer computed none
};

/// An open archive. Reads by position only, so that a const object may be shared by threads.
class ZipArchive {
 public:
  /// Reads and checks the central directory. Throws Error{invalid_input} naming file, entry and
  /// offset if the file is no zip archive, is truncated, spans disks, holds compressed, encrypted,
  /// doubled or overlapping entries, or entries that reach out of the file.
  explicit ZipArchive(std::filesystem::path file);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  const std::filesystem::path& file() const { return file_; }
  std::uint64_t file_size() const { return file_size_; }
  /// In the order of the central directory.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// The entry called `name`, or null.
  const ZipEntry* find(std::string_view name) const;

  /// Fills `to` with the entry's bytes from `from` on. Throws Error{invalid_input} if they end
  /// before.
  void read(const ZipEntry& entry, std::uint64_t from, std::span<std::byte> to) const;

  /// xxh3-64 of the whole file, or of its central directory (which holds the names, sizes and
  /// checksums of all entries) when the file is larger than `whole_up_to` bytes.
  std::uint64_t content_hash(std::uint64_t whole_up_to) const;

 private:
  struct Directory {
    std::uint64_t offset = 0, size = 0, count = 0;
  };
  Directory find_directory() const;
  void read_directory(const Directory& directory);
  void locate_data();
  void read_file(std::uint64_t offset, std::span<std::byte> to, std::string_view what) const;
  [[noreturn]] void fail(const std::string& problem) const;

  std::filesystem::path file_;
  int fd_ = -1;
  std::uint64_t file_size_ = 0;
  Directory directory_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

/// CRC-32 of ISO 3309 as zip uses it (polynomial 0xEDB88320, reflected), continued from `crc`.
std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes);

}  // namespace opreplay
