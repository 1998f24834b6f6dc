#include "lib/plan/expression.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "lib/base/text.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

constexpr int k_max_depth = 32;

// What names stand for.
class Resolver {
 public:
  virtual ~Resolver() = default;
  virtual std::int64_t number(const std::string& name) = 0;
  virtual std::int64_t size(const std::string& name, std::int64_t dim) = 0;
  virtual std::int64_t product(const std::string& name) = 0;
};

[[noreturn]] void fail(std::string_view text, const std::string& why) {
  throw Error(ExitCode::invalid_input, fmt::format("expression {}: {}", excerpt(text), why));
}

class Parser {
 public:
  Parser(std::string_view text, Resolver& resolver) : text_(text), resolver_(resolver) {}

  std::int64_t run() {
    const std::int64_t value = sum();
    if (at_ < text_.size()) expected("an operator or the end");
    return value;
  }

 private:
  std::int64_t sum() {
    if (++depth_ > k_max_depth) fail(text_, "nested too deep");
    std::int64_t value = product();
    for (;;) {
      if (accept('+')) {
        if (__builtin_add_overflow(value, product(), &value)) overflow();
      } else if (accept('-')) {
        if (__builtin_sub_overflow(value, product(), &value)) overflow();
      } else {
        --depth_;
        return value;
      }
    }
  }

  std::int64_t product() {
    std::int64_t value = factor();
    while (accept('*'))
      if (__builtin_mul_overflow(value, factor(), &value)) overflow();
    return value;
  }

  std::int64_t factor() {
    bool negative = false;
    while (accept('-')) negative = !negative;
    std::int64_t value = atom();
    if (negative && __builtin_sub_overflow(std::int64_t{0}, value, &value)) overflow();
    return value;
  }

  std::int64_t atom() {
    if (accept('(')) {
      const std::int64_t value = sum();
      expect(')');
      return value;
    }
    skip_spaces();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
      return integer();
    const std::string word = name();
    if (!accept('(')) return resolver_.number(word);
    return function(word);
  }

  std::int64_t integer() {
    std::int64_t value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + at_, end, value);
    if (error != std::errc{}) overflow();
    at_ = static_cast<std::size_t>(stop - text_.data());
    return value;
  }

  std::int64_t function(const std::string& word) {
    if (word != "size" && word != "numel" && word != "prod")
      fail(text_, fmt::format("unknown function '{}'; expected size, numel or prod", word));
    const std::string argument = name();
    std::int64_t value = 0;
    if (word == "size") {
      expect(',');
      value = resolver_.size(argument, sum());
    } else {
      value = resolver_.product(argument);
    }
    expect(')');
    return value;
  }

  std::string name() {
    skip_spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    if (at_ == start) expected("a number, a name or '('");
    return std::string(text_.substr(start, at_ - start));
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_spaces();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) expected(fmt::format("'{}'", c));
  }
  [[noreturn]] void expected(const std::string& what) const {
    fail(text_, fmt::format("column {}: expected {}, found {}", at_ + 1, what,
                            at_ < text_.size() ? excerpt(text_.substr(at_)) : "the end"));
  }
  [[noreturn]] void overflow() const { fail(text_, "more than 63 bits"); }

  std::string_view text_;
  Resolver& resolver_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

class CallResolver : public Resolver {
 public:
  CallResolver(std::string_view text, const OpCall& call, std::int64_t position)
      : text_(text), call_(call), position_(position) {}

  std::int64_t number(const std::string& name) override {
    if (name == "position") return position_;
    if (const auto* value = find(name).get<std::int64_t>()) return *value;
    fail(text_, fmt::format("{} has no whole number {}", call_.op, excerpt(name)));
  }

  std::int64_t size(const std::string& name, std::int64_t dim) override {
    const auto* tensor = find(name).get<TensorArg>();
    if (!tensor) fail(text_, fmt::format("{} has no tensor {}", call_.op, excerpt(name)));
    const auto rank = static_cast<std::int64_t>(tensor->desc.sizes.size());
    const std::int64_t index = dim < 0 ? dim + rank : dim;
    // A 0-dim tensor counts as one element along dim 0 or -1, as torch's indexing ops take it.
    if (rank == 0 && (dim == 0 || dim == -1)) return 1;
    if (index < 0 || index >= rank)
      fail(text_, fmt::format("{} has {} dims, none is {}", excerpt(name), rank, dim));
    return tensor->desc.sizes[static_cast<std::size_t>(index)];
  }

  std::int64_t product(const std::string& name) override {
    const Value& value = find(name);
    if (const auto* tensor = value.get<TensorArg>())
      if (const auto elements = numel(tensor->desc)) return *elements;
    if (const auto* list = value.get<List>()) return product_of(*list, name);
    fail(text_, fmt::format("{} has no tensor or list {}", call_.op, excerpt(name)));
  }

 private:
  std::int64_t product_of(const List& list, const std::string& name) const {
    std::int64_t total = 1;
    for (const Value& item : list) {
      const auto* number = item.get<std::int64_t>();
      if (!number || __builtin_mul_overflow(total, *number, &total))
        fail(text_, fmt::format("{} of {} is no list of sizes", excerpt(name), call_.op));
    }
    return total;
  }

  // "self", or "tensors.0" for an element of a list.
  const Value& find(const std::string& name) const {
    const auto dot = name.find('.');
    const Value* value = find_arg(call_, name.substr(0, dot));
    if (value && dot != std::string::npos) {
      const auto* list = value->get<List>();
      std::size_t index = 0;
      const char* const end = name.data() + name.size();
      const auto parsed = std::from_chars(name.data() + dot + 1, end, index);
      const bool sound = parsed.ec == std::errc{} && parsed.ptr == end;
      value = list && sound && index < list->size() ? &(*list)[index] : nullptr;
    }
    if (!value) fail(text_, fmt::format("{} has no argument {}", call_.op, excerpt(name)));
    return *value;
  }

  std::string_view text_;
  const OpCall& call_;
  std::int64_t position_;
};

class NameCollector : public Resolver {
 public:
  std::int64_t number(const std::string& name) override { return note(name); }
  std::int64_t size(const std::string& name, std::int64_t) override { return note(name); }
  std::int64_t product(const std::string& name) override { return note(name); }

  std::vector<std::string> names;

 private:
  std::int64_t note(const std::string& name) {
    if (name != "position") names.push_back(name);
    return 1;
  }
};

}  // namespace

std::int64_t evaluate(std::string_view expression, const OpCall& call, std::int64_t position) {
  CallResolver resolver(expression, call, position);
  return Parser(expression, resolver).run();
}

std::optional<std::string> check_expression(std::string_view expression,
                                            std::vector<std::string>* names) {
  NameCollector collector;
  try {
    Parser(expression, collector).run();
  } catch (const Error& error) {
    return error.what();
  }
  if (names) names->insert(names->end(), collector.names.begin(), collector.names.end());
  return std::nullopt;
}

}  // namespace opreplay
