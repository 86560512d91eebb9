#include <unordered_map>

#include "base/text.h"
#include "clues/recording/rows.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"

namespace onnx_tag {
namespace {

constexpr std::string_view kFormat = "onnx-tag-recording/1";

// "aten.addmm.default" -> "addmm", "torch.nn.functional.linear" -> "linear".
std::string OperationName(std::string_view text) {
  for (const std::string_view space : {"aten.", "prims.", "aten::"}) {
    if (!text.starts_with(space)) continue;
    text.remove_prefix(space.size());
    return std::string(text.substr(0, text.find('.')));
  }
  const std::size_t dot = text.rfind('.');
  return std::string(dot == std::string_view::npos ? text
                                                   : text.substr(dot + 1));
}

class Reader : Rows {
 public:
  explicit Reader(std::string_view text)
      : Rows(text), text_(text), program_(&recording_.trace) {}

  Recording Read() {
    bool known = false;
    ForEachMember([&](std::string_view key) {
      if (key == "format") {
        ReadFormat();
      } else if (key == "values") {
        ReadValues();
      } else if (key == "inputs") {
        ReadInputs();
      } else if (key == "functions") {
        ReadFunctions();
      } else if (key == "events") {
        ReadOperations(recording_.trace, &Reader::ReadEvent);
      } else if (key == "fx") {
        ReadOperations(recording_.fx, &Reader::ReadFxNode);
      } else if (key == "tracebacks") {
        ForEachItem([&] { recording_.tracebacks.Add(json_.String()); });
      } else {
        known = known || key == "modules";
        json_.Skip();
      }
    });
    if (!known && recording_.trace.empty() && recording_.fx.empty()) {
      Fail(ErrorKind::kUsage, "not a recording of onnx-tag: no \"modules\"");
    }
    CheckFunctions();
    return std::move(recording_);
  }

 private:
  using ReadRow = void (Reader::*)(RecordedOperation&);

  void ReadFormat() {
    const json::Place place = json_.Here();
    const std::string format = json_.String();
    if (format == kFormat) return;
    json_.FailAt(place, "the format is \"{}\", but this version reads \"{}\"",
                 format, kFormat);
  }

  // A value's number: no recording has more of them than bytes.
  FlowId Flow() {
    const json::Place place = json_.Here();
    const std::uint32_t number = json_.Count();
    if (number >= text_.size()) {
      json_.FailAt(place, "value {} does not exist", number);
    }
    auto& flows = program_->flows;
    if (number >= flows.size()) flows.resize(number + 1);
    return MakeId<FlowId>(number);
  }

  // A shape; for several results a list of them, of which the first counts.
  bool ReadShape(std::vector<std::int64_t>& shape) {
    if (!IsNext(json::Kind::kArray)) {
      json_.Skip();
      return false;
    }
    bool plain = true;
    bool first = true;
    ForEachItem([&] {
      switch (json_.Peek()) {
        case json::Kind::kNumber:
          shape.push_back(Size());
          break;
        case json::Kind::kArray:
          if (first) {
            ReadShape(shape);
          } else {
            json_.Skip();
          }
          break;
        case json::Kind::kNull:
          plain = false;
          json_.Skip();
          break;
        default:  // a name for a size that is not fixed
          json_.Skip();
          shape.push_back(-1);
      }
      first = false;
    });
    return plain || !shape.empty();
  }

  void ReadValues() {
    std::uint32_t number = 0;
    ForEachItem([&] {
      auto& flows = recording_.trace.flows;
      if (number >= flows.size()) flows.resize(number + 1);
      RecordedFlow flow;
      ForEachMember([&](std::string_view key) {
        if (key == "shape") {
          flow.has_shape = ReadShape(flow.shape);
        } else if (key == "kind" && IsNext(json::Kind::kString)) {
          flow.kind = KindOf(json_.String());
        } else if (key == "merges") {
          ForEachItem([&] { flow.merges.push_back(Flow()); });
        } else {
          json_.Skip();
        }
      });
      recording_.trace.flows[MakeId<FlowId>(number++)] = std::move(flow);
    });
  }

  static FlowKind KindOf(const std::string& word) {
    if (word == "input") return FlowKind::kInput;
    if (word == "constant") return FlowKind::kConstant;
    return FlowKind::kParameter;
  }

  void ReadInputs() {
    ForEachItem([&] {
      ForEachMember([&](std::string_view key) {
        if (key == "value" && IsNext(json::Kind::kNumber)) {
          recording_.trace.flows[Flow()].kind = FlowKind::kInput;
        } else {
          json_.Skip();
        }
      });
    });
  }

  void ReadFunctions() {
    ForEachItem([&] {
      RecordedFunction function;
      ForEachMember([&](std::string_view key) {
        if (key == "name" && IsNext(json::Kind::kString)) {
          function.name = OperationName(json_.String());
        } else if (key == "events") {
          std::vector<std::uint32_t> span;
          ForEachItem([&] { span.push_back(json_.Count()); });
          if (span.size() == 2) {
            function.first = span[0];
            function.last = span[1];
          }
        } else {
          json_.Skip();
        }
      });
      recording_.trace.functions.push_back(std::move(function));
    });
  }

  // They come in the order in which they ran; what overlaps is nobody's.
  void CheckFunctions() {
    auto& functions = recording_.trace.functions;
    const std::size_t count = recording_.trace.operations.size();
    std::uint32_t end = 0;
    std::erase_if(functions, [&](const RecordedFunction& function) {
      if (function.first < end || function.first >= function.last ||
          function.last > count) {
        return true;
      }
      end = function.last;
      return false;
    });
  }

  void ReadOperations(RecordedProgram& program, ReadRow read) {
    program_ = &program;
    ForEachItem([&] {
      RecordedOperation operation;
      (this->*read)(operation);
      if (keep_) program.operations.push_back(std::move(operation));
    });
    program_ = &recording_.trace;
  }

  // A number is a value of a run, a word a node of FX, and a list holds
  // several; constants are passed over.
  void ReadInput(std::vector<FlowId>& inputs) {
    const bool is_fx = program_ == &recording_.fx;
    if (IsNext(json::Kind::kArray)) {
      ForEachItem([&] { ReadInput(inputs); });
    } else if (is_fx && IsNext(json::Kind::kString)) {
      inputs.push_back(FxFlow(json_.String()));
    } else if (!is_fx && IsNext(json::Kind::kNumber)) {
      inputs.push_back(Flow());
    } else {
      json_.Skip();
    }
  }

  void ReadEvent(RecordedOperation& event) {
    keep_ = true;
    std::vector<std::int64_t> shape;
    bool has_shape = false;
    ForEachMember([&](std::string_view key) {
      if (key == "op" && IsNext(json::Kind::kString)) {
        event.op = OperationName(json_.String());
      } else if (key == "module" && IsNext(json::Kind::kString)) {
        event.module = json_.String();
      } else if (key == "inputs") {
        ReadInput(event.inputs);
      } else if (key == "kwargs") {
        ForEachMember([&](std::string_view) { ReadInput(event.inputs); });
      } else if (key == "outputs" || key == "writes") {
        ForEachItem([&] { ReadInput(event.outputs); });
      } else if (key == "shapes") {
        has_shape = ReadShape(shape);
      } else if (key == "traceback") {
        event.traceback = MakeId<TracebackId>(json_.Count());
      } else {
        json_.Skip();
      }
    });
    if (!has_shape || event.outputs.empty()) return;
    RecordedFlow& flow = recording_.trace.flows[event.outputs.front()];
    flow.has_shape = true;
    flow.shape = std::move(shape);
  }

  FlowId FxFlow(const std::string& name) {
    const auto [at, added] = fx_flows_.emplace(name, FlowId{0});
    if (added) at->second = recording_.fx.flows.Add(RecordedFlow());
    return at->second;
  }

  void ReadFxNode(RecordedOperation& node) {
    std::string kind;
    RecordedFlow flow;
    bool parameter = false;
    ForEachMember([&](std::string_view key) {
      const bool text = IsNext(json::Kind::kString);
      if (key == "name" && text) {
        node.name = json_.String();
      } else if (key == "op" && text) {
        kind = json_.String();
      } else if (key == "target" && text) {
        node.op = OperationName(json_.String());
      } else if (key == "module" && text) {
        node.module = json_.String();
      } else if (key == "inputs") {
        ReadInput(node.inputs);
      } else if (key == "kwargs") {
        ForEachMember([&](std::string_view) { ReadInput(node.inputs); });
      } else if (key == "shape") {
        flow.has_shape = ReadShape(flow.shape);
      } else if (key == "traceback") {
        node.traceback = MakeId<TracebackId>(json_.Count());
      } else {
        parameter = parameter || key == "parameter";
        json_.Skip();
      }
    });
    if (parameter || kind == "get_attr") {
      flow.kind = FlowKind::kParameter;
    } else if (kind == "placeholder") {
      flow.kind = FlowKind::kInput;
    }
    keep_ = kind != "placeholder" && kind != "get_attr" && kind != "output";
    const FlowId id = FxFlow(node.name);
    recording_.fx.flows[id] = std::move(flow);
    node.outputs = {id};
  }

  std::string_view text_;
  Recording recording_;
  RecordedProgram* program_;  // whose values numbers are
  std::unordered_map<std::string, FlowId> fx_flows_;
  bool keep_ = true;
};

}  // namespace

Recording ReadRecording(std::string_view json) { return Reader(json).Read(); }

}  // namespace onnx_tag
