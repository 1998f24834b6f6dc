"""Writes tests/data/schemas/torch-2.13-arguments.tsv: what torch itself says of the arguments and
returns of some operators, the outside source of schema_test.cpp.

    python tests/support/dump_schema_arguments.py > tests/data/schemas/torch-2.13-arguments.tsv

Columns: operator, argument ("-> name" = return), type, list size, keyword only, written, alias set
("-" = none, "?" = torch does not tell), default ("-" = none; text in hex after "str:").
"""

import json

import torch

# Chosen for odd types, defaults and alias marks; every 30th operator of libtorch comes on top.
CHOSEN = """
aten::_empty_affine_quantized aten::_foreach_add_.ScalarList aten::_linalg_eigh aten::_test_string_default
aten::add.Tensor aten::add.out aten::addmm aten::arange.start_step aten::avg_pool2d aten::batch_norm
aten::bernoulli_.float aten::cat aten::celu aten::chunk aten::clamp aten::contiguous aten::conv1d.padding
aten::conv2d aten::convolution aten::convolution_backward aten::cross_entropy_loss aten::div.Tensor_mode
aten::dropout aten::einsum aten::empty.memory_format aten::fft_fftn aten::format aten::gelu aten::index.Tensor
aten::index_put_ aten::isclose aten::layer_norm aten::linalg_matrix_norm aten::linear aten::logit aten::lstm.input
aten::lstrip aten::max_pool2d aten::meshgrid.indexing aten::nll_loss aten::norm.ScalarOpt_dim_dtype aten::pad
aten::randint aten::scaled_dot_product_attention aten::softmax.int aten::sort.float aten::split.Tensor
aten::stft.center aten::sum.dim_IntList aten::to.dtype_layout aten::topk aten::transpose_ aten::triangular_solve.X
aten::upsample_nearest2d.vec aten::view aten::where.ScalarSelf aten::index_add aten::addcmul aten::Delete.Dict_str
aten::__getitem__.t aten::_set_item.Tensor quantized::conv2d.new aten::dict.float aten::_fft_c2c aten::complex
""".split()

# c10::ScalarType, c10::MemoryFormat: torch shows these defaults as numbers.
ENUMS = {"ScalarType": {4: "i64", 6: "f32"}, "MemoryFormat": {0: "contiguous_format"}}


def default_text(argument):
    if not argument.has_default_value():
        return "-"
    value, kind = argument.default_value, str(argument.real_type)
    for enum, words in ENUMS.items():
        if enum in kind and isinstance(value, int):
            return words[value]
    if isinstance(value, str):
        return "str:" + value.encode().hex()
    if "float" in kind and isinstance(value, int):
        value = float(value)
    return json.dumps(value)


def full_name(schema):
    return schema.name + ("." + schema.overload_name if schema.overload_name else "")


def main():
    # Python registers operators of its own; those are not in libtorch's table.
    with open("opspecs/schemas/torch-2.13.txt") as table:
        shipped = [line.split("(")[0] for line in table if not line.startswith("#")]
    wanted = sorted(set(CHOSEN) & set(shipped) | set(shipped[::30]))
    schemas = {full_name(s): s for s in torch._C._jit_get_all_schemas()}
    print("# torch", torch.__version__.split("+")[0], "- made by tests/support/dump_schema_arguments.py")
    for name in wanted:
        schema = schemas[name]
        rows = [(a.name, a) for a in schema.arguments] + [("-> " + r.name, r) for r in schema.returns]
        for label, a in rows:
            alias = sorted(a.alias_info.before_set) if a.alias_info else []
            # Of Tensor(a!)[] Python shows that there is an alias set, but not which.
            hidden = a.alias_info and not alias
            alias = "?" if hidden else "|".join(s for s in alias if s != "*")
            print(name, label, a.real_type, a.N or 0, int(a.kwarg_only), int(a.is_write), alias or "-",
                  default_text(a), sep="\t")


main()
