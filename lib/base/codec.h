#pragma once
/// Binary form of the types that cross the process boundary. Both processes are of one machine and
/// one build of lib/base, so numbers are stored as they lie in memory; a truncated or malformed
/// message is an Error{internal}, never a read past the end.
///
/// A type takes part by a `members` function that ties its members once, for both directions:
///   template <MaybeConst<Place> T> auto members(T& t) { return std::tie(t.where, t.index,
///   t.value); }

#include <complex>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "opreplay/error.h"

namespace opreplay {

template <class T, class Plain>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Plain>;

template <class T>
concept HasMembers = requires(T& t) {
  members(t);
};

/// Stored as its bytes: numbers, enums, complex numbers.
template <class T>
concept Flat = std::is_arithmetic_v<T> || std::is_enum_v<T> ||
    std::same_as<T, std::complex<double>> || std::same_as<T, std::byte>;

class Encoder {
 public:
  std::vector<std::byte> take() { return std::move(bytes_); }

  template <class T>
  void put(const T& value) {
    if constexpr (Flat<T>) {
      raw(&value, sizeof value);
    } else if constexpr (HasMembers<const T>) {
      std::apply([this](const auto&... member) { (put(member), ...); }, members(value));
    } else if constexpr (std::is_empty_v<T>) {
      // None: the variant's index says it all.
    } else {
      put_container(value);
    }
  }

 private:
  void raw(const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  void put_size(std::size_t size) { put(static_cast<std::uint64_t>(size)); }

  void put_container(const std::string& text) {
    put_size(text.size());
    raw(text.data(), text.size());
  }
  template <class T>
  void put_container(const std::vector<T>& items) {
    put_size(items.size());
    if constexpr (Flat<T>) {
      raw(items.data(), items.size() * sizeof(T));
    } else {
      for (const T& item : items) put(item);
    }
  }
  template <class K, class V>
  void put_container(const std::map<K, V>& items) {
    put_size(items.size());
    for (const auto& [key, value] : items) {
      put(key);
      put(value);
    }
  }
  template <class T>
  void put_container(const std::optional<T>& item) {
    put(item.has_value());
    if (item) put(*item);
  }
  template <class... Ts>
  void put_container(const std::variant<Ts...>& item) {
    put(static_cast<std::uint8_t>(item.index()));
    std::visit([this](const auto& value) { put(value); }, item);
  }

  std::vector<std::byte> bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    T value{};
    read(value);
    return value;
  }

  /// To be called after the last value.
  void expect_end() const {
    if (!bytes_.empty()) fail("bytes left over");
  }

 private:
  static constexpr int k_max_depth = 64;

  [[noreturn]] static void fail(const char* what) {
    throw Error(ExitCode::internal, std::string("malformed worker message: ") + what);
  }

  template <class T>
  void read(T& value) {
    if constexpr (std::same_as<T, bool>) {
      std::uint8_t byte = 0;
      raw(&byte, 1);
      value = byte != 0;
    } else if constexpr (Flat<T>) {
      raw(&value, sizeof value);
    } else if constexpr (HasMembers<T>) {
      if (++depth_ > k_max_depth) fail("nested too deeply");
      std::apply([this](auto&... member) { (read(member), ...); }, members(value));
      --depth_;
    } else if constexpr (!std::is_empty_v<T>) {
      read_container(value);
    }
  }

  void raw(void* to, std::size_t size) {
    if (size > bytes_.size()) fail("truncated");
    if (size == 0) return;
    std::memcpy(to, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  /// A count of items of at least `item_size` bytes each, checked against what is left.
  std::size_t read_size(std::size_t item_size) {
    std::uint64_t size = 0;
    read(size);
    if (size > bytes_.size() / item_size) fail("count exceeds the message");
    return static_cast<std::size_t>(size);
  }

  void read_container(std::string& text) {
    text.resize(read_size(1));
    raw(text.data(), text.size());
  }
  template <class T>
  void read_container(std::vector<T>& items) {
    items.resize(read_size(Flat<T> ? sizeof(T) : 1));
    if constexpr (Flat<T>) {
      raw(items.data(), items.size() * sizeof(T));
    } else {
      for (T& item : items) read(item);
    }
  }
  template <class K, class V>
  void read_container(std::map<K, V>& items) {
    for (std::size_t left = read_size(1); left > 0; --left) {
      K key = get<K>();
      read(items[std::move(key)]);
    }
  }
  template <class T>
  void read_container(std::optional<T>& item) {
    if (get<bool>()) read(item.emplace());
  }
  template <class... Ts>
  void read_container(std::variant<Ts...>& item) {
    const auto index = get<std::uint8_t>();
    if (index >= sizeof...(Ts)) fail("unknown alternative");
    read_alternative(item, index, std::index_sequence_for<Ts...>{});
  }
  template <class Variant, std::size_t... I>
  void read_alternative(Variant& item, std::size_t index, std::index_sequence<I...>) {
    (void)((index == I && (read(item.template emplace<I>()), true)) || ...);
  }

  std::span<const std::byte> bytes_;
  int depth_ = 0;
};

/// A whole message: one value.
template <class T>
std::vector<std::byte> encode_bytes(const T& value) {
  Encoder encoder;
  encoder.put(value);
  return encoder.take();
}

template <class T>
T decode_bytes(std::span<const std::byte> bytes) {
  Decoder decoder(bytes);
  T value = decoder.get<T>();
  decoder.expect_end();
  return value;
}

}  // namespace opreplay
