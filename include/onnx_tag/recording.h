// A recorded run of a model: the operations in order, each with the module that
// was active. The companion (python/onnx_tag) writes it, as
// docs/reference/schemas/recording.schema.json describes. --trace and --fx read
// it.
//
//   const Recording recording = ReadRecording(json);
//   for (const RecordedOperation& op : recording.trace.operations) ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/ids.h"

namespace onnx_tag {

// The command that records a run, for messages.
inline constexpr std::string_view kRecordCommand =
    "python -m onnx_tag record MODULE:FUNCTION -o recording.json";

// A tensor that flows between operations.
enum class FlowId : std::uint32_t {};

// Where in the Python code an operation ran.
enum class TracebackId : std::uint32_t {};

enum class FlowKind : std::uint8_t {
  kMade,       // by an operation
  kInput,      // an input of the model
  kParameter,  // a parameter, a buffer or another tensor of a module
  kConstant,   // existed before; its owner is unknown
};

struct RecordedFlow {
  FlowKind kind = FlowKind::kMade;
  bool has_shape = false;
  std::vector<std::int64_t> shape;  // -1: not known
  std::vector<FlowId> merges;       // the values that it consists of
};

// An operation that ran, or a node of an FX graph.
struct RecordedOperation {
  std::string op;      // "addmm": namespace and overload left out
  std::string module;  // dotted path; "" is the root
  std::string name;    // of an FX node
  TracebackId traceback = kNo<TracebackId>;  // kNo: none was recorded
  std::vector<FlowId> inputs;
  std::vector<FlowId> outputs;
};

// A function of the Python interface and the operations it became:
// operations [first, last).
struct RecordedFunction {
  std::string name;  // "linear": the last part
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Operations in the order in which they ran.
struct RecordedProgram {
  std::vector<RecordedOperation> operations;
  std::vector<RecordedFunction> functions;  // by `first`, not overlapping
  IdVector<FlowId, RecordedFlow> flows;

  bool empty() const { return operations.empty(); }
};

struct Recording {
  std::string file;       // for messages
  RecordedProgram trace;  // the section "events"
  RecordedProgram fx;     // the section "fx"
  // As Python prints them. Operations may name ones that do not exist.
  IdVector<TracebackId, std::string> tracebacks;

  // Empty: none.
  std::string_view Traceback(TracebackId id) const {
    return Index(id) < tracebacks.size() ? std::string_view(tracebacks[id])
                                         : std::string_view();
  }
};

// Throws Error(kUsage) with line and column if `json` is not a recording. If a
// section is missing, its program is empty.
Recording ReadRecording(std::string_view json);

}  // namespace onnx_tag
