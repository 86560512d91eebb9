#include <fmt/core.h>

#include "commands/commands.h"
#include "commands/json_writer.h"

namespace onnx_tag {

ExitCode RunStrategies(const StrategiesOptions& options, Terminal& terminal) {
  if (options.json) {
    JsonWriter json;
    json.BeginArray();
    for (const StrategyInfo& strategy : Strategies()) {
      json.BeginObject();
      json.Key("name").String(strategy.name);
      json.Key("help").String(strategy.help);
      json.EndObject();
    }
    json.EndArray();
    terminal.Out(json.text() + "\n");
    return ExitCode::kOk;
  }
  for (const StrategyInfo& strategy : Strategies()) {
    terminal.Out(fmt::format("{:<19} {}\n", strategy.name, strategy.help));
  }
  return ExitCode::kOk;
}

}  // namespace onnx_tag
