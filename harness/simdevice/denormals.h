#pragma once
/// Denormals flushed to zero for the time of a scope, as a device does that has none.

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include <cstdint>

namespace opreplay::sim {

class FlushDenormals {
 public:
  explicit FlushDenormals(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    old_ = control();
    set_control(old_ | k_flush);
  }
  ~FlushDenormals() {
    if (wanted_) set_control(old_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr std::uint64_t k_flush = 0x8040;  // results (FTZ) and operands (DAZ)
  static std::uint64_t control() { return _mm_getcsr(); }
  static void set_control(std::uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
  static constexpr std::uint64_t k_flush = std::uint64_t{1} << 24;  // FPCR.FZ
  static std::uint64_t control() {
    std::uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set_control(std::uint64_t value) { __asm__ volatile("msr fpcr, %0" : : "r"(value)); }
#else
#error "the simulated device knows how to flush denormals on x86-64 and AArch64"
#endif

  bool wanted_;
  std::uint64_t old_ = 0;
};

}  // namespace opreplay::sim
