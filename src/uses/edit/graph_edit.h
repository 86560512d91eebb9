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
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "file/wire/rewrite.h"
#include "onnx_tag/model.h"

namespace onnx_tag::edit {

// Names that no value of a model has yet: "a", or "a~2", "a~3", ... where it is
// taken.
class FreeNames {
 public:
  // `model` must outlive it.
  explicit FreeNames(const Model& model) : model_(model) {}

  std::string Take(const std::string& wanted);

 private:
  const Model& model_;
  std::unordered_set<std::string> given_;
  // Numbers that others of a name have are not tried again.
  std::unordered_map<std::string, std::uint32_t> last_;
};

class GraphEdit {
 public:
  // A field of the file, or of its main graph.
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
    kOther,     // never left out
  };
  struct Part {
    Kind kind;
    std::uint32_t index;      // among those of its kind, in file order
    std::string_view name;    // of the value; of metadata, the key
    Bytes bytes;              // the encoded message
    Bytes whole;              // and its tag and length
    wire::MessageId message;  // what it is a field of: 0 is the file
  };

  // Calls `use` with every field but the graph, in file order. `release` is
  // told what the walk has left behind.
  static void ForEach(const Model& model,
                      const std::function<void(const Part&)>& use,
                      const Release& release = {});

  // Whether it is a ValueInfoProto.
  static bool IsInfo(Kind kind);

  // `model` must outlive this.
  explicit GraphEdit(const Model& model);

  // Walks over the file once and leaves out what `keep` says no to; it is not
  // asked of kOther.
  void Keep(const std::function<bool(const Part&)>& keep,
            const Release& release = {});

  // Adds encoded fields of the graph behind `part`, one of its fields. Only
  // while Keep() asks about it.
  void Insert(const Part& part, std::string encoded_graph_fields);

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
  const Model& model_;
  std::vector<wire::Message> tree_;  // the file, and each piece of its graph
  std::optional<wire::Rewrite> rewrite_;
  std::unordered_map<std::string_view, Bytes> infos_;
  std::string appended_;
  std::vector<std::string> inserted_;
};

}  // namespace onnx_tag::edit
