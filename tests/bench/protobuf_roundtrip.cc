// What a program with protobuf's classes does to tag a model: parse, add an
// entry to every node, serialize. The peer that onnx-tag is measured beside.
//
//   protobuf_roundtrip IN OUT
#include <fcntl.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <unistd.h>

#include <cstdio>

#include "onnx_tag_schema.pb.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: protobuf_roundtrip IN OUT\n");
    return 2;
  }
  const int in = open(argv[1], O_RDONLY | O_CLOEXEC);
  onnx_tag::schema::ModelProto model;
  if (in < 0 || !model.ParseFromFileDescriptor(in)) {
    std::fprintf(stderr, "protobuf_roundtrip: cannot read %s\n", argv[1]);
    return 1;
  }
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    auto* entry = node.add_metadata_props();
    entry->set_key("pkg.onnx_tag.module");
    entry->set_value(node.name());
  }
  const int out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (out < 0 || !model.SerializeToFileDescriptor(out) || close(out) != 0) {
    std::fprintf(stderr, "protobuf_roundtrip: cannot write %s\n", argv[2]);
    return 1;
  }
  // As onnx-tag does: memory goes back with the process.
  _exit(0);
}
