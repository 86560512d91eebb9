// A new model out of an old one: fields of the file and of its main graph are
// left out, others are added, and the rest is copied as it stands.
//
//   GraphEdit edit(model);
//   edit.Keep([&](const GraphEdit::Part& part) { return ...; });
//   edit.Append(encoded_graph_fields);
//   edit.Finish();
//   if (edit.new_size() > kMaxModelBytes) refuse;
//   edit.Write(sink);
//
// Weights are spans of the old file: they are never held.
#ifndef ONNX_TAG_EDIT_GRAPH_EDIT_H_
#define ONNX_TAG_EDIT_GRAPH_EDIT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx_tag/model.h"
#include "wire/rewrite.h"

namespace onnx_tag::edit {

class GraphEdit {
 public:
  // A field that may be left out.
  enum class Kind {
    kNode,
    kInitializer,  // dense or sparse
    kInput,
    kOutput,
    kValueInfo,
    kAnnotation,  // quantization_annotation
    kFunction,
    kTraining,
    kMetadata,  // of the model
  };
  struct Part {
    Kind kind;
    std::uint32_t index;    // among those of its kind, in file order
    std::string_view name;  // of the value; of metadata, the key
  };

  // `model` must outlive this.
  explicit GraphEdit(const Model& model);

  // Walks the main graph once and leaves out what `keep` says no to. `release`
  // is told what the walk has left behind.
  void Keep(const std::function<bool(const Part&)>& keep,
            const Release& release = {});

  // What the file says of a value, as a ValueInfoProto; empty if it says
  // nothing. After Keep().
  Bytes InfoOf(std::string_view value) const;

  // Adds encoded fields at the end of the main graph.
  void Append(std::string encoded_graph_fields);

  // Works out all lengths. Nothing can be changed after that.
  void Finish();

  std::uint64_t new_size() const { return rewrite_->new_size(); }
  void Write(wire::Rewrite::Sink& sink) const;

 private:
  struct Place {
    Bytes bytes;
    wire::MessageId message;
  };
  void KeepInGraph(const Place& graph,
                   const std::function<bool(const Part&)>& keep,
                   const Release& release);

  const Model& model_;
  std::vector<wire::Message> tree_;  // the file, and each piece of its graph
  std::optional<wire::Rewrite> rewrite_;
  std::unordered_map<std::string_view, Bytes> infos_;
  std::string appended_;
  std::uint32_t counts_[9] = {};
  std::uint64_t released_ = 0;
};

}  // namespace onnx_tag::edit

#endif  // ONNX_TAG_EDIT_GRAPH_EDIT_H_
