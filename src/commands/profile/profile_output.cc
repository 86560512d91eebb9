#include "commands/profile/profile_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "commands/profile/profile_table.h"
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

}  // namespace

std::string ProfileUnit(std::string_view head, const ProfileReport& report) {
  return std::string(head) + (report.measure.IsTime() ? " ms" : "");
}

std::string ProfileNumber(std::int64_t number, const ProfileReport& report) {
  if (report.measure.IsTime()) return Milliseconds(number);
  if (report.measure.parts != 1) {
    return fmt::format("{:.6g}", static_cast<double>(number) /
                                     static_cast<double>(report.measure.parts));
  }
  return (number < 0 ? "-" : "") +
         WithThousands(static_cast<std::uint64_t>(std::abs(number)));
}

std::string ProfileShare(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.1f}%", 100.0 * ShareOf(part, whole));
}

std::string ProfileHead(const ProfileReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.sides.size(); ++i) {
    const ProfileSide& side = report.sides[i];
    if (report.two()) text += i == 0 ? "A  " : "B  ";
    text += Printable(side.file, 200) + ": ";
    if (!report.measure.IsTime()) {
      text += fmt::format("{} {}, {}\n", Printable(report.measure.name, 50),
                          ProfileNumber(side.total, report),
                          Count(side.calls, "number"));
      continue;
    }
    text +=
        fmt::format("{} ms in kernels, {} in {}\n", Milliseconds(side.total),
                    Count(side.calls, "call"), Count(side.model_runs, "run"));
    if (side.outside) {
      text +=
          fmt::format("  {} ms ({}) of the runs outside kernels\n",
                      Milliseconds(*side.outside),
                      ProfileShare(*side.outside, *side.outside + side.total));
    }
  }
  return text;
}

std::string UnplacedOperators(const ProfileReport& report,
                              const std::string& why) {
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

namespace {

// Of a time "self_us", of another number "self".
void AddNumber(JsonWriter& json, std::string_view key, std::int64_t number,
               const ProfileReport& report) {
  json.Key(fmt::format("{}{}", key, report.measure.IsTime() ? "_us" : ""))
      .Integer(number);
}

void AddSide(JsonWriter& json, const ProfileSide& side,
             const ProfileReport& report) {
  json.Key("profile").String(side.file);
  json.Key("runs").Number(side.model_runs);
  json.Key("calls").Number(side.calls);
  AddNumber(json, "total", side.total, report);
  if (report.measure.IsTime()) {
    json.Key("outside_us");
    if (side.outside) {
      json.Integer(*side.outside);
    } else {
      json.Null();
    }
  }
  json.Key("cut_off").Bool(side.cut_off);
}

void AddNumbers(JsonWriter& json, const ProfileNumbers& numbers,
                std::size_t side, const ProfileReport& report) {
  if (!report.modules.empty()) AddNumber(json, "total", numbers.total, report);
  AddNumber(json, "self", numbers.self, report);
  json.Key("share").Share(ShareOf(numbers.self, report.sides[side].total));
  json.Key("calls").Number(numbers.calls);
}

void PrintJson(const ProfileReport& report, const ProfileOptions& options,
               Terminal& terminal) {
  JsonWriter json;
  json.BeginObject();
  json.Key("model").String(report.model);
  json.Key("tags_from").String(report.tags_from);
  json.Key("by").String(EnumToWord(kProfileKeyNames, options.by));
  json.Key("measure").String(report.measure.name);
  json.Key("parts").Integer(report.measure.parts);
  AddSide(json, report.sides[0], report);
  if (report.two()) {
    json.Key("against").BeginObject();
    AddSide(json, report.sides[1], report);
    json.EndObject();
  }
  json.Key("rows").BeginArray();
  for (const ProfileRow& row : report.rows) {
    json.BeginObject();
    json.Key("name").String(row.name);
    json.Key("placed").Bool(row.placed);
    if (options.by == ProfileKey::kModule) {
      json.Key("class").StringOrNull(row.detail);
    } else if (options.by == ProfileKey::kNode) {
      json.Key("module").StringOrNull(row.detail == "-" ? "" : row.detail);
    }
    AddNumbers(json, row.numbers[0], 0, report);
    if (report.two()) {
      json.Key("against").BeginObject();
      AddNumbers(json, row.numbers[1], 1, report);
      json.EndObject();
    }
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
    if (report.two())
      json.Key("profile").String(report.sides[kernel.side].file);
    AddNumber(json, "self", kernel.self, report);
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
  json.Key("unit").String(report.measure.IsTime() ? "microseconds" : "none");
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

void PrintProfile(const TaggedModel& model, const ProfileReport& report,
                  const ProfileOptions& options, Terminal& terminal) {
  switch (options.format) {
    case ProfileFormat::kTable:
      return PrintProfileTable(model, report, options, terminal);
    case ProfileFormat::kJson:
      return PrintJson(report, options, terminal);
    case ProfileFormat::kFolded:
      return PrintFolded(report, terminal);
    case ProfileFormat::kSpeedscope:
      return PrintSpeedscope(report, terminal);
  }
}

}  // namespace onnx_tag
