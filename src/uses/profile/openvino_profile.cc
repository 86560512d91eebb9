// Times that OpenVINO measured, in three forms: the table of `benchmark_app
// -report_type detailed_counters`, the execution graph of `-exec_graph_path`,
// and get_profiling_info() as JSON.
#include <algorithm>
#include <array>
#include <optional>

#include "base/parse_number.h"
#include "base/text.h"
#include "file/json/reader.h"
#include "uses/profile/collector.h"

namespace onnx_tag::profile {
namespace {

constexpr std::string_view kTableHead = "layerName;execStatus;";

Profile ReadTable(Bytes text) {
  Collector collector("OpenVINO");
  std::size_t number = 0;
  for (const std::string_view line : Lines(text)) {
    ++number;
    const std::vector<std::string_view> cells = Split(line, ';');
    // Rows without a status are totals.
    if (cells.size() < 5 || !cells[1].ends_with("EXECUTED")) continue;
    const std::optional<double> time = ParseAllAsDouble(cells[4]);
    if (!time) {
      Fail(ErrorKind::kInput, "line {}: '{}' is not a time", number, cells[4]);
    }
    collector.Add({std::string(cells[0])}, cells[2], *time * 1000,
                  [&] { return Message("line {}", number); });
  }
  return collector.Take();
}

std::string WithoutEntities(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
      {{"&lt;", '<'},
       {"&gt;", '>'},
       {"&quot;", '"'},
       {"&apos;", '\''},
       {"&amp;", '&'}}};
  std::string plain;
  while (!text.empty()) {
    std::size_t taken = 1;
    char c = text.front();
    for (const auto& [entity, meaning] : kEntities) {
      if (!text.starts_with(entity)) continue;
      taken = entity.size();
      c = meaning;
    }
    plain += c;
    text.remove_prefix(taken);
  }
  return plain;
}

// The attribute of an XML tag; "" if it has none.
std::string Attribute(std::string_view tag, std::string_view name) {
  const std::string start = " " + std::string(name) + "=\"";
  const std::size_t at = tag.find(start);
  if (at == tag.npos) return "";
  tag.remove_prefix(at + start.size());
  return WithoutEntities(tag.substr(0, tag.find('"')));
}

Profile ReadGraph(Bytes text) {
  const Bytes whole = text;
  Collector collector("OpenVINO");
  std::string name;
  std::string op;
  while (true) {
    const std::size_t open = text.find('<');
    if (open == text.npos) return collector.Take();
    text.remove_prefix(open);
    const std::string_view tag = text.substr(0, text.find('>'));
    text.remove_prefix(tag.size());
    if (tag.starts_with("<layer ")) {
      name = Attribute(tag, "name");
      op = Attribute(tag, "type");
    } else if (tag.starts_with("<data ")) {
      const std::string said = Attribute(tag, "execTimeMcs");
      if (said.empty() || said == "not_executed") continue;
      const double time = ParseAllAsDouble(said).value_or(-1);
      std::vector<std::string> nodes;
      const std::string list = Attribute(tag, "originalLayersNames");
      for (const std::string_view node : Split(list, ',')) {
        if (!node.empty()) nodes.emplace_back(node);
      }
      if (nodes.empty()) nodes.push_back(name);
      collector.Add(nodes, op, time, [&] {
        const Bytes before = whole.substr(0, whole.size() - text.size());
        return Message("line {}",
                       1 + std::count(before.begin(), before.end(), '\n'));
      });
    }
  }
}

// [{"node_name": ..., "node_type": ..., "status": ..., "real_time": ...}, ...]
Profile ReadList(Bytes text) {
  Collector collector("OpenVINO");
  json::Reader reader(text, ErrorKind::kInput);
  reader.ForEachItem([&] {
    std::string name, op, status;
    double time = -1;
    json::Place place = reader.Here();
    reader.ForEachMember([&](std::string_view key) {
      if (key == "node_name") name = reader.String();
      if (key == "node_type") op = reader.String();
      if (key == "status") status = reader.String();
      if (key != "real_time") return;
      place = reader.Here();
      time = reader.Number();
    });
    if (!status.ends_with("EXECUTED")) return;
    collector.Add({name}, op, time, [&] { return reader.Where(place); });
  });
  return collector.Take();
}

}  // namespace

bool IsOpenVinoProfile(Bytes start) {
  return start.starts_with(kTableHead) ||
         (start.starts_with('<') && start.find("execTimeMcs") != Bytes::npos) ||
         (start.starts_with('[') &&
          start.find("\"node_name\"") != Bytes::npos &&
          start.find("\"real_time\"") != Bytes::npos);
}

Profile ReadOpenVinoProfile(Bytes text) {
  return text.starts_with('<')   ? ReadGraph(text)
         : text.starts_with('[') ? ReadList(text)
                                 : ReadTable(text);
}

}  // namespace onnx_tag::profile
