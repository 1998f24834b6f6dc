#include "lib/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "opreplay/dtype.h"

namespace opreplay {
namespace {

/// Length of the valid UTF-8 sequence at the start of `text`; 0 if there is none.
/// Source: The Unicode Standard 15.0, table 3-7 (well-formed byte sequences).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;   // no overlong forms
    const unsigned high = lead == 0xed ? 0x9f : 0xbf;  // no surrogates
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view k_digits = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  out += "\\x";
  out += k_digits[byte >> 4];
  out += k_digits[byte & 15];
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = utf8_length(text);
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (length == 0 || control || c == '"' || c == '\\') {
      append_escaped(out, c);
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out + '"';
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t k_shown = 32;
  if (text.size() <= k_shown) return quoted(text);
  return quoted(text.substr(0, k_shown)) + "...";
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";  // neither sign nor payload
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t cap) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > cap) return cap + 1;
  // Row j holds the distances of the first j characters of b to every prefix of a.
  std::vector<std::size_t> before_last(a.size() + 1), last(a.size() + 1), row(a.size() + 1);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = i;
  for (std::size_t j = 1; j <= b.size(); ++j) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      const std::size_t replaced = last[i - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[i] = std::min({replaced, row[i - 1] + 1, last[i] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[i] = std::min(row[i], before_last[i - 2] + 1);
    }
    const auto least = [](const auto& values) {
      return *std::min_element(values.begin(), values.end());
    };
    if (std::min(least(row), least(last)) > cap) return cap + 1;
  }
  return std::min(row.back(), cap + 1);
}

std::size_t typo_cap(std::size_t length) { return std::clamp<std::size_t>(length / 3, 1, 6); }

std::string nearest_word(std::string_view word, std::span<const std::string_view> words) {
  std::size_t best = typo_cap(word.size());
  std::string_view nearest;
  for (const std::string_view candidate : words) {
    const std::size_t distance = edit_distance(word, candidate, best);
    if (distance < best || (distance == best && nearest.empty())) {
      best = distance;
      nearest = candidate;
    }
  }
  return std::string(nearest);
}

std::string nearest_dtype(std::string_view word) {
  std::vector<std::string_view> names;
  for (const DType dtype : all_dtypes()) names.push_back(name(dtype));
  return nearest_word(word, names);
}

std::string nearest_hint(std::string_view nearest) {
  return nearest.empty() ? std::string() : "; nearest valid word: " + std::string(nearest);
}

}  // namespace opreplay
