"""A model of many nodes: the graph of a .pt2 repeated, each copy on values of its own."""

import json
import zipfile


def renamed(value, names, suffix):
    """The JSON with every name of `names` given the suffix."""
    if isinstance(value, dict):
        return {key: renamed(item, names, suffix) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names, suffix) for item in value]
    return value + suffix if isinstance(value, str) and value in names else value


def write(source, target, nodes):
    """Repeats the graph of `source` until it has `nodes` nodes; weights stay as they are."""
    with zipfile.ZipFile(source) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    place = next(name for name in entries if name.endswith("models/model.json"))
    program = json.loads(entries[place])
    graph = program["graph_module"]["graph"]
    given = {arg["name"] for item in graph["inputs"] for arg in item.values()
             if isinstance(arg, dict)}
    values = graph["tensor_values"]
    made = set(values) - given
    once, tensors = graph["nodes"], dict(values)
    while len(graph["nodes"]) < nodes:
        suffix = f"_{len(graph['nodes'])}"
        graph["nodes"] = graph["nodes"] + renamed(once, made, suffix)
        values.update({name + suffix: tensors[name] for name in made})
    entries[place] = json.dumps(program).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return len(graph["nodes"])
