// Tested by tests/core/tagging/sidecar_test.cc and sidecar_glance_test.cc.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/lists.h"
#include "core/tagging/node_json.h"
#include "core/tagging/role_index.h"
#include "core/tagging/scope_path.h"
#include "core/tagging/sidecar.h"
#include "core/tagging/words.h"
#include "file/json/reader.h"
#include "file/model/model_builder.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

using json::Kind;

// Below zero in a model that is broken; such a sidecar is read all the same.
std::int64_t SignedNumber(json::Reader& json) {
  const double number = json.Number();
  return std::abs(number) < 9e18 ? static_cast<std::int64_t>(number) : 0;
}

Confidence ReadConfidence(json::Reader& json) {
  return WordOr(kConfidenceNames, json.StringOrNull(), Confidence::kLow);
}

Role ReadRole(json::Reader& json) {
  Role role;
  json.ForEachMember([&](std::string_view key) {
    if (key == "type") {
      role.type = WordOr(kRoleTypeNames, json.StringOrNull(), RoleType::kOther);
    }
    if (key == "component") role.component = json.StringOrNull();
    if (key == "attention_kind") {
      role.attention_kind = WordOr(kAttentionKindNames, json.StringOrNull(),
                                   AttentionKind::kNone);
    }
    if (key == "confidence") role.confidence = ReadConfidence(json);
    if (key == "layer" && json.Peek() == Kind::kNumber) {
      role.layer = static_cast<std::int32_t>(json.Whole(INT32_MAX));
    }
  });
  return role;
}

[[noreturn]] void RefuseFormat() {
  Fail(ErrorKind::kInput, "\"format\" is not \"onnx-tag/1\"");
}

// What stands in front of the modules.
struct Head : SidecarGlance {
  RootClass root;
  bool has_format = false;
  bool has_model = false;
  bool has_root = false;

  // Takes the value of `key` if it stands here.
  void ReadMember(json::Reader& json, std::string_view key) {
    if (key == "format") {
      has_format =
          json.Peek() == Kind::kString && json.String() == "onnx-tag/1";
      if (!has_format) RefuseFormat();
    }
    if (key == "tool") {
      json.ForEachMember([&](std::string_view member) {
        if (member == "version") version = json.StringOrNull();
        if (member == "placement") placement = json.StringOrNull();
      });
    }
    if (key == "model") ReadModel(json);
    if (key == "root") ReadRoot(json);
    if (key == "strategy") strategy = json.StringOrNull();
    if (key == "options") options = json.StringOrNull();
    if (key == "granularity") torch_nn = json.StringOrNull() == "torch_nn";
  }

 private:
  void ReadModel(json::Reader& json) {
    has_model = true;
    json.ForEachMember([&](std::string_view key) {
      if (key == "file") model.file = json.StringOrNull();
      if (key == "bytes") model.bytes = json.Whole();
      if (key == "fingerprint") model.fingerprint = json.StringOrNull();
      if (key == "producer") model.producer = json.StringOrNull();
      if (key == "dialect") model.dialect = json.StringOrNull();
      if (key == "inputs") model.inputs = json.Strings();
      if (key == "outputs") model.outputs = json.Strings();
      if (key == "unplaced_parameters")
        model.unplaced_parameters = json.Whole();
      if (key == "ir_version") model.ir_version = SignedNumber(json);
    });
  }

  void ReadRoot(json::Reader& json) {
    has_root = true;
    json.ForEachMember([&](std::string_view key) {
      if (key == "class") root.name = json.StringOrNull();
      if (key == "confidence") root.confidence = ReadConfidence(json);
      if (key == "alternatives") root.alternatives = json.Strings();
    });
  }
};

class Reader {
 public:
  explicit Reader(std::string_view text) : json_(text, ErrorKind::kInput) {}

  Sidecar Read() {
    Head head;
    bool modules = false;
    bool nodes = false;
    if (json_.Peek() != Kind::kObject) RefuseFormat();
    json_.ForEachMember([&](std::string_view key) {
      if (key == "modules") {
        modules = true;
        json_.ForEachItem([&] { ReadModule(); });
      } else if (key == "nodes") {
        nodes = true;
        json_.ForEachItem([&] { ReadNode(); });
      } else {
        head.ReadMember(json_, key);
      }
    });
    if (!head.has_format) RefuseFormat();
    Require(head.has_model, "model");
    Require(head.has_root, "root");
    Require(modules, "modules");
    Require(nodes, "nodes");
    sidecar_.model = std::move(head.model);
    sidecar_.graph =
        graph_.Build(sidecar_.model.inputs, sidecar_.model.outputs);
    Tagging& tagging = sidecar_.tagging;
    SortBy(tagging.found, &FoundBlock::module);
    tagging.root = std::move(head.root);
    tagging.strategy = std::move(head.strategy);
    tagging.options = std::move(head.options);
    tagging.format.torch_nn = head.torch_nn;
    tagging.dialect = sidecar_.model.dialect;
    return std::move(sidecar_);
  }

 private:
  static void Require(bool found, std::string_view key) {
    if (!found) Fail(ErrorKind::kInput, "it has no \"{}\"", key);
  }

  // A value that repeats from node to node is told by its text as it is.
  template <typename Id, typename Read>
  Id ReadOnce(std::unordered_map<std::string_view, Id>& known,
              const Read& read) {
    const std::size_t start = json_.position();
    const auto [at, added] = known.try_emplace(json_.Skip());
    if (added) {
      json_.Return(start);
      at->second = read();
    }
    return at->second;
  }

  RoleId ReadRoleOf() {
    if (json_.Peek() == Kind::kObject) {
      return ReadOnce(role_texts_, [&] { return roles_.Add(ReadRole(json_)); });
    }
    json_.Null();
    return RoleId{0};
  }

  void ReadModule() {
    std::string path;
    std::string class_name;
    ModuleFacts facts;
    GivenPaths given;
    facts.class_confidence = Confidence::kLow;
    SidecarCounts counts;
    FoundBlock block;
    bool is_found = false;
    json_.ForEachMember([&](std::string_view key) {
      if (key == "path") path = json_.String();
      if (key == "class") class_name = json_.StringOrNull();
      if (key == "class_confidence") {
        facts.class_confidence = ReadConfidence(json_);
      }
      if (key == "candidates") facts.candidates = json_.Strings();
      if (key == "hierarchy_tag") given.hierarchy_tag = json_.StringOrNull();
      if (key == "role_path") given.role_path = json_.StringOrNull();
      if (key == "parameters") facts.parameters = json_.Whole();
      if (key == "nodes") counts.nodes = json_.Whole();
      if (key == "total_nodes") counts.total_nodes = json_.Whole();
      if (key == "found") is_found = json_.Bool();
      if (key == "description") block.description = json_.String();
    });
    Tagging& tagging = sidecar_.tagging;
    const ModuleId id = tagging.modules.Add(path);
    tagging.facts.resize(
        std::max(tagging.facts.size(), tagging.modules.size()));
    tagging.modules.SetClass(id, class_name);
    tagging.facts[id] = std::move(facts);
    if (is_found) {
      block.module = id;
      tagging.found.push_back(std::move(block));
    }
    tagging.Give(id) = std::move(given);
    sidecar_.counts.resize(tagging.facts.size());
    sidecar_.counts[id] = counts;
  }

  void ReadNode() {
    Tagging& tagging = sidecar_.tagging;
    NodeRow node;
    inputs_.clear();
    outputs_.clear();
    Tag tag;
    RoleId role{0};
    Confidence confidence = Confidence::kLow;
    Source source = Source::kScope;
    std::optional<EvidenceKind> evidence;
    const NodeId id = MakeId<NodeId>(tagging.tags.size());
    json_.ForEachMember([&](std::string_view key) {
      if (key == "graph") node.graph = json_.StringView();
      if (key == "index") node.index = json_.Count();
      if (key == "name") node.name = json_.StringView();
      if (key == "op") node.op = json_.StringView();
      if (key == "domain") node.domain = json_.StringView();
      if (key == "inputs") ReadNames(inputs_);
      if (key == "outputs") ReadNames(outputs_);
      if (key == "module" && json_.Peek() != Kind::kNull) {
        tag.module = ReadOnce(
            module_texts_, [&] { return tagging.modules.Add(json_.String()); });
      }
      if (key == "semantic") role = ReadRoleOf();
      if (key == "confidence") confidence = ReadConfidence(json_);
      if (key == "source") {
        source = WordOr(kSourceNames, json_.StringOrNull(), Source::kScope);
      }
      if (key == "evidence" && json_.Peek() == Kind::kString) {
        evidence = WordToEnum<EvidenceKind>(kEvidenceNames, json_.StringView());
      }
      if (key == "origins") {
        for (const std::string& origin : json_.Strings()) {
          tagging.origins.push_back({id, tagging.modules.Add(origin)});
        }
      }
      if (key == "scope_path") node.scope_path = json_.StringOrNull();
      if (key == "source_line") {
        if (const auto line = TakeSourceLine(json_)) {
          tagging.lines.Set(id, line->view());
        }
      }
      if (key == "frames") ReadFrames(id);
    });
    if (tag.tagged()) {
      tag.role = role;
      tag.confidence = confidence;
      tag.source = source;
      tag.evidence = evidence.value_or(EvidenceOf(source, confidence));
    }
    // As a rule, the name has it.
    if (node.scope_path && *node.scope_path == ScopeOfName(node.name)) {
      node.scope_path.reset();
    }
    node.inputs = inputs_;
    node.outputs = outputs_;
    graph_.Add(node);
    tagging.tags.Add(tag);
  }

  void ReadNames(std::vector<std::string_view>& names) {
    json_.ForEachItem([&] { names.push_back(json_.StringView()); });
  }

  void ReadFrames(NodeId node) {
    std::vector<ReadSourceLine> frames;
    json_.ForEachItem([&] {
      if (std::optional<ReadSourceLine> frame = TakeSourceLine(json_)) {
        frames.push_back(std::move(*frame));
      }
    });
    std::vector<SourceLine> views;
    views.reserve(frames.size());
    for (const ReadSourceLine& frame : frames) views.push_back(frame.view());
    sidecar_.tagging.lines.SetFrames(node, views);
  }

  json::Reader json_;
  ModelBuilder graph_;
  std::vector<std::string_view> inputs_;  // of the node that is read
  std::vector<std::string_view> outputs_;
  Sidecar sidecar_;
  RoleIndex roles_{sidecar_.tagging};
  std::unordered_map<std::string_view, ModuleId> module_texts_;
  std::unordered_map<std::string_view, RoleId> role_texts_;
};

// What GlanceAtSidecar() looks through at each end.
constexpr std::size_t kHeadLimit = 1 << 20;
constexpr std::size_t kTailLimit = 16 * 1024;

template <std::size_t kCount>
void ReadCounts(json::Reader& json,
                const std::array<std::string_view, kCount>& words,
                std::array<std::uint64_t, kCount>& counts) {
  json.ForEachMember([&](std::string_view key) {
    const auto at = std::find(words.begin(), words.end(), key);
    if (at == words.end()) return;
    counts[static_cast<std::size_t>(at - words.begin())] = json.Whole();
  });
}

Coverage ReadCoverage(json::Reader& json) {
  Coverage coverage;
  bool has_sure = false;
  json.ForEachMember([&](std::string_view key) {
    if (key == "nodes") coverage.nodes = json.Whole();
    if (key == "tagged") coverage.tagged = json.Whole();
    if (key == "sure") coverage.sure = json.Whole();
    has_sure |= key == "sure";
    if (key == "by_confidence") {
      ReadCounts(json, kConfidenceNames, coverage.by_confidence);
    }
    if (key == "by_source") ReadCounts(json, kSourceNames, coverage.by_source);
    if (key == "by_type") ReadCounts(json, kRoleTypeNames, coverage.by_type);
  });
  // Before version 0.3 nothing was found in the graph alone.
  if (!has_sure) {
    coverage.sure =
        coverage.tagged - std::min(coverage.tagged, coverage.by_confidence[0]);
  }
  return coverage;
}

}  // namespace

Sidecar ReadSidecar(std::string_view json) {
  try {
    return Reader(json).Read();
  } catch (const Error& error) {
    throw error.In("not a sidecar of onnx-tag");
  }
}

std::optional<SidecarGlance> GlanceAtSidecar(std::string_view json) {
  // In a name a line break would be written \n: these can stand in none.
  const std::size_t head_end =
      json.substr(0, kHeadLimit).find(",\n  \"modules\": [");
  const std::string_view end =
      json.substr(json.size() - std::min(json.size(), kTailLimit));
  const std::size_t tail = end.rfind("\n  \"statistics\": ");
  if (head_end == std::string_view::npos || tail == std::string_view::npos) {
    return std::nullopt;
  }
  try {
    const std::string first_text = std::string(json.substr(0, head_end)) + "}";
    const std::string last_text = "{" + std::string(end.substr(tail));
    json::Reader first(first_text, ErrorKind::kInput);
    json::Reader last(last_text, ErrorKind::kInput);
    Head head;
    first.ForEachMember(
        [&](std::string_view key) { head.ReadMember(first, key); });
    if (!head.has_format) return std::nullopt;
    head.root_class = std::move(head.root.name);
    last.ForEachMember([&](std::string_view key) {
      if (key == "statistics") head.coverage = ReadCoverage(last);
    });
    return head;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace onnx_tag
