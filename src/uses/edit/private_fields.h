// Text that a model does not need, and that may be private: doc strings, stack
// traces, the producer, and every entry of metadata that is not ours. What is
// removed depends on the field, never on what the text says.
//
//   PrivateFields found(model);
//   for (const TextField& field : found.removed()) ...
//   PrivateWriter writer(model, found);  // the file without them
//   writer.Write(sink);
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file/wire/rewrite.h"
#include "onnx_tag/model.h"

namespace onnx_tag::edit {

// All texts in fields of one name.
struct TextField {
  std::string message;  // "node", "graph", "value", "tensor", "model", ...
  std::string field;    // a key of metadata, or "doc_string", "name", ...
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // of the file
  std::string example;      // the first text
};

class PrivateFields {
 public:
  // `model` must outlive it. `release` as for ReadModel.
  explicit PrivateFields(const Model& model, const Release& release = {});

  // By message and field.
  const std::vector<TextField>& removed() const { return removed_; }
  // Names, domains, strings that the model computes with, our tags, and fields
  // that ONNX does not have.
  const std::vector<TextField>& kept() const { return kept_; }
  std::uint64_t removed_bytes() const { return removed_bytes_; }

  // For PrivateWriter: what to remove, and the messages around it.
  struct Removal {
    wire::MessageId message;
    Bytes whole;
  };
  const std::vector<wire::Message>& tree() const { return tree_; }
  const std::vector<Removal>& removals() const { return removals_; }

 private:
  class Visitor;

  std::vector<TextField> removed_, kept_;
  std::uint64_t removed_bytes_ = 0;
  std::vector<wire::Message> tree_;
  std::vector<Removal> removals_;
};

// The file without these texts; all other bytes stay.
class PrivateWriter {
 public:
  // Both must outlive it.
  PrivateWriter(const Model& model, const PrivateFields& fields);

  std::uint64_t new_size() const { return rewrite_.new_size(); }
  void Write(wire::Rewrite::Sink& sink) const;

 private:
  wire::Rewrite rewrite_;
};

}  // namespace onnx_tag::edit
