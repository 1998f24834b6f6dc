#pragma once
/// A JSON document as one flat array: small, quick to skip through, nothing recursive to destroy.
/// Parsed by nlohmann's SAX parser from a stream, under limits of depth and memory, so that no
/// hostile file can exhaust stack or memory. Every accessor checks the type it is asked for and
/// names file and JSON path if it is another. Used by lib/model/pt2_reader.h.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace opreplay {

class JsonDoc;

enum class JsonKind : std::uint8_t { null, boolean, integer, real, string, array, object };

/// One value of a document; cheap to copy, valid as long as the document.
class Json {
 public:
  Json(const JsonDoc& doc, std::uint32_t entry) : doc_(&doc), entry_(entry) {}

  JsonKind kind() const;
  bool is_null() const { return kind() == JsonKind::null; }

  /// The value as what it must be. Throw Error{invalid_input} if it is something else.
  bool boolean() const;
  std::int64_t integer() const;
  /// An integer or a real; also "Infinity", "-Infinity" and "NaN", as torch writes them.
  double number() const;
  std::string_view string() const;

  /// A member of an object. `at` throws Error{invalid_input} if there is none.
  std::optional<Json> find(std::string_view key) const;
  Json at(std::string_view key) const;

  struct Member;
  /// Iterates the elements of an array / the members of an object, in order.
  struct ElementStep;
  struct MemberStep;
  template <class Step>
  class Range;
  using Elements = Range<ElementStep>;
  using Members = Range<MemberStep>;
  Elements elements() const;
  Members members() const;
  /// The only member of an object, as in {"as_int": 3}.
  Member only_member() const;

  /// "graph_module.graph.nodes[12].inputs[0]"; empty for the root.
  std::string path() const;
  /// Throws Error{invalid_input}: "<document>: <path>: <problem>".
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  void expect(JsonKind kind) const;

  const JsonDoc* doc_;
  std::uint32_t entry_;
};

struct Json::Member {
  std::string_view key;
  Json value;
};

struct JsonLimits {
  int depth = 512;
  std::size_t memory = std::size_t{320} << 20;  ///< of the parsed document
  std::size_t token = std::size_t{16} << 20;    ///< bytes of one string or number
};

class JsonDoc {
 public:
  /// Gives the next bytes of the text: fills `to` from its front, returns how many; 0 = the end.
  using Source = std::function<std::size_t(std::span<char> to)>;

  /// Parses a text. `name` ("llama.pt2: models/model.json") opens every message.
  /// Throws Error{invalid_input} with the byte position where it is no JSON or breaks a limit.
  JsonDoc(std::string name, const Source& source, const JsonLimits& limits = {});
  JsonDoc(const JsonDoc&) = delete;
  JsonDoc& operator=(const JsonDoc&) = delete;

  Json root() const { return Json(*this, 0); }
  const std::string& name() const { return name_; }

 private:
  friend class Json;
  friend struct Json::ElementStep;
  friend struct Json::MemberStep;
  class Builder;

  /// Values in document order; a container is followed by its content, a member's key (a string
  /// entry) by its value.
  struct Entry {
    JsonKind kind;
    std::uint32_t end;  ///< one past the last entry of this value; strings: length of the text
    union {
      std::int64_t integer;
      double real;
      std::uint64_t text;  ///< strings: offset in text_
    };
  };
  std::uint32_t next(std::uint32_t entry) const;
  std::string_view text(std::uint32_t entry) const;

  std::string name_;
  std::vector<Entry> entries_;
  std::string text_;
};

/// How to go through a container: what stands at an entry, and where the next one begins.
struct Json::ElementStep {
  using Item = Json;
  static Json at(const JsonDoc& doc, std::uint32_t entry) { return Json(doc, entry); }
  static std::uint32_t next(const JsonDoc& doc, std::uint32_t entry) { return doc.next(entry); }
};

struct Json::MemberStep {
  using Item = Member;
  static Member at(const JsonDoc& doc, std::uint32_t key) {
    return {doc.text(key), Json(doc, key + 1)};
  }
  static std::uint32_t next(const JsonDoc& doc, std::uint32_t key) { return doc.next(key + 1); }
};

template <class Step>
class Json::Range {
 public:
  class Iterator {
   public:
    Iterator(const JsonDoc& doc, std::uint32_t entry) : doc_(&doc), entry_(entry) {}
    typename Step::Item operator*() const { return Step::at(*doc_, entry_); }
    Iterator& operator++() {
      entry_ = Step::next(*doc_, entry_);
      return *this;
    }
    bool operator==(const Iterator& other) const { return entry_ == other.entry_; }

   private:
    const JsonDoc* doc_;
    std::uint32_t entry_;
  };
  Range(const JsonDoc& doc, std::uint32_t begin, std::uint32_t end)
      : doc_(&doc), begin_(begin), end_(end) {}
  Iterator begin() const { return {*doc_, begin_}; }
  Iterator end() const { return {*doc_, end_}; }

 private:
  const JsonDoc* doc_;
  std::uint32_t begin_, end_;
};

}  // namespace opreplay
