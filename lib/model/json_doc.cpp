#include "lib/model/json_doc.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "opreplay/error.h"

namespace opreplay {
namespace {

constexpr std::size_t k_chunk = std::size_t{64} << 10;

std::string_view kind_name(JsonKind kind) {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "true or false";
    case JsonKind::integer:
      return "an integer";
    case JsonKind::real:
      return "a number";
    case JsonKind::string:
      return "a string";
    case JsonKind::array:
      return "an array";
    case JsonKind::object:
      return "an object";
  }
  return "nothing";
}

/// The text as a stream in chunks; also what notices a single token that never ends, which the
/// parser would collect whole.
class Feed {
 public:
  Feed(const std::string& name, const JsonDoc::Source& source, std::size_t token_limit)
      : name_(name), source_(source), token_limit_(token_limit) {}

  bool at_end() {
    if (at_ < filled_) return false;
    if (ended_) return true;
    refill();
    return ended_;
  }
  char current() const { return chunk_[at_]; }
  void advance() { ++at_; }
  std::size_t position() const { return before_ + at_; }
  void token_done() { token_begin_ = position(); }

 private:
  void refill() {
    before_ += filled_;
    at_ = filled_ = 0;
    if (before_ - token_begin_ > token_limit_) {
      throw Error(ExitCode::invalid_input,
                  fmt::format("{}: a token of more than {} bytes at byte {}", name_, token_limit_,
                              token_begin_));
    }
    filled_ = source_(chunk_);
    ended_ = filled_ == 0;
  }

  const std::string& name_;
  const JsonDoc::Source& source_;
  std::size_t token_limit_;
  std::array<char, k_chunk> chunk_;
  std::size_t at_ = 0, filled_ = 0, before_ = 0, token_begin_ = 0;
  bool ended_ = false;
};

/// The iterator form the parser takes; the end is a null feed.
struct FeedIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  Feed* feed = nullptr;
  char operator*() const { return feed->current(); }
  FeedIterator& operator++() {
    feed->advance();
    return *this;
  }
  bool operator==(const FeedIterator& end) const { return end.feed ? false : feed->at_end(); }
};

}  // namespace

/// Receives the parser's events and appends to the document.
class JsonDoc::Builder {
 public:
  Builder(JsonDoc& doc, Feed& feed, const JsonLimits& limits)
      : doc_(doc), feed_(feed), limits_(limits) {}

  bool null() { return add(JsonKind::null); }
  bool boolean(bool value) { return add(JsonKind::boolean, value ? 1 : 0); }
  bool number_integer(std::int64_t value) { return add(JsonKind::integer, value); }
  bool number_unsigned(std::uint64_t value) {
    // The parser calls every integer without a minus sign unsigned.
    if (value <= std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      return add(JsonKind::integer, static_cast<std::int64_t>(value));
    return number_float(static_cast<double>(value), {});
  }
  bool number_float(double value, const std::string&) {
    add(JsonKind::real);
    doc_.entries_.back().real = value;
    return true;
  }
  bool string(std::string& value) {
    add(JsonKind::string);
    if (value.size() > limits_.memory - used()) too_large();
    doc_.entries_.back().text = doc_.text_.size();
    doc_.entries_.back().end = static_cast<std::uint32_t>(value.size());
    doc_.text_ += value;
    return true;
  }
  bool key(std::string& value) { return string(value); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // never in JSON text

  bool start_object(std::size_t) { return open(JsonKind::object); }
  bool start_array(std::size_t) { return open(JsonKind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  template <class Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception& problem) {
    std::string_view text = problem.what();
    if (const auto at = text.find("; "); at != std::string_view::npos) text.remove_prefix(at + 2);
    fail(fmt::format("not valid JSON at byte {}: {}", position, text));
  }

 private:
  bool add(JsonKind kind, std::int64_t integer = 0) {
    if (sizeof(Entry) > limits_.memory - used()) too_large();
    Entry entry{kind, 0, {integer}};
    doc_.entries_.push_back(entry);
    feed_.token_done();
    return true;
  }
  bool open(JsonKind kind) {
    if (static_cast<int>(open_.size()) == limits_.depth)
      fail(fmt::format("nested deeper than {} levels at byte {}", limits_.depth, feed_.position()));
    open_.push_back(static_cast<std::uint32_t>(doc_.entries_.size()));
    return add(kind);
  }
  bool close() {
    doc_.entries_[open_.back()].end = static_cast<std::uint32_t>(doc_.entries_.size());
    open_.pop_back();
    feed_.token_done();
    return true;
  }
  std::size_t used() const { return doc_.entries_.size() * sizeof(Entry) + doc_.text_.size(); }
  [[noreturn]] void too_large() const {
    fail(fmt::format("needs more than {} MiB to read (byte {})", limits_.memory >> 20,
                     feed_.position()));
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ExitCode::invalid_input, doc_.name_ + ": " + problem);
  }

  JsonDoc& doc_;
  Feed& feed_;
  const JsonLimits& limits_;
  std::vector<std::uint32_t> open_;
};

JsonDoc::JsonDoc(std::string name, const Source& source, const JsonLimits& limits)
    : name_(std::move(name)) {
  Feed feed(name_, source, limits.token);
  Builder builder(*this, feed, limits);
  nlohmann::json::sax_parse(FeedIterator{&feed}, FeedIterator{}, &builder);
}

std::uint32_t JsonDoc::next(std::uint32_t entry) const {
  const Entry& e = entries_[entry];
  const bool container = e.kind == JsonKind::array || e.kind == JsonKind::object;
  return container ? e.end : entry + 1;
}

std::string_view JsonDoc::text(std::uint32_t entry) const {
  const Entry& e = entries_[entry];
  return std::string_view(text_).substr(e.text, e.end);
}

JsonKind Json::kind() const { return doc_->entries_[entry_].kind; }

void Json::fail(const std::string& problem) const {
  const std::string where = path();
  throw Error(ExitCode::invalid_input,
              doc_->name_ + ": " + (where.empty() ? "" : where + ": ") + problem);
}

void Json::expect(JsonKind wanted) const {
  if (kind() != wanted)
    fail(fmt::format("expected {}, found {}", kind_name(wanted), kind_name(kind())));
}

bool Json::boolean() const {
  expect(JsonKind::boolean);
  return doc_->entries_[entry_].integer != 0;
}

std::int64_t Json::integer() const {
  expect(JsonKind::integer);
  return doc_->entries_[entry_].integer;
}

double Json::number() const {
  const JsonDoc::Entry& entry = doc_->entries_[entry_];
  if (entry.kind == JsonKind::integer) return static_cast<double>(entry.integer);
  if (entry.kind == JsonKind::string) {
    const std::string_view word = string();
    if (word == "Infinity") return std::numeric_limits<double>::infinity();
    if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  expect(JsonKind::real);
  return entry.real;
}

std::string_view Json::string() const {
  expect(JsonKind::string);
  return doc_->text(entry_);
}

std::optional<Json> Json::find(std::string_view key) const {
  for (const Member member : members())
    if (member.key == key) return member.value;
  return std::nullopt;
}

Json Json::at(std::string_view key) const {
  if (const auto found = find(key)) return *found;
  fail(fmt::format("expected a member '{}', found none", key));
}

Json::Elements Json::elements() const {
  expect(JsonKind::array);
  return {*doc_, entry_ + 1, doc_->entries_[entry_].end};
}

Json::Members Json::members() const {
  expect(JsonKind::object);
  return {*doc_, entry_ + 1, doc_->entries_[entry_].end};
}

Json::Member Json::only_member() const {
  const Members all = members();
  auto first = all.begin();
  if (first == all.end()) fail("expected an object with one member, found an empty one");
  const Member member = *first;
  if (++first != all.end()) {
    fail(fmt::format("expected an object with one member, found '{}' and '{}'", member.key,
                     (*first).key));
  }
  return member;
}

std::string Json::path() const {
  std::string path;
  std::uint32_t at = 0;
  while (at != entry_) {
    const bool object = doc_->entries_[at].kind == JsonKind::object;
    std::size_t index = 0;
    std::uint32_t child = at + 1;
    // The child whose entries include this one; for members the key's entry comes before it.
    while (true) {
      const std::uint32_t value = object ? child + 1 : child;
      if (entry_ < doc_->next(value)) {
        if (object) {
          path += (path.empty() ? "" : ".") + std::string(doc_->text(child));
        } else {
          path += fmt::format("[{}]", index);
        }
        at = value;
        break;
      }
      child = doc_->next(value);
      ++index;
    }
  }
  return path;
}

}  // namespace opreplay
