#include "lib/isolate/output_tail.h"

#include <fcntl.h>

#include <array>
#include <cerrno>

namespace opreplay {
namespace {

constexpr std::size_t k_piece = std::size_t{64} << 10;  // what a pipe holds
constexpr int k_pieces_per_drain = 16;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

/// Length of the well-formed UTF-8 sequence at `at`, or 0. Source: Unicode 15, table 3-7.
std::size_t sequence_length(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(at), second = byte(at + 1);
  std::size_t length = 0;
  unsigned low = 0x80, high = 0xbf;  // range of the second byte
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  if (first == 0xe0) low = 0xa0;
  if (first == 0xed) high = 0x9f;
  if (first == 0xf0) low = 0x90;
  if (first == 0xf4) high = 0x8f;
  if (length == 0 || second < low || second > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (at + i >= text.size() || !is_continuation(text[at + i])) return 0;
  return length;
}

}  // namespace

OutputTail::OutputTail(Fd pipe) : pipe_(std::move(pipe)) {
  fcntl(pipe_.get(), F_SETFL, fcntl(pipe_.get(), F_GETFL) | O_NONBLOCK);
}

void OutputTail::drain() {
  std::array<char, k_piece> piece;
  for (int i = 0; i < k_pieces_per_drain && pipe_; ++i) {
    const ssize_t got = ::read(pipe_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      pipe_.reset();
      return;
    }
    recent_.append(piece.data(), static_cast<std::size_t>(got));
    // Twice the tail: enough to tell that something was cut.
    if (recent_.size() > 2 * k_tail_bytes) recent_.erase(0, recent_.size() - 2 * k_tail_bytes);
  }
}

std::string OutputTail::text() const {
  std::string tail = recent_;
  if (tail.size() > k_tail_bytes) {
    tail.erase(0, tail.size() - k_tail_bytes);
    // Begin with a whole line, or at least a whole character.
    const std::size_t line = tail.find('\n');
    if (line + 1 < tail.size()) tail.erase(0, line + 1);
    while (!tail.empty() && is_continuation(tail.front())) tail.erase(0, 1);
  }
  std::string clean;
  clean.reserve(tail.size());
  for (std::size_t i = 0; i < tail.size();) {
    const std::size_t length = sequence_length(tail, i);
    if (length == 0)
      clean += '?';
    else
      clean.append(tail, i, length);
    i += length == 0 ? 1 : length;
  }
  return clean;
}

}  // namespace opreplay
