#include "lib/base/fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "lib/base/numeric.h"
#include "lib/base/random.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

constexpr std::size_t k_chunk = 1024;

/// How many of 0, 1, 2... the dtype holds exactly; 0 stands for 2^64.
std::uint64_t exact_count(DType dtype) {
  if (is_floating(dtype)) return std::uint64_t{1} << float_format(dtype).precision;
  switch (dtype) {
    case DType::boolean:
      return 2;
    case DType::i64:
      return std::uint64_t{1} << 63;
    case DType::u64:
      return 0;
    default: {
      const std::size_t bits = 8 * size_of(dtype);
      const bool is_unsigned = dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 ||
                               dtype == DType::quint8;
      return std::uint64_t{1} << (is_unsigned ? bits : bits - 1);
    }
  }
}

std::uint64_t wrap(std::uint64_t value, std::uint64_t count) {
  return count == 0 ? value : value % count;
}

std::string describe(const TensorDesc& desc) {
  std::string text;
  for (const std::int64_t size : desc.sizes)
    text += (text.empty() ? "" : ",") + std::to_string(size);
  return std::string(name(desc.dtype)) + "[" + text + "]";
}

/// The number of the dtype nearest to `value` from above (`up`) or below.
double inward(DType dtype, double value, bool up) {
  const double rounded = round_to(dtype, value);
  if (up ? rounded >= value : rounded <= value) return rounded;
  const double gap = ulp(dtype, rounded);
  return round_to(dtype, up ? rounded + gap : rounded - gap);
}

/// The components of one tensor by index: everything of a recipe but its places.
class Generator {
 public:
  Generator(const Values& recipe, const TensorDesc& desc, std::uint64_t components,
            std::uint64_t key)
      : recipe_(recipe),
        dtype_(component_type(desc.dtype)),
        width_(is_complex(desc.dtype) ? 2 : 1),
        components_(components),
        key_(key) {
    prepare_clamp();
    if (recipe.kind == Values::Kind::data) check_data();
    if (recipe.kind == Values::Kind::dist) prepare_distribution();
  }

  /// Writes components first, first+1... of the tensor or of its gaps.
  void generate(Stream stream, std::uint64_t first, std::span<std::byte> out) const {
    const std::size_t size = size_of(dtype_);
    const std::size_t count = out.size() / size;
    for (std::size_t done = 0; done < count; done += k_chunk)
      generate_chunk(stream, first + done,
                     out.subspan(done * size, std::min(k_chunk, count - done) * size));
  }

 private:
  void prepare_clamp() {
    // What a distribution gives stays finite; constants and data are taken as written.
    if (is_floating(dtype_) && recipe_.kind == Values::Kind::dist) {
      high_ = float_format(dtype_).max;
      low_ = -high_;
    }
    if (recipe_.min)
      low_ = is_floating(dtype_) ? inward(dtype_, *recipe_.min, true) : std::ceil(*recipe_.min);
    if (recipe_.max)
      high_ = is_floating(dtype_) ? inward(dtype_, *recipe_.max, false) : std::floor(*recipe_.max);
  }

  void check_data() const {
    const std::size_t given =
        recipe_.int_data.empty() ? recipe_.data.size() : recipe_.int_data.size();
    if (given != components_)
      throw Error(ExitCode::invalid_input,
                  "literal values of a tensor: expected " + std::to_string(components_) +
                      " numbers (one per element, two if complex), found " + std::to_string(given) +
                      "; list every element in row-major order");
  }

  void prepare_distribution() {
    if (recipe_.dist == Dist::permutation || recipe_.dist == Dist::signs)
      order_ = shuffled(key_, components_);
    if (recipe_.dist == Dist::randint) {
      low_int_ = integer(std::ceil(recipe_.low));
      // An empty range gives its lower end: an index into an empty dim, which the op must judge.
      range_ = recipe_.high > recipe_.low ? integer(std::ceil(recipe_.high) - 1) - low_int_ + 1 : 1;
    }
  }

  /// Two's complement bits of an integer, saturated to 64 bits of the dtype's signedness.
  std::uint64_t integer(double value) const {
    std::uint64_t bits;
    std::array<std::byte, 8> buffer;
    store_element(dtype_ == DType::u64 ? DType::u64 : DType::i64, value, buffer.data());
    std::memcpy(&bits, buffer.data(), sizeof bits);
    return bits;
  }

  double as_double(std::uint64_t bits) const {
    return dtype_ == DType::u64 ? static_cast<double>(bits)
                                : static_cast<double>(static_cast<std::int64_t>(bits));
  }

  void generate_chunk(Stream stream, std::uint64_t first, std::span<std::byte> out) const {
    switch (recipe_.kind) {
      case Values::Kind::fill:
        return constant(first, out);
      case Values::Kind::data:
        return literal(stream, first, out);
      case Values::Kind::file:  // excluded by the precondition
        return;
      case Values::Kind::dist:
        break;
    }
    std::array<std::uint64_t, k_chunk> buffer;
    const auto words = std::span(buffer).first(out.size() / size_of(dtype_));
    const bool counts =
        recipe_.dist == Dist::labels || (!order_.empty() && stream == Stream::elements);
    if (!counts) random_words(key_, stream, first, words);
    switch (recipe_.dist) {
      case Dist::normal:
      case Dist::uniform:
        if (dtype_ == DType::boolean) return bernoulli(0.5, words, out);
        return recipe_.dist == Dist::normal ? normal(words, out) : uniform(words, out);
      case Dist::bernoulli:
        return bernoulli(recipe_.p, words, out);
      case Dist::randint:
        for (std::uint64_t& word : words) word = low_int_ + scale_word(word, range_);
        return store_integers(words, out);
      case Dist::permutation:
        for (std::size_t i = 0; i < words.size(); ++i)
          words[i] = wrap(stream == Stream::elements
                              ? order_[first + i]
                              : scale_word(words[i], std::max(components_, std::uint64_t{1})),
                          exact_count(dtype_));
        return store_integers(words, out);
      case Dist::labels:
        for (std::size_t i = 0; i < words.size(); ++i)
          words[i] =
              wrap(first + i + (stream == Stream::elements ? 0 : components_), exact_count(dtype_));
        return store_integers(words, out);
      case Dist::signs:
        for (std::size_t i = 0; i < words.size(); ++i) {
          const bool plus = stream == Stream::elements ? order_[first + i] < (components_ + 1) / 2
                                                       : (words[i] >> 63) == 0;
          words[i] = plus ? 1 : ~std::uint64_t{0};
        }
        return store_integers(words, out);
    }
  }

  void bernoulli(double p, std::span<std::uint64_t> words, std::span<std::byte> out) const {
    const auto threshold = static_cast<std::uint64_t>(std::clamp(p, 0.0, 1.0) * 0x1p53);
    for (std::uint64_t& word : words) word = (word >> 11) < threshold ? 1 : 0;
    store_integers(words, out);
  }

  void constant(std::uint64_t first, std::span<std::byte> out) const {
    const std::size_t size = size_of(dtype_);
    std::array<std::byte, 16> pattern{};  // a complex constant has imaginary part 0
    for (std::uint64_t i = 0; i < width_; ++i)
      store_element(dtype_, i == 0 ? clamped(recipe_.fill) : 0, pattern.data() + i * size);
    for (std::size_t i = 0; i * size < out.size(); ++i)
      std::memcpy(out.data() + i * size, pattern.data() + (first + i) % width_ * size, size);
  }

  void literal(Stream stream, std::uint64_t first, std::span<std::byte> out) const {
    const std::size_t size = size_of(dtype_);
    const bool gap = stream == Stream::gaps;
    for (std::size_t i = 0; i * size < out.size(); ++i) {
      const std::uint64_t at =
          components_ == 0 ? 0 : (gap ? (first + i + 1) % components_ : first + i);
      std::byte* to = out.data() + i * size;
      if (components_ == 0)
        store_element(dtype_, 0, to);
      else if (!recipe_.int_data.empty())
        store_integer(static_cast<std::uint64_t>(recipe_.int_data[at]), to);
      else
        store_element(dtype_, clamped(recipe_.data[at]), to);
    }
  }

  // mean + std*z as one fused, correctly rounded operation: a compiler that fuses or does not fuse
  // a product and a sum would change the bytes. Without mean or std there is nothing to fuse.
  void normal(std::span<const std::uint64_t> words, std::span<std::byte> out) const {
    const NormalTable& table = NormalTable::instance();
    std::array<double, k_chunk> values;
    for (std::size_t i = 0; i < words.size(); ++i) values[i] = table(words[i]);
    if (recipe_.std != 1 || recipe_.mean != 0)
      for (double& v : std::span(values).first(words.size()))
        v = std::fma(recipe_.std, v, recipe_.mean);
    store_reals(std::span(values).first(words.size()), out);
  }

  void uniform(std::span<const std::uint64_t> words, std::span<std::byte> out) const {
    std::array<double, k_chunk> values;
    for (std::size_t i = 0; i < words.size(); ++i)
      values[i] = static_cast<double>(words[i] >> 11) * 0x1p-53;
    if (recipe_.low != 0 || recipe_.high != 1) {
      const double width = recipe_.high - recipe_.low;
      for (double& v : std::span(values).first(words.size())) v = std::fma(width, v, recipe_.low);
    }
    store_reals(std::span(values).first(words.size()), out);
  }

  double clamped(double value) const {
    value = value < low_ ? low_ : value;
    return value > high_ ? high_ : value;
  }

  void store_reals(std::span<double> values, std::span<std::byte> out) const {
    for (double& v : values) v = clamped(v);
    const std::size_t size = size_of(dtype_);
    if (dtype_ == DType::f32) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double magnitude = std::abs(values[i]);
        // The unit rounds normal numbers as IEEE says; it may flush the others to zero.
        if (magnitude >= 0x1p-126 || magnitude == 0) {
          const auto narrow = static_cast<float>(values[i]);
          std::memcpy(out.data() + i * sizeof narrow, &narrow, sizeof narrow);
        } else {
          store_element(dtype_, values[i], out.data() + i * sizeof(float));
        }
      }
      return;
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      store_element(dtype_, values[i], out.data() + i * size);
  }

  void store_integer(std::uint64_t bits, std::byte* to) const {
    const double value = as_double(bits);
    const double bounded = clamped(value);
    if (bounded == value && (dtype_ == DType::i64 || dtype_ == DType::u64))
      std::memcpy(to, &bits, sizeof bits);  // exact beyond 2^53
    else
      store_element(dtype_, bounded, to);
  }

  void store_integers(std::span<const std::uint64_t> values, std::span<std::byte> out) const {
    const std::size_t size = size_of(dtype_);
    for (std::size_t i = 0; i < values.size(); ++i) store_integer(values[i], out.data() + i * size);
  }

  const Values& recipe_;
  DType dtype_;  ///< of a component
  std::uint64_t width_, components_, key_;
  double low_ = -std::numeric_limits<double>::infinity();
  double high_ = std::numeric_limits<double>::infinity();
  std::uint64_t low_int_ = 0, range_ = 1;
  std::vector<std::uint64_t> order_;
};

/// Where the tensor's elements lie in its storage.
class Layout {
 public:
  explicit Layout(const TensorDesc& desc) : desc_(desc), logical_(contiguous_strides(desc.sizes)) {}

  std::uint64_t position(std::uint64_t logical) const {
    auto rest = static_cast<std::int64_t>(logical);
    std::int64_t at = desc_.offset;
    for (std::size_t d = 0; d < logical_.size(); ++d) {
      at += rest / logical_[d] * desc_.strides[d];
      rest %= logical_[d];
    }
    return static_cast<std::uint64_t>(at);
  }

  /// Calls visit(logical, position) in logical order. Along a dim of stride 0 all indices share
  /// their storage: only index 0 is visited.
  template <class Visit>
  void for_each(Visit visit) const {
    const std::size_t rank = desc_.sizes.size();
    std::vector<std::int64_t> sizes = desc_.sizes, index(rank, 0);
    for (std::size_t d = 0; d < rank; ++d)
      if (desc_.strides[d] == 0) sizes[d] = 1;
    std::int64_t logical = 0, at = desc_.offset;
    while (true) {
      visit(static_cast<std::uint64_t>(logical), static_cast<std::uint64_t>(at));
      std::size_t d = rank;
      for (; d > 0; --d) {
        const std::size_t k = d - 1;
        logical += logical_[k];
        at += desc_.strides[k];
        if (++index[k] < sizes[k]) break;
        logical -= index[k] * logical_[k];
        at -= index[k] * desc_.strides[k];
        index[k] = 0;
      }
      if (d == 0) return;
    }
  }

  /// Length of the runs of consecutive logical indices that for_each visits.
  std::uint64_t run() const {
    for (std::size_t d = 0; d < desc_.sizes.size(); ++d)
      if (desc_.strides[d] == 0 && desc_.sizes[d] > 1)
        return desc_.strides.back() == 0 ? 1 : static_cast<std::uint64_t>(desc_.sizes.back());
    return k_chunk;
  }

 private:
  const TensorDesc& desc_;
  std::vector<std::int64_t> logical_;
};

void scatter(const Generator& generator, const TensorDesc& desc, const Layout& layout,
             std::uint64_t elements, std::span<std::byte> storage) {
  const std::size_t size = size_of(desc.dtype);
  const std::uint64_t width = is_complex(desc.dtype) ? 2 : 1;
  const std::uint64_t run = std::min<std::uint64_t>(layout.run(), k_chunk);
  std::vector<std::byte> window(run * size);
  std::uint64_t begin = 0, end = 0;
  layout.for_each([&](std::uint64_t logical, std::uint64_t at) {
    if (logical < begin || logical >= end) {
      begin = logical;
      end = std::min(logical + run, elements);
      generator.generate(Stream::elements, begin * width,
                         std::span(window).first((end - begin) * size));
    }
    std::memcpy(storage.data() + at * size, window.data() + (logical - begin) * size, size);
  });
}

std::uint64_t logical_index(const Place& place, const TensorDesc& desc) {
  const std::vector<std::int64_t> strides = contiguous_strides(desc.sizes);
  bool inside = place.index.size() == desc.sizes.size();
  std::int64_t logical = 0;
  for (std::size_t d = 0; inside && d < desc.sizes.size(); ++d) {
    inside = place.index[d] >= 0 && place.index[d] < desc.sizes[d];
    logical += place.index[d] * strides[d];
  }
  if (!inside) {
    std::string text;
    for (const std::int64_t i : place.index) text += (text.empty() ? "" : ",") + std::to_string(i);
    throw Error(ExitCode::invalid_input, "place at [" + text + "] is no element of " +
                                             describe(desc) +
                                             "; give one index per dim, within its size");
  }
  return static_cast<std::uint64_t>(logical);
}

void put(const Place& place, const TensorDesc& desc, const Layout& layout, std::uint64_t elements,
         std::uint64_t key, std::span<std::byte> storage) {
  const DType component = component_type(desc.dtype);
  const std::size_t size = size_of(desc.dtype);
  std::array<std::byte, 16> bytes{};  // a complex value has imaginary part 0
  store_element(component, place.value, bytes.data());
  const auto at = [&](std::uint64_t position) {
    std::memcpy(storage.data() + position * size, bytes.data(), size);
  };
  switch (place.where) {
    case Where::first:
      return at(layout.position(0));
    case Where::middle:
      return at(layout.position(elements / 2));
    case Where::last:
      return at(layout.position(elements - 1));
    case Where::index:
      return at(layout.position(logical_index(place, desc)));
    case Where::all:
      return layout.for_each([&](std::uint64_t, std::uint64_t position) { at(position); });
    case Where::one_per_row: {
      const auto row = static_cast<std::uint64_t>(desc.sizes.empty() ? 1 : desc.sizes.back());
      for (std::uint64_t r = 0; r < elements / row; ++r) {
        std::uint64_t word = 0;
        random_words(key, Stream::places, r, std::span(&word, 1));
        at(layout.position(r * row + scale_word(word, row)));
      }
    }
  }
}

}  // namespace

void fill(const Values& recipe, const TensorDesc& desc, std::uint64_t key,
          std::span<std::byte> storage) {
  const std::optional<std::int64_t> count = numel(desc);
  const std::optional<std::int64_t> needed = storage_elements(desc);
  const std::size_t size = size_of(desc.dtype);
  if (!count || !needed || static_cast<std::uint64_t>(*needed) > storage.size() / size)
    throw Error(ExitCode::internal, "storage of " + describe(desc) + ": " +
                                        std::to_string(storage.size()) +
                                        " bytes do not hold the tensor");
  const auto elements = static_cast<std::uint64_t>(*count);
  const std::uint64_t width = is_complex(desc.dtype) ? 2 : 1;
  const Generator generator(recipe, desc, elements * width, key);
  const Layout layout(desc);

  const std::size_t dense = desc.offset == 0 && is_contiguous(desc) ? elements * size : 0;
  generator.generate(Stream::elements, 0, storage.first(dense));
  generator.generate(Stream::gaps, dense / size * width, storage.subspan(dense));
  if (elements == 0) return;
  if (dense == 0) scatter(generator, desc, layout, elements, storage);
  for (const Place& place : recipe.places) put(place, desc, layout, elements, key, storage);
}

}  // namespace opreplay
