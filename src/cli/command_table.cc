#include "cli/command_table.h"

#include <fmt/core.h>

#include <array>

#include "cli/parsers.h"

namespace onnx_tag::cli {
namespace {

constexpr std::array<Command, 17> kCommands = {{
    {"tag", "MODEL... [options]",
     "write the module of each node into the model and a JSON file",
     "  onnx-tag model.onnx\n"
     "  onnx-tag model.onnx -o out/tagged.onnx --data link\n"
     "  onnx-tag model.onnx --in-place --min-coverage 95\n"
     "  onnx-tag big.onnx --sidecar-only\n"
     "  onnx-tag *.onnx --out-dir out --json\n"
     "  onnx-tag -r zoo --out-dir tagged --skip-current -j 8\n"
     "  git ls-files -z '*.onnx' | onnx-tag --files-from - --min-coverage 90\n"
     "  cat model.onnx | onnx-tag - > tagged.onnx\n",
     ParseTag},
    {"show", "MODEL [options]",
     "print the module tree with classes, sizes and confidence",
     "  onnx-tag show model.onnx\n"
     "  onnx-tag show model.onnx --depth 3 --unfold\n"
     "  onnx-tag show model.onnx --module encoder.layer.0 --nodes\n"
     "  onnx-tag show model.tags.json --json\n",
     ParseShow},
    {"query", "MODEL EXPR [options]", "print the nodes that match a query",
     "  onnx-tag query model.onnx 'type=attention and layer=0'\n"
     "  onnx-tag query model.onnx 'under=encoder.layer.3 and op=MatMul' --tsv\n"
     "  onnx-tag query model.onnx 'module=encoder.layer.*.output.dense'\n"
     "  onnx-tag query model.onnx 'layer>=6 and op in (MatMul, Gemm)'\n"
     "  onnx-tag query model.tags.json 'confidence<high or untagged' --json\n",
     ParseQuery},
    {"select", "MODEL EXPR --for TOOL [options]",
     "print selected nodes in the format of another tool",
     "  onnx-tag select model.onnx type=attention --for ort-quant\n"
     "  onnx-tag select model.onnx 'layer<6' --for layer-ann --device cuda\n"
     "  onnx-tag select model.onnx under=encoder.layer.0 --for extract\n"
     "  onnx-tag select model.onnx type=normalization --for polygraphy\n"
     "  onnx-tag select model.onnx type=head --for olive --exclude\n"
     "  onnx-tag select model.onnx type=feed_forward --for nncf\n"
     "  onnx-tag select model.onnx type=normalization --for fp16 --exclude\n",
     ParseSelect},
    {"explain", "MODEL NODE [options]", "explain why a node has its tag",
     "  onnx-tag explain model.onnx '#17'\n"
     "  onnx-tag explain model.onnx /encoder/layer.0/MatMul\n"
     "  onnx-tag explain model.onnx output=logits\n"
     "  onnx-tag explain model.onnx '12:then_branch#3'\n",
     ParseExplain},
    {"export", "MODEL --to FORMAT [options]",
     "write the module tree and the nodes in other formats",
     "  onnx-tag export model.onnx --to graphml -o model.graphml\n"
     "  onnx-tag export model.onnx --to dot | dot -Tsvg > model.svg\n"
     "  onnx-tag export model.tags.json --to tsv\n"
     "  onnx-tag export model.onnx --to netron -o model.netron.json\n"
     "  onnx-tag export model.tagged.onnx --to sidecar -o model.tags.json\n",
     ParseExport},
    {"strip", "MODEL [options]", "remove all tags from a model",
     "  onnx-tag strip model.tagged.onnx -o model.onnx\n"
     "  onnx-tag strip model.onnx --in-place\n",
     ParseStrip},
    {"transfer", "FROM TO [options]",
     "copy tags to another version of the model",
     "  onnx-tag transfer model.tagged.onnx model.quant.onnx\n"
     "  onnx-tag transfer model.tags.json model.opt.onnx -o tagged.onnx\n"
     "  onnx-tag transfer old.onnx new.onnx --sidecar-only --json\n",
     ParseTransfer},
    {"diff", "A B [options]", "compare two models module by module",
     "  onnx-tag diff model.onnx model.quant.onnx\n"
     "  onnx-tag diff old.tags.json new.tags.json --json\n"
     "  onnx-tag diff model.onnx model.opt.onnx --format markdown\n",
     ParseDiff},
    {"report", "MODEL [B] [options]", "write an HTML page that shows the model",
     "  onnx-tag report model.onnx\n"
     "  onnx-tag report model.onnx --shape input_ids=1,128 -o bert.html\n"
     "  onnx-tag report model.onnx --profile onnxruntime_profile.json\n"
     "  onnx-tag report model.onnx model.quant.onnx -o compare.html\n"
     "  onnx-tag report zoo --out-dir pages\n",
     ParseReport},
    {"check", "MODEL [options]",
     "find errors in the tags of a model and in its sidecar",
     "  onnx-tag check model.tagged.onnx\n"
     "  onnx-tag check model.tagged.onnx --min-coverage 95 --json\n"
     "  onnx-tag check model.onnx --sidecar model.tags.json\n"
     "  onnx-tag check model.onnx --verify\n",
     ParseCheck},
    {"profile", "MODEL PROFILE [SECOND] [options]",
     "print time, memory or other numbers per module",
     "  onnx-tag profile model.onnx onnxruntime_profile.json --skip-runs 1\n"
     "  onnx-tag profile model.onnx before.json after.json\n"
     "  onnx-tag profile model.onnx profile.json --measure mem_in_use_peak\n"
     "  onnx-tag profile model.onnx trt.json --layers trt_layers.json\n"
     "  onnx-tag profile model.onnx sensitivity.tsv --by layer\n"
     "  onnx-tag profile model.onnx profile.json --format folded > out.txt\n",
     ParseProfile},
    {"weights", "MODEL [options]", "say which parameter each initializer holds",
     "  onnx-tag weights model.onnx\n"
     "  onnx-tag weights model.onnx --tsv > weights.tsv\n"
     "  onnx-tag weights model.onnx --check model.safetensors\n"
     "  onnx-tag weights model.onnx --rename -o renamed.onnx\n",
     ParseWeights},
    {"tap", "MODEL --module GLOB... [options]",
     "write the model with the outputs of modules as graph outputs",
     "  onnx-tag tap model.onnx --module encoder.layer.0 -o tapped.onnx\n"
     "  onnx-tag tap model.onnx --module 'encoder.layer.*' -o tapped.onnx\n"
     "  onnx-tag tap model.onnx --module '**.attention' --inputs -o in.onnx\n"
     "  onnx-tag tap model.onnx --module pooler -o tapped.onnx --json\n",
     ParseTap},
    {"extract", "MODEL --module PATH [options]",
     "write one module as a model of its own",
     "  onnx-tag extract model.onnx --module encoder.layer.0 -o layer.onnx\n"
     "  onnx-tag extract big.onnx --module encoder -o out/encoder.onnx "
     "--data link\n",
     ParseExtract},
    {"split", "MODEL --at PATH... --out-dir DIR [options]",
     "cut the model into parts that run one after another",
     "  onnx-tag split model.onnx --at encoder.layer.6 --out-dir parts\n"
     "  onnx-tag split model.onnx --at encoder decoder --out-dir parts "
     "--json\n",
     ParseSplit},
    {"strategies", "[MODEL] [options]",
     "list the strategies, or compare them on a model",
     "  onnx-tag strategies\n"
     "  onnx-tag strategies model.onnx\n"
     "  onnx-tag strategies model.onnx --trace recording.json --fx "
     "recording.json\n",
     ParseStrategies},
}};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

const Command* FindCommand(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::string OverviewText() {
  std::string text =
      "onnx-tag finds the module that produced each node of an ONNX file\n\n"
      "usage: onnx-tag MODEL...            the same as: onnx-tag tag MODEL...\n"
      "       onnx-tag COMMAND [options]\n\n"
      "commands:\n";
  for (const Command& command : kCommands) {
    text += fmt::format("  {:<11} {}\n", command.name, command.help);
  }
  text +=
      "\n  onnx-tag COMMAND --help         options and examples of a command\n"
      "  onnx-tag --version\n\n"
      "exit codes:\n"
      "  0  success\n"
      "  1  success with findings: a gate failed, models differ, no match, "
      "...\n"
      "  2  invalid usage\n"
      "  3  the input is not a readable model\n"
      "  4  an output could not be written\n"
      "  5  some of several models failed\n";
  return text;
}

}  // namespace onnx_tag::cli
