#include "app/cli/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/commands/commands.h"
#include "generated/version.h"
#include "onnx_tag/error.h"
#include "support/temporary_folder.h"

namespace onnx_tag::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

template <typename Options>
Options Parse(std::vector<std::string> args) {
  return std::any_cast<Options>(ParseArgs(std::move(args)).options);
}

struct Refused {
  ErrorKind kind;
  std::string what;
};

Refused Refusal(std::vector<std::string> args) {
  try {
    ParseArgs(std::move(args));
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {ErrorKind::kUsage, "accepted"};
}

TEST(ParseArgsTest, WithoutACommandTagIsMeant) {
  const test::TemporaryFolder folder;
  const std::string model = folder.Write("m.onnx", "");
  EXPECT_THAT(Parse<TagOptions>({model}).models, ElementsAre(model));
  EXPECT_THAT(Parse<TagOptions>({"-"}).models, ElementsAre("-"));
  EXPECT_THAT(Parse<TagOptions>({"tag", "x.onnx"}).models,
              ElementsAre("x.onnx"));
  EXPECT_THAT(Parse<TagOptions>({"--force", model}).models, ElementsAre(model))
      << "an option may come first";
  EXPECT_THAT(Parse<TagOptions>({"--", "show"}).models, ElementsAre("show"));
  EXPECT_THAT(Parse<TagOptions>({"-s", "enhanced_semantic", model}).models,
              ElementsAre(model));
}

TEST(ParseArgsTest, AFirstWordThatIsNothingIsExplained) {
  EXPECT_EQ(Refusal({"shwo", "m.onnx"}).what,
            "'shwo' is neither a command nor a file, did you mean 'show'?");
  EXPECT_EQ(Refusal({"shwo"}).kind, ErrorKind::kUsage);
  for (const std::string word : {"compare", "record", "reference"}) {
    EXPECT_THAT(std::any_cast<std::string>(ParseArgs({word, "a"}).options),
                HasSubstr("python3 -m onnx_tag " + word));
  }
  EXPECT_EQ(Refusal({"zzzzzz"}).what, "zzzzzz: no such file or command");
  EXPECT_EQ(Refusal({"zzzzzz"}).kind, ErrorKind::kInput);
  EXPECT_THAT(Parse<TagOptions>({"show.onnx"}).models, ElementsAre("show.onnx"))
      << "`tag` reports the missing file and continues with other models";
  EXPECT_EQ(Refusal({}).kind, ErrorKind::kUsage);
  EXPECT_EQ(Refusal({""}).kind, ErrorKind::kInput);
}

TEST(ParseArgsTest, DefaultsAreThoseOfTheManual) {
  const TagOptions options = Parse<TagOptions>({"tag", "m.onnx"});
  EXPECT_EQ(options.mapping.strategy, "enhanced_semantic");
  EXPECT_FALSE(options.mapping.format.torch_nn);
  EXPECT_EQ(options.mapping.format.exceptions.size(), 9u);
  EXPECT_EQ(options.mapping.min_confidence, Confidence::kLow);
  EXPECT_TRUE(options.keys.tags);
  EXPECT_FALSE(options.keys.name_space);
  EXPECT_EQ(options.write.data, DataChoice::kUnsaid);
  EXPECT_EQ(options.min_coverage, 0);
  EXPECT_FALSE(options.max_untagged);
  EXPECT_FALSE(options.fail_fast);
}

TEST(ParseArgsTest, EveryOptionOfTagIsRead) {
  const TagOptions options = Parse<TagOptions>({"tag",
                                                "a.onnx",
                                                "b.onnx",
                                                "-s",
                                                "enhanced_semantic",
                                                "--out-dir",
                                                "o",
                                                "--granularity",
                                                "torch_nn",
                                                "--min-coverage",
                                                "99.5",
                                                "--min-confidence",
                                                "high",
                                                "--require-module",
                                                "encoder.**",
                                                "--require-module",
                                                "pooler",
                                                "--max-untagged",
                                                "3",
                                                "--force",
                                                "--fsync",
                                                "--data",
                                                "copy",
                                                "--dry-run",
                                                "--fail-fast",
                                                "--json",
                                                "--quiet"});
  EXPECT_THAT(options.models, ElementsAre("a.onnx", "b.onnx"));
  EXPECT_EQ(options.write.folder, "o");
  EXPECT_TRUE(options.mapping.format.torch_nn);
  EXPECT_EQ(options.min_coverage, 99.5);
  EXPECT_EQ(options.mapping.min_confidence, Confidence::kHigh);
  EXPECT_THAT(options.require_modules, ElementsAre("encoder.**", "pooler"));
  EXPECT_EQ(options.max_untagged, 3u);
  EXPECT_TRUE(options.write.force);
  EXPECT_TRUE(options.write.fsync);
  EXPECT_EQ(options.write.data, DataChoice::kCopy);
  EXPECT_TRUE(options.write.dry_run);
  EXPECT_TRUE(options.fail_fast);
  EXPECT_EQ(options.format, ReportFormat::kJson);
  EXPECT_FALSE(Parse<TagOptions>({"tag", "m", "--keep-going"}).fail_fast);
}

TEST(ParseArgsTest, ListsAreOneWordAndNeverSwallowTheModel) {
  const TagOptions options =
      Parse<TagOptions>({"tag", "--keys", "tags,layer_ann", "m.onnx"});
  EXPECT_THAT(options.models, ElementsAre("m.onnx"));
  EXPECT_TRUE(options.keys.tags);
  EXPECT_TRUE(options.keys.layer_ann);
  EXPECT_FALSE(options.keys.class_hierarchy);
  EXPECT_FALSE(
      Parse<TagOptions>({"tag", "--keys=namespace", "m.onnx"}).keys.tags);
  EXPECT_THAT(Parse<TagOptions>({"tag", "--require-module", "a", "m"}).models,
              ElementsAre("m"));
}

TEST(ParseArgsTest, TorchNnExceptionsReplaceAddOrEmpty) {
  const auto exceptions = [](std::vector<std::string> args) {
    args.insert(args.begin(), "tag");
    args.push_back("m.onnx");
    const TagOptions options = Parse<TagOptions>(std::move(args));
    EXPECT_THAT(options.models, ElementsAre("m.onnx"));
    return options.mapping.format.exceptions;
  };
  EXPECT_THAT(exceptions({"--torch-nn-exceptions", "A,B"}),
              ElementsAre("A", "B"));
  EXPECT_THAT(exceptions({"--torch-nn-exceptions", ""}), IsEmpty());
  EXPECT_THAT(exceptions({"--torch-nn-exceptions="}), IsEmpty());
  const std::vector<std::string> more =
      exceptions({"--torch-nn-exceptions", "+Linear"});
  EXPECT_EQ(more.size(), 10u);
  EXPECT_EQ(more.back(), "Linear");
}

TEST(ParseArgsTest, UnknownWordsGetTheNearest) {
  const auto what = [](std::vector<std::string> args) {
    const Refused refused = Refusal(std::move(args));
    EXPECT_EQ(refused.kind, ErrorKind::kUsage);
    return refused.what;
  };
  EXPECT_EQ(what({"tag", "m", "--stratgy", "x"}),
            "unknown option '--stratgy', did you mean '--strategy'?");
  EXPECT_EQ(what({"tag", "m", "--stratgy=x"}),
            "unknown option '--stratgy', did you mean '--strategy'?");
  EXPECT_EQ(what({"tag", "m", "-s", "enhanced"}),
            "unknown strategy 'enhanced', did you mean 'enhanced_semantic'?");
  EXPECT_EQ(what({"tag", "m", "--min-confidence", "hgih"}),
            "unknown confidence level 'hgih', did you mean 'high'?");
  EXPECT_EQ(what({"tag", "m", "--keys", "tags,layer_an"}),
            "unknown key 'layer_an', did you mean 'layer_ann'?");
  EXPECT_EQ(what({"tag", "m", "--granularity", "zz"}),
            "unknown granularity 'zz'\n  valid values: hf, torch_nn");
  EXPECT_EQ(what({"tag", "m", "--data", "lnk"}),
            "unknown choice for --data 'lnk', did you mean 'link'?");
  EXPECT_EQ(what({"show", "m", "-x"}),
            "unknown option '-x'\n  see onnx-tag show --help");
  EXPECT_EQ(what({"show", "m", "n"}),
            "unexpected argument 'n'\n  see onnx-tag show --help");
}

TEST(ParseArgsTest, ValuesAreChecked) {
  const auto what = [](std::vector<std::string> args) {
    args.insert(args.begin(), {"tag", "m.onnx"});
    const Refused refused = Refusal(std::move(args));
    EXPECT_EQ(refused.kind, ErrorKind::kUsage);
    return refused.what;
  };
  for (const char* const percent : {"101", "-1", "nan", "inf", "x", "", "5%"}) {
    EXPECT_THAT(what({"--min-coverage", percent}),
                HasSubstr("is not a percentage from 0 to 100"));
  }
  EXPECT_EQ(what({"--max-untagged", "-3"}),
            "--max-untagged: '-3' is not a number");
  EXPECT_EQ(what({"-o"}), "--output needs a value");
  EXPECT_EQ(what({"-o", "a", "-o", "b"}), "--output may be given only once");
  EXPECT_EQ(what({"-o", ""}), "-o: the file name is empty");
}

TEST(ParseArgsTest, SizesAreWholeNumbersUpToTwoToThe62) {
  for (const char* const size :
       {"-1", "-9223372036854775808", "4611686018427387905",
        "99999999999999999999", "1.5", "x", "1e3", "+1", " 1"}) {
    const Refused refused =
        Refusal({"show", "m", "--shape", std::string("batch=") + size});
    EXPECT_EQ(refused.kind, ErrorKind::kUsage);
    EXPECT_THAT(refused.what, HasSubstr("is not a size: a whole number"));
  }
  EXPECT_NO_THROW(
      ParseArgs({"show", "m", "--shape", "batch=4611686018427387904"}));
}

TEST(ParseArgsTest, ContradictionsAreRefused) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{
           {"tag", "m", "-o", "x", "--in-place"},
           {"tag", "m", "-o", "x", "--out-dir", "d"},
           {"tag", "m", "--follow"},
           {"tag", "m", "--sidecar-only", "--no-sidecar"},
           {"tag", "m", "--sidecar", "s", "--no-sidecar"},
           {"tag", "m", "--sidecar-only", "-o", "x"},
           {"tag", "m", "n", "-o", "x"},
           {"tag", "m", "n", "--sidecar", "s"},
           {"tag", "m", "-"},
           {"tag", "m", "-o", "-", "--sidecar", "-"},
           {"tag"},
           {"show"},
           {"explain", "m"},
           {"strip", "m", "n"}}) {
    SCOPED_TRACE(::testing::PrintToString(args));
    const Refused refused = Refusal(args);
    EXPECT_NE(refused.what, "accepted");
    EXPECT_EQ(refused.kind, ErrorKind::kUsage);
  }
}

TEST(ParseArgsTest, TheOtherCommandsAreRead) {
  const ShowOptions show =
      Parse<ShowOptions>({"show", "m.onnx", "--depth", "2", "--module", "a.b",
                          "--nodes", "--json", "--sidecar", "s", "--remap"});
  EXPECT_EQ(show.depth, 2u);
  EXPECT_EQ(show.module, "a.b");
  EXPECT_TRUE(show.nodes);
  EXPECT_EQ(show.source.sidecar, "s");
  EXPECT_TRUE(show.source.remap);
  const ExplainOptions explain =
      Parse<ExplainOptions>({"explain", "m.onnx", "#17"});
  EXPECT_EQ(explain.node, "#17");
  const StripOptions strip =
      Parse<StripOptions>({"strip", "m.onnx", "--in-place", "--follow"});
  EXPECT_TRUE(strip.write.in_place);
  EXPECT_TRUE(strip.write.follow);
}

TEST(ParseArgsTest, TheFormatIsThatOfTheRenderer) {
  EXPECT_EQ(ParseArgs({"strategies"}).format, Format::kText);
  EXPECT_EQ(ParseArgs({"strategies", "--json"}).format, Format::kJson);
  EXPECT_EQ(ParseArgs({"show", "m.onnx", "--json"}).format, Format::kJson);
  EXPECT_EQ(ParseArgs({"query", "m", "op=Add", "--tsv"}).format, Format::kTsv);
  EXPECT_EQ(ParseArgs({"weights", "m", "--tsv"}).format, Format::kTsv);
  EXPECT_EQ(ParseArgs({"diff", "a", "b", "--format", "markdown"}).format,
            Format::kMarkdown);
  EXPECT_EQ(ParseArgs({"check", "m", "--format", "json"}).format,
            Format::kJson);
  EXPECT_EQ(ParseArgs({"profile", "m", "p", "--format", "json"}).format,
            Format::kJson);
}

TEST(ParseArgsTest, HelpAndVersionAreText) {
  EXPECT_EQ(Parse<std::string>({"--version"}),
            "onnx-tag " + std::string(kVersion) + "\n");
  EXPECT_THAT(Parse<std::string>({"--help"}),
              StartsWith("onnx-tag finds the module"));
  EXPECT_EQ(Parse<std::string>({"help"}), Parse<std::string>({"-h"}));
  for (const std::string command : {"tag", "show", "query", "select", "export",
                                    "explain", "strip", "strategies"}) {
    SCOPED_TRACE(command);
    const std::string help = Parse<std::string>({command, "--help"});
    EXPECT_THAT(help, HasSubstr("usage: onnx-tag " + command));
    EXPECT_THAT(help, HasSubstr("examples:\n  onnx-tag"));
    EXPECT_EQ(Parse<std::string>({"help", command}), help);
  }
  EXPECT_THAT(Parse<std::string>({"--help", "x"}),
              HasSubstr("ask and select:"));
}

TEST(ParseArgsTest, HelpFitsEightyColumns) {
  for (const std::string command : {"tag", "show", "query", "select", "export",
                                    "explain", "strip", "strategies"}) {
    std::string line;
    for (const char c : Parse<std::string>({command, "--help"})) {
      if (c != '\n') {
        line += c;
        continue;
      }
      EXPECT_LE(line.size(), 80u) << line;
      line.clear();
    }
  }
}

TEST(ParseArgsTest, TerminalOptionsApplyToEveryCommand) {
  const Invocation invocation =
      ParseArgs({"show", "m.onnx", "--color", "always"});
  EXPECT_EQ(invocation.terminal.color, ColorMode::kAlways);
  EXPECT_TRUE(ParseArgs({"tag", "m", "-q"}).terminal.quiet);
  EXPECT_TRUE(ParseArgs({"tag", "m", "--progress"}).terminal.progress);
}

}  // namespace
}  // namespace onnx_tag::cli
