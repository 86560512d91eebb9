// The JSON file beside a model. It has all data that commands need, except
// `explain`. docs/reference/schemas/sidecar.schema.json describes it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// The part of a sidecar about its model.
struct SidecarModel {
  std::string file;  // its name, without folders
  std::uint64_t bytes = 0;
  std::string fingerprint;
  std::int64_t ir_version = 0;
  std::string producer;
  std::string dialect;
  // Inputs and outputs of the main graph, without weights.
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  // Elements of weights that belong to no module.
  std::uint64_t unplaced_parameters = 0;
};

// The part of a sidecar about `model`, which was read from a file of this name.
SidecarModel AboutModel(const std::string& file_name, const Model& model,
                        const Tagging& tagging);

// Passes the document to `write` in pieces.
void WriteSidecar(const Model& model, const Tagging& tagging,
                  const SidecarModel& about,
                  const std::function<void(Bytes)>& write);

// The numbers of nodes in a row of `modules`.
struct SidecarCounts {
  std::optional<std::uint64_t> nodes;
  std::optional<std::uint64_t> total_nodes;
};

struct Sidecar {
  SidecarModel model;
  Model graph;                               // names and edges, without weights
  Tagging tagging;                           // one tag for each node of `graph`
  IdVector<ModuleId, SidecarCounts> counts;  // of the modules with a row
};

// Throws Error(kInput) if `json` is not a sidecar of onnx-tag.
Sidecar ReadSidecar(std::string_view json);

// A sidecar without its modules and nodes.
struct SidecarGlance {
  SidecarModel model;
  std::string version;    // of the program that wrote it
  std::string placement;  // of the network that placed nodes; "": none did
  std::string strategy;
  bool torch_nn = false;
  std::string options;
  std::string root_class;
  Coverage coverage;
};

// Reads only the first and last lines, so its time does not depend on the size.
// nullopt if the text does not have the layout of WriteSidecar().
std::optional<SidecarGlance> GlanceAtSidecar(std::string_view json);

// A hash of names, operators and edges, without the weights.
// "xxh64:" and 16 hexadecimal digits.
std::string Fingerprint(const Model& model);

// Whether `sidecar` was written for the graph of `model`: by the fingerprint,
// or, as version 0.1 made it in another way, node by node.
bool BelongsTo(const Sidecar& sidecar, const Model& model);

}  // namespace onnx_tag
