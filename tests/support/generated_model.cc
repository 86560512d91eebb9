#include "support/generated_model.h"

#include <google/protobuf/descriptor.h>

#include <array>

#include "file/wire/encoding.h"
#include "file/wire/field_reader.h"
#include "support/onnx_models.h"

namespace onnx_tag::test {
namespace {

using namespace std::string_literals;

void AddEntries(schema::NodeProto& node, Random& random, bool ours) {
  for (std::uint32_t i = Below(random, 3); i-- > 0;) {
    AddMetadata(node, HostileText(random), HostileText(random));
  }
  if (Below(random, 4) == 0) AddMetadata(node, "namespace", "theirs");
  if (!ours) return;
  if (Below(random, 2) == 0) {
    AddMetadata(node, "pkg.onnx_tag.module", HostileText(random));
    AddMetadata(node, "layer_ann", "ours");
    AddMetadata(node, "pkg.onnx_tag.wrote", "layer_ann,not.a.key,");
  }
  if (Below(random, 4) == 0) AddMetadata(node, "pkg.onnx_tag.future", "");
}

void FillGraph(schema::GraphProto& graph, Random& random, bool ours,
               int levels);

void AddGraphs(schema::NodeProto& node, Random& random, bool ours, int levels) {
  schema::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(HostileText(random));
  if (Below(random, 2) == 0) {
    FillGraph(*attribute.mutable_g(), random, ours, levels - 1);
  }
  for (std::uint32_t i = Below(random, 3); i-- > 0;) {
    FillGraph(*attribute.add_graphs(), random, ours, levels - 1);
  }
}

void FillNode(schema::NodeProto& node, Random& random, bool ours, int levels) {
  if (Below(random, 8) != 0) node.set_op_type("Op" + HostileText(random));
  if (Below(random, 4) != 0) node.set_name(HostileText(random));
  if (Below(random, 4) == 0) node.set_domain("domain");
  for (std::uint32_t i = Below(random, 3); i-- > 0;) {
    node.add_input(HostileText(random));
  }
  for (std::uint32_t i = Below(random, 3); i-- > 0;) {
    node.add_output(HostileText(random));
  }
  // Of a tag's length prefix: what follows may push it over 127 or 16383.
  if (Below(random, 4) == 0) {
    node.set_doc_string(std::string(Below(random, 200), 'd'));
  }
  // Metadata of nodes that hold graphs stands after them in the file.
  if (levels > 0 && Below(random, 3) == 0) {
    AddGraphs(node, random, ours, levels);
  }
  AddEntries(node, random, ours);
}

void FillGraph(schema::GraphProto& graph, Random& random, bool ours,
               int levels) {
  graph.set_name(HostileText(random));
  for (std::uint32_t i = Below(random, 5); i-- > 0;) {
    FillNode(*graph.add_node(), random, ours, levels);
  }
  if (Below(random, 2) == 0) graph.add_input()->set_name(HostileText(random));
  if (Below(random, 2) == 0) graph.add_output()->set_name(HostileText(random));
  if (Below(random, 2) == 0) {
    schema::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(HostileText(random));
    tensor.set_raw_data(std::string(Below(random, 300), '\x01'));
    tensor.add_dims(3);
  }
}

}  // namespace

std::string HostileText(Random& random) {
  static const std::array<std::string, 14> kTexts = {
      "",
      "x",
      "/encoder/layer.0/MatMul_3",
      "encoder.layer.0.weight",
      "quote\" and ' and \\ ",
      "line\nbreak\r\ttab",
      "nul\0inside"s,
      "\x80\xbf\xff",
      "\xc0\xaf\xed\xa0\x80",
      "\xf4\x8f\xbd\xbf\xf4\x8f\xbf\xbf",
      "</script>{}%s\x1b[2J",
      "pkg.onnx_tag",
      "a.b..c/d",
      std::string(130, 'L')};
  return kTexts[Below(random, kTexts.size())];
}

schema::ModelProto GeneratedModel(Random& random, bool with_our_keys) {
  schema::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name(HostileText(random));
  FillGraph(*model.mutable_graph(), random, with_our_keys, 3);
  if (Below(random, 2) == 0) {
    schema::FunctionProto& function = *model.add_functions();
    function.set_name(HostileText(random));
    function.set_domain("domain");
    for (int i = 0; i < 2; ++i) {
      FillNode(*function.add_node(), random, with_our_keys, 2);
    }
  }
  if (Below(random, 3) == 0) {
    schema::TrainingInfoProto& training = *model.add_training_info();
    FillGraph(*training.mutable_algorithm(), random, with_our_keys, 1);
    FillGraph(*training.mutable_initialization(), random, with_our_keys, 0);
  }
  if (Below(random, 2) == 0) AddMetadata(model, HostileText(random), "theirs");
  if (with_our_keys) {
    AddMetadata(model, "pkg.onnx_tag.version", "0.0.9");
    if (Below(random, 2) == 0) {
      AddMetadata(model, "pkg.onnx_tag.layout", "1:5,2:x,,9999999999:3,0:1");
    }
  }
  return model;
}

std::string WithPaddedLengths(const google::protobuf::Descriptor& type,
                              std::string_view message, Random& random) {
  std::string out;
  wire::FieldReader reader(message);
  for (wire::Field field; reader.Next(field);) {
    const google::protobuf::FieldDescriptor* const known =
        type.FindFieldByNumber(static_cast<int>(field.number));
    if (!field.IsBytes()) {
      out.append(field.whole);
      continue;
    }
    const std::string payload =
        known != nullptr && known->message_type() != nullptr
            ? WithPaddedLengths(*known->message_type(), field.bytes, random)
            : std::string(field.bytes);
    const std::size_t least = wire::VarintSize(payload.size());
    const std::size_t width =
        least + Below(random, static_cast<std::uint32_t>(wire::kMaxLengthWidth -
                                                         least + 1));
    wire::AppendTag(out, field.number, field.type);
    wire::AppendPaddedVarint(out, payload.size(),
                             Below(random, 2) == 0 ? least : width);
    out.append(payload);
  }
  return out;
}

Tagging HostileTagging(const Model& model, std::uint32_t seed) {
  Random random(seed);
  Tagging tagging;
  tagging.strategy = HostileText(random);
  tagging.root.name = HostileText(random);
  tagging.roles.Add(Role());
  for (int i = 0; i < 6; ++i) {
    tagging.roles.Add(
        {.type = static_cast<RoleType>(Below(random, 20)),
         .component = HostileText(random),
         .attention_kind = static_cast<AttentionKind>(i % 3),
         .layer = static_cast<std::int32_t>(Below(random, 3)) - 1});
  }
  // A name of 1 MB is for one node of a few models: the rest stay cheap.
  const bool huge = seed % 16 == 0;
  for (const NodeId node : model.Nodes()) {
    ModuleId module = ModuleTree::kRoot;
    for (std::uint32_t depth = Below(random, 5); depth-- > 0;) {
      const std::string atom = HostileText(random);
      if (atom.empty() || atom.find('.') != std::string::npos) continue;
      module = tagging.modules.Child(module, atom);
      if (Below(random, 2) == 0) {
        tagging.modules.SetClass(module, HostileText(random));
      }
    }
    if (huge && Index(node) == 1) {
      module = tagging.modules.Add("huge." + std::string(1 << 20, 'm'));
    }
    tagging.tags.Add(
        {.module = module,
         .role = MakeId<RoleId>(
             Below(random, static_cast<std::uint32_t>(tagging.roles.size()))),
         .confidence = static_cast<Confidence>(Below(random, 4)),
         .source = static_cast<Source>(Below(random, 13))});
  }
  return tagging;
}

}  // namespace onnx_tag::test
