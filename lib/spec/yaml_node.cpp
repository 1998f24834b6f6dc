#include "lib/spec/yaml_node.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "lib/base/text.h"

namespace opreplay {
namespace {

// Thrown out of the parser's callbacks: yaml-cpp recurses per level, so a bomb must be stopped
// where it is met, not after it was read.
struct Refused {
  int line, column;
  std::string message;
};

[[noreturn]] void refuse(const YAML::Mark& mark, std::string message) {
  throw Refused{mark.line + 1, mark.column + 1, std::move(message)};
}

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const YamlLimits& limits) : limits_(limits) {}

  YamlNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    leaf(mark, YamlNode::Kind::null, {}, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    leaf(mark, tag == "!" ? YamlNode::Kind::quoted : YamlNode::Kind::plain, value, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    // An anchor is known once its node is complete: an alias inside its own node ends here.
    if (found == anchors_.end()) refuse(mark, "an alias must not stand inside what it names");
    count(mark, found->second.size);
    check_depth(mark, found->second.height);
    put(found->second.node);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, YamlNode::Kind::sequence, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, YamlNode::Kind::map, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Anchored {
    YamlNode node;
    std::size_t size;
    int height;
  };
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    bool value_next = false;  // of a map: the key is there, its value is not
  };

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    refuse(mark, "tags are not part of this format; found " + excerpt(tag));
  }

  void check_depth(const YAML::Mark& mark, int height) {
    if (static_cast<int>(open_.size()) + height > limits_.max_depth)
      refuse(mark, fmt::format("nested more than {} levels deep", limits_.max_depth));
  }

  void count(const YAML::Mark& mark, std::size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > limits_.max_nodes)
      refuse(mark, fmt::format("more than {} values in one file, aliases expanded; keep literal "
                               "data in a safetensors file (values: {{file: ..., key: ...}})",
                               limits_.max_nodes));
  }

  static YamlNode node_at(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void leaf(const YAML::Mark& mark, YamlNode::Kind kind, const std::string& text,
            YAML::anchor_t anchor) {
    count(mark, 1);
    YamlNode node = node_at(mark, kind);
    node.text = text;
    remember(node, anchor, mark);
    put(std::move(node));
  }

  void open(const YAML::Mark& mark, const std::string& tag, YamlNode::Kind kind,
            YAML::anchor_t anchor) {
    check_tag(mark, tag);
    check_depth(mark, 1);
    count(mark, 1);
    open_.push_back({node_at(mark, kind), anchor, mark});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    remember(done.node, done.anchor, done.mark);
    put(std::move(done.node));
  }

  void put(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::map && !parent.value_next)
      parent.node.keys.push_back(std::move(node));
    else
      parent.node.values.push_back(std::move(node));
    if (parent.node.kind == YamlNode::Kind::map) parent.value_next = !parent.value_next;
  }

  // The copy kept for aliases counts too, so that nested anchors cannot multiply unseen.
  void remember(const YamlNode& node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (anchor == 0) return;
    const Extent extent = extent_of(node);
    count(mark, extent.size);
    anchors_[anchor] = {node, extent.size, extent.height};
  }

  struct Extent {
    std::size_t size = 1;
    int height = 0;
  };
  static Extent extent_of(const YamlNode& node) {
    Extent extent;
    for (const auto* children : {&node.keys, &node.values})
      for (const YamlNode& child : *children) {
        const Extent inner = extent_of(child);
        extent.size += inner.size;
        extent.height = std::max(extent.height, inner.height);
      }
    if (!node.is_scalar()) extent.height += 1;
    return extent;
  }

  YamlLimits limits_;
  YamlNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t nodes_ = 0;
};

}  // namespace

std::optional<YamlNode> parse_yaml(std::string_view text, Diagnostics& diagnostics,
                                   const YamlLimits& limits) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(limits);
    if (!parser.HandleNextDocument(builder)) {
      diagnostics.add(1, 1, "expected a YAML document, found nothing");
      return std::nullopt;
    }
    YamlNode root = builder.take_root();
    TreeBuilder second(limits);
    if (parser.HandleNextDocument(second)) {
      const YamlNode extra = second.take_root();
      diagnostics.add(extra.line, extra.column, "expected one YAML document, found a second one");
      return std::nullopt;
    }
    return root;
  } catch (const Refused& refused) {
    diagnostics.add(refused.line, refused.column, refused.message);
  } catch (const YAML::Exception& e) {
    diagnostics.add(e.mark.line + 1, e.mark.column + 1, "not valid YAML: " + e.msg);
  }
  return std::nullopt;
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
    case YamlNode::Kind::plain:
      return excerpt(node.text);
    case YamlNode::Kind::quoted:
      return "the quoted text " + excerpt(node.text);
  }
  return "";
}

std::optional<std::string> read_text_file(const std::string& file, std::int64_t max_bytes,
                                          Diagnostics& diagnostics) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (error || !std::filesystem::exists(status)) {
    diagnostics.add(0, 0, "cannot read: " + std::string(std::strerror(ENOENT)));
    return std::nullopt;
  }
  if (!std::filesystem::is_regular_file(status)) {
    diagnostics.add(0, 0, "cannot read: not a regular file");
    return std::nullopt;
  }
  const auto size = std::filesystem::file_size(file, error);
  if (!error && size > static_cast<std::uintmax_t>(max_bytes)) {
    diagnostics.add(0, 0, fmt::format("{} bytes; at most {} are read", size, max_bytes));
    return std::nullopt;
  }
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  if (stream && !error) {
    text.resize(static_cast<std::size_t>(size));
    stream.read(text.data(), static_cast<std::streamsize>(size));
    text.resize(static_cast<std::size_t>(stream.gcount()));
  }
  if (!stream || error) {
    diagnostics.add(0, 0, "cannot read: " + std::string(std::strerror(errno)));
    return std::nullopt;
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    diagnostics.add(1, 1, "expected UTF-8, found UTF-16 (its byte order mark): save it as UTF-8");
    return std::nullopt;
  }
  return text;
}

}  // namespace opreplay
