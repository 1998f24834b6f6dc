#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>

#include "harness/simdevice/device.h"

namespace opreplay::sim {
namespace {

/// CPU kernels refuse a generator of another device, so this one only carries a CPU generator.
class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(at::Generator host)
      : c10::GeneratorImpl(k_device, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        host_(std::move(host)) {}

  const at::Generator& host() const { return host_; }

  void set_current_seed(std::uint64_t seed) override { host_.set_current_seed(seed); }
  void set_offset(std::uint64_t offset) override { host_.set_offset(offset); }
  std::uint64_t get_offset() const override { return host_.get_offset(); }
  std::uint64_t current_seed() const override { return host_.current_seed(); }
  std::uint64_t seed() override { return host_.unsafeGetGeneratorImpl()->seed(); }
  void set_state(const c10::TensorImpl& state) override {
    host_.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return host_.unsafeGetGeneratorImpl()->get_state();
  }

 private:
  DeviceGenerator* clone_impl() const override { return new DeviceGenerator(host_.clone()); }

  at::Generator host_;
};

}  // namespace

at::Generator new_generator() {
  return at::make_generator<DeviceGenerator>(
      at::detail::createCPUGenerator(c10::default_rng_seed_val));
}

const at::Generator& default_generator() {
  static const at::Generator generator = new_generator();
  return generator;
}

at::Generator host_generator(const at::Generator& device_generator) {
  const auto* impl = dynamic_cast<DeviceGenerator*>(device_generator.unsafeGetGeneratorImpl());
  TORCH_CHECK(impl != nullptr, "expected a generator of ", k_device, ", found one of ",
              device_generator.device());
  return impl->host();
}

}  // namespace opreplay::sim
