#include "tests/unit/model/pt2_fixture.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <limits>

#include "opreplay/error.h"

namespace opreplay::test {
namespace {

template <class T>
void put(std::string& to, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    to += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
}

/// Bit by bit, unlike the table of the code under test.
std::uint32_t bitwise_crc32(std::string_view text) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

nlohmann::json tensor_meta(const std::vector<std::int64_t>& sizes, int dtype) {
  nlohmann::json size_list = nlohmann::json::array(), stride_list = nlohmann::json::array();
  std::int64_t stride = 1;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    size_list.insert(size_list.begin(), nlohmann::json{{"as_int", *size}});
    stride_list.insert(stride_list.begin(), nlohmann::json{{"as_int", stride}});
    stride *= *size;
  }
  return {{"dtype", dtype},
          {"sizes", size_list},
          {"requires_grad", false},
          {"device", {{"type", "cpu"}, {"index", nullptr}}},
          {"strides", stride_list},
          {"storage_offset", {{"as_int", 0}}},
          {"layout", 7}};
}

}  // namespace

std::string zip_bytes(const std::vector<ZipMember>& members, const ZipOptions& options) {
  std::string bytes, directory;
  for (const ZipMember& member : members) {
    const auto local = static_cast<std::uint32_t>(bytes.size());
    const auto size = static_cast<std::uint32_t>(member.data.size());
    const std::uint32_t crc = member.crc.value_or(bitwise_crc32(member.data));
    std::string padding;
    if (member.padding >= 4) {
      padding = "FB";
      put(padding, static_cast<std::uint16_t>(member.padding - 4));
      padding.append(member.padding - 4, 'Z');
    }
    put(bytes, 0x04034b50u);
    put(bytes, std::uint16_t{20});
    put(bytes, member.flags);
    put(bytes, member.method);
    bytes.append(4, '\0');   // time and date
    bytes.append(12, '\0');  // crc and sizes: with flag 8 they are not here
    put(bytes, static_cast<std::uint16_t>(member.name.size()));
    put(bytes, static_cast<std::uint16_t>(padding.size()));
    bytes += member.name + padding + member.data;

    put(directory, 0x02014b50u);
    put(directory, std::uint16_t{20});
    put(directory, std::uint16_t{20});
    put(directory, member.flags);
    put(directory, member.method);
    directory.append(4, '\0');
    put(directory, crc);
    put(directory, member.stored.value_or(size));
    put(directory, member.size.value_or(size));
    put(directory, static_cast<std::uint16_t>(member.name.size()));
    put(directory, static_cast<std::uint16_t>(member.extra.size()));
    directory.append(10, '\0');  // comment, disk, attributes
    put(directory, member.local_offset.value_or(local));
    directory += member.name + member.extra;
  }
  const std::uint64_t directory_offset = options.offset.value_or(bytes.size());
  const std::uint64_t count = options.count.value_or(members.size());
  const std::uint64_t directory_size = directory.size();
  bytes += directory;
  if (options.zip64_end) {
    const std::uint64_t end = bytes.size();
    put(bytes, 0x06064b50u);
    put(bytes, std::uint64_t{44});
    put(bytes, std::uint16_t{45});
    put(bytes, std::uint16_t{45});
    bytes.append(8, '\0');  // disks
    put(bytes, count);
    put(bytes, count);
    put(bytes, directory_size);
    put(bytes, directory_offset);
    put(bytes, 0x07064b50u);
    put(bytes, std::uint32_t{0});
    put(bytes, end);
    put(bytes, std::uint32_t{1});
  }
  const auto field16 = [&](std::uint64_t value) {
    put(bytes, static_cast<std::uint16_t>(options.zip64_end ? 0xffff : value));
  };
  const auto field32 = [&](std::uint64_t value) {
    put(bytes, static_cast<std::uint32_t>(options.zip64_end ? 0xffffffff : value));
  };
  put(bytes, 0x06054b50u);
  put(bytes, std::uint32_t{0});
  field16(count);
  field16(count);
  field32(directory_size);
  field32(directory_offset);
  put(bytes, static_cast<std::uint16_t>(options.comment.size()));
  return bytes + options.comment;
}

nlohmann::json small_model() {
  nlohmann::json model = nlohmann::json::parse(R"({
    "graph_module": {
      "graph": {
        "inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "x"}}],
        "outputs": [{"as_tensor": {"name": "y"}}],
        "nodes": [],
        "tensor_values": {},
        "sym_int_values": {}, "sym_bool_values": {}, "sym_float_values": {},
        "is_single_tensor_return": false, "custom_obj_values": {}
      },
      "signature": {
        "input_specs": [
          {"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
          {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
        "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]
      },
      "module_call_graph": []
    },
    "schema_version": {"major": 8, "minor": 20},
    "torch_version": "2.13.0+cpu"
  })");
  add_tensor(model, "p_w", {3, 2});
  add_tensor(model, "x", {2, 3});
  add_tensor(model, "y", {2, 2});
  add_node(model, "torch.ops.aten.mm.default",
           {argument("self", tensor_argument("x")), argument("mat2", tensor_argument("p_w"))},
           {tensor_argument("y")});
  return model;
}

void add_tensor(nlohmann::json& model, const std::string& name,
                const std::vector<std::int64_t>& sizes, int dtype) {
  model["graph_module"]["graph"]["tensor_values"][name] = tensor_meta(sizes, dtype);
}

void add_node(nlohmann::json& model, const std::string& target,
              const std::vector<nlohmann::json>& inputs,
              const std::vector<nlohmann::json>& outputs) {
  model["graph_module"]["graph"]["nodes"].push_back(
      {{"target", target},
       {"inputs", inputs},
       {"outputs", outputs},
       {"metadata",
        {{"nn_module_stack", "L__self__,,model.Net;L__self__fc,fc,torch.nn.modules.linear.Linear"},
         {"stack_trace",
          "File \"model.py\", line 7, in forward\n"
          "  File \"/env/lib/python3.11/site-packages/torch/nn/modules/linear.py\", line 134, in "
          "forward"}}}});
}

nlohmann::json& part(nlohmann::json& model, const char* pointer) {
  return model[nlohmann::json::json_pointer(pointer)];
}

nlohmann::json tensor_argument(const std::string& name) {
  return {{"as_tensor", {{"name", name}}}};
}

nlohmann::json argument(const std::string& name, nlohmann::json value, int kind) {
  return {{"name", name}, {"arg", std::move(value)}, {"kind", kind}};
}

std::vector<ZipMember> pt2_members(const std::string& model_json) {
  const nlohmann::json weights = {{"config",
                                   {{"w",
                                     {{"path_name", "weight_0"},
                                      {"is_param", true},
                                      {"use_pickle", false},
                                      {"tensor_meta", tensor_meta({3, 2}, 7)}}}}}};
  return {
      {.name = "net/data/weights/weight_0", .data = std::string(24, 'w'), .padding = 15},
      {.name = "net/data/weights/model_weights_config.json", .data = weights.dump()},
      {.name = "net/data/constants/model_constants_config.json", .data = R"({"config": {}})"},
      {.name = "net/models/model.json", .data = model_json},
      {.name = "net/data/sample_inputs/model.pt", .data = "pickled"},
      {.name = "net/.data/version", .data = "6\n"},
  };
}

std::string pt2_bytes(const std::string& model_json) {
  return zip_bytes(pt2_members(model_json), {.zip64_end = true});
}
std::string pt2_bytes(const nlohmann::json& model) { return pt2_bytes(model.dump()); }

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    REQUIRE(error.code() == ExitCode::invalid_input);
    return error.what();
  }
  return {};
}

}  // namespace opreplay::test
