#include "lib/base/scanner.h"

#include <charconv>

#include "lib/base/text.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

// Not <cctype>: the tokens must not depend on the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Scanner::skip_spaces() {
  while (peek() == ' ' || peek() == '\t') ++at_;
}

bool Scanner::accept(std::string_view token) {
  if (rest().substr(0, token.size()) != token) return false;
  at_ += token.size();
  return true;
}

void Scanner::expect(std::string_view token) {
  if (!accept(token)) fail("'" + std::string(token) + "'");
}

std::string_view Scanner::word(std::string_view extra) {
  const std::size_t start = at_;
  while (!at_end() && (is_word(text_[at_]) || extra.find(text_[at_]) != std::string_view::npos))
    ++at_;
  return text_.substr(start, at_ - start);
}

std::int64_t Scanner::natural(std::string_view expected) {
  if (!is_digit(peek())) fail(expected);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) fail(std::string(expected) + " below 2^63");
  at_ = static_cast<std::size_t>(end - text_.data());
  return value;
}

std::string_view Scanner::number_token() {
  const std::size_t start = at_;
  accept("-");
  if (!accept("inf") && !accept("nan")) {
    if (!is_digit(peek())) {
      at_ = start;
      fail("a number");
    }
    const auto digits = [this] {
      while (is_digit(peek())) ++at_;
    };
    digits();
    if (accept(".")) digits();
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
  }
  return text_.substr(start, at_ - start);
}

double Scanner::floating(std::string_view token, std::size_t start) const {
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error == std::errc::result_out_of_range)
    fail_at(start, "number " + excerpt(token) + " does not fit a 64-bit float");
  if (error != std::errc() || end != token.data() + token.size())
    fail_at(start, "expected a number, found " + excerpt(token));
  return value;
}

Value Scanner::number() {
  const std::size_t start = at_;
  const std::string_view token = number_token();
  if (token.find_first_of(".eEin") != std::string_view::npos) return {floating(token, start)};
  std::int64_t value = 0;
  const auto result = std::from_chars(token.data(), token.data() + token.size(), value);
  if (result.ec != std::errc())
    fail_at(start,
            "integer " + excerpt(token) + " does not fit 64 bits; write a float if one is meant");
  return {value};
}

double Scanner::component() {
  const std::size_t start = at_;
  return floating(number_token(), start);
}

char Scanner::escape() {
  const char c = peek();
  ++at_;
  switch (c) {
    case '"':
    case '\'':
    case '\\':
      return c;
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    default:
      break;
  }
  const std::string_view digits = text_.substr(at_ - (c == 'x' ? 0 : 1));
  if (c == 'x' && digits.size() >= 2 && hex_digit(digits[0]) >= 0 && hex_digit(digits[1]) >= 0) {
    at_ += 2;
    return static_cast<char>(hex_digit(digits[0]) * 16 + hex_digit(digits[1]));
  }
  const auto octal = [&](std::size_t i, char last) {
    return i < digits.size() && digits[i] >= '0' && digits[i] <= last;
  };
  if (octal(0, '3') && octal(1, '7') && octal(2, '7')) {
    at_ += 2;
    return static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + digits[2] - '0');
  }
  --at_;
  fail("an escape such as \\n, \\\" or \\x1f after the backslash");
}

std::string Scanner::quoted_string() {
  expect("\"");
  std::string out;
  while (!accept("\"")) {
    if (at_end()) fail("'\"' at the end of the string");
    if (is_control(peek())) fail("'\"' or a printable character (write others as \\x1f)");
    if (accept("\\")) {
      if (at_end()) fail("an escape after the backslash");
      out += escape();
    } else {
      out += text_[at_++];
    }
  }
  return out;
}

void Scanner::fail(std::string_view expected) const {
  std::string message = "expected ";
  message += expected;
  message += ", found ";
  message += at_end() ? "the end" : excerpt(rest());
  fail_at(at_, message);
}

void Scanner::fail_at(std::size_t position, std::string_view message) const {
  throw Error(ExitCode::invalid_input, std::string(what_) + ", column " +
                                           std::to_string(position + 1) + ": " +
                                           std::string(message));
}

}  // namespace opreplay
