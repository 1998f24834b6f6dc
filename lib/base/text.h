#pragma once
/// Pieces of text that every reader and writer of the project shares: quoting, numbers, and the
/// nearest valid word for messages.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace opreplay {

/// `text` in double quotes. Quotes, backslashes, control characters and bytes that are not valid
/// UTF-8 are escaped (\n, \x1f), so that the result is one printable line of valid UTF-8.
std::string quoted(std::string_view text);

/// The first 32 bytes or so of `text`, quoted: what a message shows of an input.
std::string excerpt(std::string_view text);

/// Shortest text that reads back as the same double, always recognisable as a float: "1.0",
/// "1e-05", "-0.0", "inf", "nan".
std::string float_text(double value);

/// Edits that turn `a` into `b` (insert, delete, replace, swap two neighbours), or `cap + 1` if
/// more than `cap` are needed. Source: optimal string alignment distance, Boytsov 2011,
/// section 2.2.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t cap);

/// How many edits still count as a typo of a word of that length.
std::size_t typo_cap(std::size_t length);

/// The word closest to `word`; empty if none is within typo_cap.
std::string nearest_word(std::string_view word, std::span<const std::string_view> words);

/// The dtype name closest to `word`; empty if none is near.
std::string nearest_dtype(std::string_view word);

/// "; nearest valid word: f32", or nothing if `nearest` is empty.
std::string nearest_hint(std::string_view nearest);

}  // namespace opreplay
