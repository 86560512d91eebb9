// Models nobody would export, and tags nobody would give: for the laws.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "onnx_tag/tagging.h"
#include "onnx_tag_schema.pb.h"

namespace onnx_tag::test {

using Random = std::mt19937;

// A number in [0, end).
inline std::uint32_t Below(Random& random, std::uint32_t end) {
  return static_cast<std::uint32_t>(random() % end);
}

// Quotes, newlines, NUL, invalid UTF-8, nothing, or plain.
std::string HostileText(Random& random);

// Graphs in attributes of any name, functions, training graphs, metadata of
// others and, where asked for, of ours.
schema::ModelProto GeneratedModel(Random& random, bool with_our_keys);

// The same message with length prefixes padded here and there.
std::string WithPaddedLengths(const google::protobuf::Descriptor& type,
                              std::string_view message, Random& random);

// Tags for every node of every graph, with hostile names everywhere. Depends
// on the number of nodes and on `seed` alone.
Tagging HostileTagging(const Model& model, std::uint32_t seed);

}  // namespace onnx_tag::test
