#pragma once
/// Reads schemas and case strings: a position in a text, the tokens both grammars share, and errors
/// that name the column. Used by schema.cpp and case_parser.cpp.

#include <cstddef>
#include <string>
#include <string_view>

#include "opreplay/call.h"

namespace opreplay {

class Scanner {
 public:
  /// `what` names the text in messages: "schema", "case string".
  Scanner(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  bool at_end() const { return at_ == text_.size(); }
  /// The next character, '\0' at the end (a NUL in the text is never part of a token either).
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  std::size_t position() const { return at_; }
  void rewind(std::size_t position) { at_ = position; }
  std::string_view rest() const { return text_.substr(at_); }

  void skip_spaces();
  /// Takes `token` if it comes next.
  bool accept(std::string_view token);
  /// Takes `token` or fails with it as what was expected.
  void expect(std::string_view token);

  /// Letters, digits, '_' and any of `extra`, as many as come; possibly none.
  std::string_view word(std::string_view extra = {});

  /// Decimal digits. Fails if there are none or if the number exceeds 63 bits.
  std::int64_t natural(std::string_view expected);
  /// An int64, or a double if there is a point, an exponent or -inf. Fails on numbers out of range.
  Value number();
  /// One part of a complex number: digits, inf or nan, with an optional minus sign.
  double component();
  /// A double-quoted string; the escapes of C and \xHH, \ooo. Raw control characters fail.
  std::string quoted_string();

  /// Throws Error{invalid_input}: "<what>, column N: expected <expected>, found <rest of the
  /// text>".
  [[noreturn]] void fail(std::string_view expected) const;
  /// Throws Error{invalid_input}: "<what>, column N: <message>".
  [[noreturn]] void fail_at(std::size_t position, std::string_view message) const;

 private:
  std::string_view number_token();
  double floating(std::string_view token, std::size_t start) const;
  char escape();

  std::string_view text_, what_;
  std::size_t at_ = 0;
};

}  // namespace opreplay
