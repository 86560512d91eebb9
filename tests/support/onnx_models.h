// Models made with protobuf's generated classes, the tests' independent hand.
#pragma once

#include <google/protobuf/text_format.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "file/wire/rewrite.h"
#include "onnx_tag/model.h"
#include "onnx_tag_schema.pb.h"

namespace onnx_tag::test {

// A model in protobuf's text format; `ir_version: 8 graph { ... }`.
inline schema::ModelProto ModelFromText(const std::string& text) {
  schema::ModelProto model;
  if (!google::protobuf::TextFormat::ParseFromString(text, &model)) {
    throw std::runtime_error("not a model in text format");
  }
  return model;
}

inline std::string BytesFromText(const std::string& text) {
  return ModelFromText(text).SerializeAsString();
}

inline schema::NodeProto* AddNode(
    schema::GraphProto& graph, const std::string& op, const std::string& name,
    std::initializer_list<std::string> inputs = {},
    std::initializer_list<std::string> outputs = {}) {
  schema::NodeProto* const node = graph.add_node();
  node->set_op_type(op);
  if (!name.empty()) node->set_name(name);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return node;
}

template <typename Message>
void AddMetadata(Message& message, const std::string& key,
                 const std::string& value) {
  schema::StringStringEntryProto* const entry = message.add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

// Collects what is written.
class StringSink : public wire::Rewrite::Sink {
 public:
  explicit StringSink(Bytes source) : source_(source) {}
  void Copy(std::uint64_t offset, std::uint64_t size) override {
    text_.append(source_.substr(offset, size));
  }
  void Write(Bytes bytes) override { text_.append(bytes); }
  const std::string& text() const { return text_; }

 private:
  Bytes source_;
  std::string text_;
};

}  // namespace onnx_tag::test
