#include "commands/read/profile_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "json/writer.h"
#include "tagging/version.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

std::string Milliseconds(std::int64_t microseconds) {
  return fmt::format("{:.3f}", static_cast<double>(microseconds) / 1000.0);
}

double ShareOf(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0
                    : static_cast<double>(part) / static_cast<double>(whole);
}

// Rounding to microseconds may leave a holder a few less than nothing.
std::uint64_t AtLeastNothing(std::int64_t time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time, 0));
}

// "ReorderInput, Cast": what the kernels are that no node was found for.
std::string OperatorsOf(const ProfileReport& report, const std::string& why) {
  std::map<std::string, std::int64_t> times;
  for (const UnplacedKernel& kernel : report.unplaced) {
    if (kernel.why == why) times[kernel.op] += kernel.self;
  }
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [op, time] : times) sorted.emplace_back(-time, op);
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMost); ++i) {
    if (!text.empty()) text += ", ";
    text += Printable(sorted[i].second, 40);
  }
  return sorted.size() > kMost ? text + ", ..." : text;
}

void PrintTable(const ProfileReport& report, const ProfileOptions& options,
                Terminal& terminal) {
  const bool modules = options.by == ProfileKey::kModule;
  terminal.Out(fmt::format(
      "{}: {} ms in kernels, {} in {}\n\n", Printable(report.profile, 200),
      Milliseconds(report.total), Count(report.kernel_runs, "call"),
      Count(report.model_runs, "run")));
  const std::string_view key = EnumToWord(kProfileKeyNames, options.by);
  std::size_t widest = 20;
  const std::size_t count =
      options.top == 0 ? report.rows.size()
                       : std::min<std::size_t>(report.rows.size(), options.top);
  for (std::size_t i = 0; i < count; ++i) {
    widest = std::max(widest, Printable(report.rows[i].name, 70).size());
  }
  const auto line = [&](const std::string& self, const std::string& total,
                        const std::string& share, const std::string& calls,
                        const std::string& name, const std::string& detail) {
    std::string text = fmt::format("{:>12}", self);
    if (modules) text += fmt::format(" {:>12}", total);
    text += fmt::format(" {:>7} {:>9}  ", share, calls);
    text +=
        detail.empty() ? name : fmt::format("{:<{}}  {}", name, widest, detail);
    terminal.Out(text + "\n");
  };
  const auto percent = [&](std::int64_t time) {
    return fmt::format("{:.1f}%", 100.0 * ShareOf(time, report.total));
  };
  line("self ms", "total ms", "share", "calls", std::string(key),
       modules                           ? "class"
       : options.by == ProfileKey::kNode ? "module"
                                         : "");
  std::int64_t rest = 0;
  std::uint64_t rest_calls = 0;
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const ProfileRow& row = report.rows[i];
    // What could not be placed is shown however little it is.
    if (i >= count && row.placed) {
      rest += row.self;
      rest_calls += row.calls;
      continue;
    }
    line(
        Milliseconds(row.self), Milliseconds(row.total), percent(row.self),
        WithThousands(row.calls), Printable(row.name, 70),
        row.placed ? Printable(row.detail, 70) : OperatorsOf(report, row.name));
  }
  if (rest_calls > 0) {
    line(Milliseconds(rest), "", percent(rest), WithThousands(rest_calls),
         "other rows; --top 0 shows all", "");
  }
  line(Milliseconds(report.total), "", report.total == 0 ? "" : "100.0%",
       WithThousands(report.kernel_runs), "all", "");
}

void PrintJson(const ProfileReport& report, const ProfileOptions& options,
               Terminal& terminal) {
  JsonWriter json;
  json.BeginObject();
  json.Key("model").String(report.model);
  json.Key("profile").String(report.profile);
  json.Key("tags_from").String(report.tags_from);
  json.Key("by").String(EnumToWord(kProfileKeyNames, options.by));
  json.Key("runs").Number(report.model_runs);
  json.Key("calls").Number(report.kernel_runs);
  json.Key("total_us").Number(AtLeastNothing(report.total));
  json.Key("cut_off").Bool(report.cut_off);
  json.Key("rows").BeginArray();
  for (const ProfileRow& row : report.rows) {
    json.BeginObject();
    json.Key("name").String(row.name);
    json.Key("placed").Bool(row.placed);
    if (options.by == ProfileKey::kModule) {
      json.Key("class").StringOrNull(row.detail);
      json.Key("total_us").Integer(row.total);
    } else if (options.by == ProfileKey::kNode) {
      json.Key("module").StringOrNull(row.detail == "-" ? "" : row.detail);
    }
    json.Key("self_us").Integer(row.self);
    json.Key("share").Share(ShareOf(row.self, report.total));
    json.Key("calls").Number(row.calls);
    json.EndObject();
    terminal.Out(json.Take());
  }
  json.EndArray();
  json.Key("unplaced").BeginArray();
  for (const UnplacedKernel& kernel : report.unplaced) {
    json.BeginObject();
    json.Key("name").String(kernel.name);
    json.Key("op").String(kernel.op);
    json.Key("why").String(kernel.why);
    json.Key("self_us").Integer(kernel.self);
    json.Key("calls").Number(kernel.calls);
    json.EndObject();
    terminal.Out(json.Take());
  }
  json.EndArray();
  json.EndObject();
  terminal.Out(json.Take() + "\n");
}

// Stacks that are equal, once.
std::map<std::vector<std::string>, std::uint64_t> SumStacks(
    const ProfileReport& report) {
  std::map<std::vector<std::string>, std::uint64_t> sums;
  for (const ProfileStack& stack : report.stacks) {
    sums[stack.frames] += AtLeastNothing(stack.self);
  }
  return sums;
}

// A line of Brendan Gregg's format: frames between semicolons, then a number.
void PrintFolded(const ProfileReport& report, Terminal& terminal) {
  for (const auto& [frames, time] : SumStacks(report)) {
    std::string line;
    for (const std::string& frame : frames) {
      std::string safe = Printable(frame, 200);
      std::replace(safe.begin(), safe.end(), ';', ':');
      if (!line.empty()) line += ';';
      line += safe;
    }
    terminal.Out(fmt::format("{} {}\n", line, time));
  }
}

void PrintSpeedscope(const ProfileReport& report, Terminal& terminal) {
  const auto sums = SumStacks(report);
  std::vector<std::string> frames;
  std::unordered_map<std::string, std::uint64_t> index;
  std::uint64_t end = 0;
  for (const auto& [stack, time] : sums) {
    end += time;
    for (const std::string& frame : stack) {
      if (index.try_emplace(frame, frames.size()).second) {
        frames.push_back(frame);
      }
    }
  }
  JsonWriter json;
  json.BeginObject();
  json.Key("$schema").String(
      "https://www.speedscope.app/file-format-schema.json");
  json.Key("exporter").String(fmt::format("onnx-tag {}", kVersion));
  json.Key("name").String(report.model);
  json.Key("shared").BeginObject().Key("frames").BeginArray();
  for (const std::string& frame : frames) {
    json.BeginObject().Key("name").String(frame).EndObject();
  }
  json.EndArray().EndObject();
  json.Key("profiles").BeginArray().BeginObject();
  json.Key("type").String("sampled");
  json.Key("name").String(report.model);
  json.Key("unit").String("microseconds");
  json.Key("startValue").Number(0);
  json.Key("endValue").Number(end);
  json.Key("samples").BeginArray();
  for (const auto& [stack, time] : sums) {
    json.BeginArray();
    for (const std::string& frame : stack) json.Number(index[frame]);
    json.EndArray();
  }
  json.EndArray();
  json.Key("weights").BeginArray();
  for (const auto& [stack, time] : sums) json.Number(time);
  json.EndArray();
  json.EndObject().EndArray();
  json.EndObject();
  terminal.Out(json.text() + "\n");
}

}  // namespace

void PrintProfile(const ProfileReport& report, const ProfileOptions& options,
                  Terminal& terminal) {
  switch (options.format) {
    case ProfileFormat::kTable:
      return PrintTable(report, options, terminal);
    case ProfileFormat::kJson:
      return PrintJson(report, options, terminal);
    case ProfileFormat::kFolded:
      return PrintFolded(report, terminal);
    case ProfileFormat::kSpeedscope:
      return PrintSpeedscope(report, terminal);
  }
}

}  // namespace onnx_tag
