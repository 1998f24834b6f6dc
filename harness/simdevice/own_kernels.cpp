#include "harness/simdevice/own_kernels.h"

#include <map>

namespace opreplay::sim {
namespace {

Arithmetic g_declared;
thread_local const Arithmetic* t_scope = nullptr;

}  // namespace

OwnKernel find_own_kernel(std::string_view qualified_name) {
  static const std::map<std::string_view, OwnKernel> kernels{
      {"aten::mm", &own_mm},
      {"aten::mm.out", &own_mm},
      {"aten::bmm", &own_mm},
      {"aten::bmm.out", &own_mm},
      {"aten::mv", &own_mm},
      {"aten::dot", &own_mm},
      {"aten::addmm", &own_addmm},
      {"aten::addmm_", &own_addmm},
      {"aten::addmm.out", &own_addmm},
      {"aten::addmv", &own_addmm},
      {"aten::addmv_", &own_addmm},
      {"aten::addmv.out", &own_addmm},
      {"aten::baddbmm", &own_addmm},
      {"aten::baddbmm_", &own_addmm},
      {"aten::baddbmm.out", &own_addmm},
      {"aten::convolution_overrideable", &own_convolution},
      {"aten::sum", &own_sum},
      {"aten::sum.dim_IntList", &own_sum_dim},
      {"aten::sum.IntList_out", &own_sum_dim},
      {"aten::mean", &own_mean},
      {"aten::mean.dim", &own_mean_dim},
      {"aten::mean.out", &own_mean_dim},
      {"aten::_softmax", &own_softmax},
      {"aten::_softmax.out", &own_softmax},
      {"aten::_log_softmax", &own_log_softmax},
      {"aten::_log_softmax.out", &own_log_softmax},
      {"aten::native_layer_norm", &own_layer_norm},
  };
  const auto found = kernels.find(qualified_name);
  return found == kernels.end() ? nullptr : found->second;
}

const Arithmetic& current_arithmetic() { return t_scope != nullptr ? *t_scope : g_declared; }

void declare_arithmetic(const Arithmetic& declared) { g_declared = declared; }

ArithmeticScope::ArithmeticScope(const Arithmetic& how) : how_(how), outer_(t_scope) {
  t_scope = &how_;
}

ArithmeticScope::~ArithmeticScope() { t_scope = outer_; }

}  // namespace opreplay::sim
