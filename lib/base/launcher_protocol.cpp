#include "lib/base/launcher_protocol.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "opreplay/error.h"

namespace opreplay {
namespace {

struct Packet {
  ControlKind kind;
  std::uint32_t text_bytes;
  std::uint64_t worker;
  std::int64_t value;
};

constexpr std::size_t k_max_descriptors = 3;

/// Ancillary data with room for k_max_descriptors.
union Ancillary {
  cmsghdr align;
  char bytes[CMSG_SPACE(k_max_descriptors * sizeof(int))];
};

[[noreturn]] void fail_errno(const char* what) {
  throw Error(ExitCode::internal, std::string(what) + ": " + std::strerror(errno));
}

void take_descriptors(msghdr& header, std::vector<Fd>& descriptors) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
}

}  // namespace

bool send_control(int fd, const ControlMessage& message, std::span<const int> descriptors) {
  const std::size_t text_bytes = std::min(message.text.size(), k_control_text_bytes);
  Packet packet{message.kind, static_cast<std::uint32_t>(text_bytes), message.worker,
                message.value};
  iovec parts[2] = {{&packet, sizeof packet}, {const_cast<char*>(message.text.data()), text_bytes}};
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = 2;
  Ancillary ancillary{};
  if (!descriptors.empty()) {
    if (descriptors.size() > k_max_descriptors)
      throw Error(ExitCode::internal, "a control message takes at most 3 descriptors");
    const std::size_t bytes = descriptors.size_bytes();
    header.msg_control = ancillary.bytes;
    header.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(c), descriptors.data(), bytes);
  }
  while (::sendmsg(fd, &header, MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return false;
    fail_errno("cannot send to the other side of the launcher's control socket");
  }
  return true;
}

Received receive_control(int fd, Waiting waiting, ControlMessage& message,
                         std::vector<Fd>& descriptors) {
  Packet packet{};
  char text[k_control_text_bytes];
  iovec parts[2] = {{&packet, sizeof packet}, {text, sizeof text}};
  Ancillary ancillary{};
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = 2;
  header.msg_control = ancillary.bytes;
  header.msg_controllen = sizeof ancillary.bytes;
  const int flags = MSG_CMSG_CLOEXEC | (waiting == Waiting::never ? MSG_DONTWAIT : 0);
  ssize_t got = ::recvmsg(fd, &header, flags);
  while (got < 0 && errno == EINTR) got = ::recvmsg(fd, &header, flags);
  if (got < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Received::nothing;
    if (errno == ECONNRESET) return Received::closed;
    fail_errno("cannot receive from the launcher's control socket");
  }
  descriptors.clear();
  take_descriptors(header, descriptors);
  if (got == 0) return Received::closed;
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
      static_cast<std::size_t>(got) != sizeof packet + packet.text_bytes)
    throw Error(ExitCode::internal, "malformed message on the launcher's control socket");
  message = {packet.kind, packet.worker, packet.value, std::string(text, packet.text_bytes)};
  return Received::message;
}

std::string config_value(std::string_view config, std::string_view key) {
  while (!config.empty()) {
    const std::string_view line = config.substr(0, config.find('\n'));
    config.remove_prefix(std::min(config.size(), line.size() + 1));
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == '=')
      return std::string(line.substr(key.size() + 1));
  }
  return {};
}

std::string config_of_worker(std::string_view config) {
  const std::size_t gap = config.find("\n\n");
  return gap == std::string_view::npos ? std::string() : std::string(config.substr(gap + 2));
}

}  // namespace opreplay
