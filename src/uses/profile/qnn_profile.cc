// Cycles that Qualcomm's backend counted: the table of ONNX Runtime's provider
// (profiling_level=detailed, profiling_file_path), and its trace of operators.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/parse_number.h"
#include "base/text.h"
#include "file/json/reader.h"
#include "uses/profile/collector.h"

namespace onnx_tag::profile {
namespace {

using json::Kind;

constexpr std::string_view kQnnHead = "Msg Timestamp,Message,Time,";

struct QnnOperator {
  std::string type;
  std::vector<std::string> nodes;
};
using QnnOperators = std::unordered_map<std::string, QnnOperator>;

// {"subgraph_traces": [{"op_mappings": [{"dst_name", "sources": [...]}]}]}
QnnOperators ReadTrace(Bytes text) {
  QnnOperators operators;
  json::Reader json(text, ErrorKind::kInput);
  const auto read_source = [&](QnnOperator& made) {
    std::string name;
    bool node = false;
    json.ForEachMember([&](std::string_view key) {
      if (json.Peek() != Kind::kString) return;
      if (key == "name") name = json.String();
      if (key == "type") node = json.String() == "OP";
    });
    if (node) made.nodes.push_back(std::move(name));
  };
  const auto read_operator = [&] {
    std::string name;
    QnnOperator made;
    json.ForEachMember([&](std::string_view key) {
      const Kind kind = json.Peek();
      if (key == "dst_name" && kind == Kind::kString) name = json.String();
      if (key == "dst_qnn_op_type" && kind == Kind::kString) {
        made.type = json.String();
      }
      if (key != "sources" || kind != Kind::kArray) return;
      json.ForEachItem([&] { read_source(made); });
    });
    // ONNX Runtime's own Reshapes around a Gemm, and other nodes that it names
    // after their operator, are no nodes of the model.
    const auto made_by_runtime = [&](const std::string& node) {
      return node.starts_with("gemm_input_reshape") ||
             node.starts_with("gemm_output_reshape") || node == made.type ||
             node.starts_with(made.type + "_token_");
    };
    if (!std::all_of(made.nodes.begin(), made.nodes.end(), made_by_runtime)) {
      std::erase_if(made.nodes, made_by_runtime);
    }
    operators.insert_or_assign(std::move(name), std::move(made));
  };
  json.ForEachMember([&](std::string_view key) {
    if (key != "subgraph_traces") return;
    json.ForEachItem([&] {
      json.ForEachMember([&](std::string_view part) {
        if (part == "op_mappings") json.ForEachItem(read_operator);
      });
    });
  });
  return operators;
}

// "a/Conv" of "a/Conv:OpId_24 (cycles)"; "" if it is no operator.
std::string_view OperatorIn(std::string_view identifier) {
  const std::size_t at = identifier.rfind("OpId_");
  if (at == 0 || at == identifier.npos || !identifier.ends_with("(cycles)")) {
    return {};
  }
  const std::string_view name = identifier.substr(0, at);
  const std::size_t end = name.find_last_not_of(" \t:");
  return end == name.npos ? std::string_view() : name.substr(0, end + 1);
}

// The cycles of one run, and its time.
struct QnnRun {
  struct Row {
    std::string name;
    std::vector<std::string> nodes;  // where the table names them
    double cycles;
  };
  std::vector<Row> rows;
  double cycles = 0;
  double microseconds = 0;

  // Cycles are not microseconds: the run's time is divided by them.
  void AddTo(const QnnOperators& operators, Collector& collector) const {
    if (rows.empty()) return;
    if (!(cycles > 0 && microseconds > 0)) {
      Fail(ErrorKind::kInput,
           "a run has no row 'Accelerator (execute) time' in cycles or in "
           "microseconds, so its cycles cannot be turned into times");
    }
    for (const Row& row : rows) {
      const auto at = operators.find(row.name);
      const bool known = at != operators.end() && !at->second.nodes.empty();
      const std::vector<std::string>& nodes =
          known ? at->second.nodes : row.nodes;
      collector.Add(nodes, at == operators.end() ? "" : at->second.type,
                    row.cycles * microseconds / cycles, [&] {
                      return Message("row '{}'", Short{row.name, 200});
                    });
    }
    collector.EndRun();
  }
};

}  // namespace

bool IsQnnProfile(Bytes start) { return start.starts_with(kQnnHead); }

Profile ReadQnnProfile(Bytes text, Bytes op_trace) {
  QnnOperators operators;
  try {
    if (!op_trace.empty()) operators = ReadTrace(op_trace);
  } catch (const Error& error) {
    throw error.In("not the trace of QNN's operators (qnn_op_trace.json)");
  }
  Collector collector("QNN");
  QnnRun run;
  std::size_t number = 0;
  for (const std::string_view line : Lines(text)) {
    ++number;
    const std::vector<std::string_view> cells = Split(line, ',');
    // The file is appended to: its head may come again.
    if (cells.size() < 7 || cells[0] == "Msg Timestamp") continue;
    const std::string_view name = OperatorIn(cells[6]);
    const bool root = cells[5] == "ROOT";
    const bool in_cycles = cells[6] == "Accelerator (execute) time (cycles)";
    const bool in_time = cells[6] == "Accelerator (execute) time";
    if (name.empty() && !(root && (in_cycles || in_time))) continue;
    const std::optional<double> time = ParseAllAsDouble(cells[2]);
    if (!time) {
      Fail(ErrorKind::kInput, "line {}: '{}' is not a time", number, cells[2]);
    }
    if (!name.empty()) {
      QnnRun::Row row{std::string(name), {}, *time};
      for (const std::string_view node :
           Split(cells.size() > 7 ? cells[7] : std::string_view(), ';')) {
        if (!node.empty()) row.nodes.emplace_back(node);
      }
      if (row.nodes.empty()) row.nodes.push_back(row.name);
      run.rows.push_back(std::move(row));
    } else if (in_cycles) {
      run.AddTo(operators, collector);
      run = {.rows = {}, .cycles = *time};
    } else {
      run.microseconds = *time;
    }
  }
  run.AddTo(operators, collector);
  return collector.Take();
}

}  // namespace onnx_tag::profile
