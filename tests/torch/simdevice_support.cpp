#include "tests/torch/simdevice_support.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Type.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace opreplay::test {
namespace {

const c10::Device k_device{c10::DeviceType::PrivateUse1, 0};

std::string type_of(const std::exception& error) {
  const std::string full = c10::demangle(typeid(error).name());
  return full.substr(full.rfind(':') + 1);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string outcome_of(const std::function<std::string()>& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    return type_of(error) + ": " + first_line(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return type_of(error) + ": " + first_line(error.what());
  }
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n; (n = ::read(fd, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  return text;
}

}  // namespace

void load_device() {
  if (::dlopen(OPREPLAY_SIMDEVICE, RTLD_NOW | RTLD_LOCAL) == nullptr)
    throw std::runtime_error(::dlerror());
}

std::string in_child(const std::function<std::string()>& body) {
  at::set_num_threads(1);  // forked children of a parent with threads hang
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    const std::string text = outcome_of(body);
    const bool written =
        ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  const std::string text = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return "exit " + std::to_string(WEXITSTATUS(status));
  return text;
}

std::string on_device(const std::string& fault_file, const std::function<std::string()>& body) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("opreplay-simdevice-" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path) << fault_file;
  const std::string result = in_child([&] {
    ::setenv("OPREPLAY_SIM_FILE", path.c_str(), 1);
    load_device();
    return body();
  });
  std::filesystem::remove(path);
  return result;
}

std::string with_fault(const std::string& keys, const std::function<std::string()>& body) {
  return on_device("simdevice: 1\nfaults:\n  - {name: planted, " + keys + "}\n", body);
}

at::Tensor host(std::initializer_list<float> values, c10::IntArrayRef sizes) {
  std::vector<float> copy(values);
  return at::from_blob(copy.data(), {static_cast<std::int64_t>(copy.size())}, at::kFloat)
      .clone()
      .view(sizes);
}

at::Tensor to_device(const at::Tensor& tensor) { return tensor.to(k_device); }

at::Tensor device(std::initializer_list<float> values, c10::IntArrayRef sizes) {
  return to_device(host(values, sizes));
}

void synchronize() {
  c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).synchronizeDevice(0);
}

std::string show(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU).to(at::kDouble).contiguous();
  std::ostringstream out;
  out.precision(9);
  const double* values = flat.const_data_ptr<double>();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    out << (i == 0 ? "" : " ");
    // The sign of a NaN is of no interest.
    std::isnan(values[i]) ? out << "nan" : out << values[i];
  }
  return out.str();
}

std::vector<c10::IValue> call(const std::string& name, std::vector<c10::IValue> args) {
  const auto dot = name.find('.');
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
      name.substr(0, dot).c_str(), dot == std::string::npos ? "" : name.substr(dot + 1).c_str());
  torch::jit::Stack stack(args.begin(), args.end());
  op.schema().checkAndNormalizeInputs(stack);
  op.callBoxed(&stack);
  return {stack.begin(), stack.end()};
}

}  // namespace opreplay::test
