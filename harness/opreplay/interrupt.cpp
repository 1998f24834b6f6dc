#include "harness/opreplay/interrupt.h"

#include <array>
#include <csignal>

namespace opreplay::command {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;
constexpr std::array k_signals = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, k_signals.size()> g_previous;

void note(int) { g_interrupted = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  g_interrupted = 0;
  struct sigaction action {};
  action.sa_handler = note;
  // The second one finds the default action again and ends the process.
  action.sa_flags = SA_RESETHAND;
  for (std::size_t i = 0; i < k_signals.size(); ++i)
    sigaction(k_signals[i], &action, &g_previous[i]);
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < k_signals.size(); ++i)
    sigaction(k_signals[i], &g_previous[i], nullptr);
}

bool InterruptGuard::interrupted() { return g_interrupted != 0; }

void block_sigpipe() { std::signal(SIGPIPE, SIG_IGN); }

}  // namespace opreplay::command
