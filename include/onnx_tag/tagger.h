// All that most programs need, in one class: load a model, map it, ask, write.
//
//   onnx_tag::Tagger tagger("bert.onnx");
//   tagger.Map();
//   for (const onnx_tag::TaggedNode& node : tagger.Find("type=attention"))
//     Use(node.name, node.module);
//   tagger.WriteModel("bert.tagged.onnx");
//
// It includes nothing but the standard library. The other headers show the
// parts: graphs, modules, claims. Functions throw onnx_tag::Error, a
// std::runtime_error whose text says what is wrong and what to do.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace onnx_tag {

struct TaggerOptions {
  std::string strategy = "enhanced_semantic";
  // What the companion recorded from the PyTorch model
  // (docs/guide/companion.md): modules, calls, operations, source lines; "":
  // none.
  std::string recording_file;
  // A module map alone: of a recording, or a sidecar of ModelInsider or
  // winml-cli; "": none.
  std::string hierarchy_file;
};

// A node as the sidecar describes it. Untagged: `module` is "-", the texts
// behind it are empty.
struct TaggedNode {
  std::string address;  // "#17", "12:then_branch#3"
  std::string name;
  std::string op;
  std::string module;      // "" is the root
  std::string class_name;  // "" if unknown
  std::string confidence;  // "certain", "high", "medium", "low"
  std::string source;      // "scope", "parameter", ...
};

class Tagger {
 public:
  // Reads the model, but no weight.
  explicit Tagger(const std::string& model_file);
  ~Tagger();
  Tagger(Tagger&&) noexcept;
  Tagger& operator=(Tagger&&) noexcept;

  // Finds the module of each node. Call it before Find(), WriteModel() and
  // WriteSidecar(); what needs it and does not have it maps with the defaults.
  void Map(const TaggerOptions& options = {});

  std::size_t node_count() const;
  std::size_t tagged_count();

  // The nodes that match a query in the language of `onnx-tag query`
  // (docs/reference/query.md), in the order of the file.
  std::vector<TaggedNode> Find(const std::string& query);

  // The model with its tags, the sidecar, and the model without any tag: the
  // files that `onnx-tag tag` and `onnx-tag strip` write. A file appears whole
  // or not at all; the model itself is never replaced.
  void WriteModel(const std::string& path);
  void WriteSidecar(const std::string& path);
  void WriteStripped(const std::string& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace onnx_tag
