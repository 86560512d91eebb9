// Every command that writes, with every file that it reads as its output. The
// files stay as they were, whatever name the output has, with --force, too.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "app/cli/command_table.h"
#include "support/onnx_models.h"
#include "support/process.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// As a shell opens a file for a program.
struct OpenFile {
  OpenFile(const std::string& path, int how) : fd(open(path.c_str(), how)) {
    EXPECT_GE(fd, 0) << path;
  }
  ~OpenFile() { close(fd); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const int fd;
};

struct Row {
  std::string command;
  std::vector<std::string> args;     // "@x" is the file x of the folder
  std::vector<std::string> inputs;   // names of the files it reads
  std::vector<std::string> outputs;  // options that name an output
  bool several = false;              // models
};

// A new command that writes files gets rows here: EveryWritingCommandHasARow.
const std::vector<Row>& Rows() {
  static const std::vector<std::string> kBoth = {"-o", "--sidecar"};
  static const std::vector<std::string> kOne = {"-o"};
  static const std::vector<Row> rows = {
      {"tag", {"@m.onnx"}, {"m.onnx", "w.bin"}, kBoth},
      {"tag",
       {"@m.onnx", "--hierarchy", "@map.json"},
       {"m.onnx", "w.bin", "map.json"},
       kBoth},
      {"tag",
       {"@m.onnx", "--rules", "@rules.json"},
       {"m.onnx", "w.bin", "rules.json"},
       kBoth},
      {"tag",
       {"@dyn.onnx", "--strategy", "htp", "--trace", "@recording.json"},
       {"dyn.onnx", "recording.json"},
       kBoth},
      {"tag",
       {"@dyn.onnx", "--strategy", "fx_graph", "--fx", "@recording.json"},
       {"dyn.onnx", "recording.json"},
       kBoth},
      {"tag",
       {"@m.onnx", "@n.onnx", "--files-from", "@list"},
       {"m.onnx", "w.bin", "n.onnx", "list"},
       kBoth,
       true},
      {"strip", {"@m.onnx"}, {"m.onnx", "w.bin"}, kOne},
      {"strip", {"@m.onnx", "--private"}, {"m.onnx", "w.bin"}, kOne},
      {"export", {"@m.onnx", "--to", "graphml"}, {"m.onnx", "w.bin"}, kOne},
      {"export", {"@s.json", "--to", "tsv"}, {"s.json"}, kOne},
      {"export",
       {"@m.onnx", "--to", "graphml", "--sidecar", "@s.json"},
       {"m.onnx", "w.bin", "s.json"},
       kOne},
      {"export",
       {"@m.onnx", "--to", "netron", "--rules", "@rules.json"},
       {"m.onnx", "w.bin", "rules.json"},
       kOne},
      {"transfer",
       {"@m.onnx", "@n.onnx"},
       {"m.onnx", "w.bin", "n.onnx"},
       kBoth},
      {"transfer",
       {"@tagged.onnx", "@n.onnx"},
       {"tagged.onnx", "w.bin", "n.onnx"},
       kBoth},
      {"transfer",
       {"@s.json", "@m.onnx"},
       {"s.json", "m.onnx", "w.bin"},
       kBoth},
      {"transfer",
       {"@m.onnx", "@n.onnx", "--hierarchy", "@map.json"},
       {"m.onnx", "n.onnx", "map.json"},
       kBoth},
      {"tap", {"@e.onnx", "--module", "b.0"}, {"e.onnx", "w.bin"}, kOne},
      {"tap",
       {"@e.onnx", "--module", "b.0", "--rules", "@rules.json"},
       {"e.onnx", "w.bin", "rules.json"},
       kOne},
      {"extract", {"@e.onnx", "--module", "b.0"}, {"e.onnx", "w.bin"}, kOne},
      {"report", {"@m.onnx"}, {"m.onnx", "w.bin"}, kOne},
      {"report", {"@m.onnx", "@n.onnx"}, {"m.onnx", "n.onnx"}, kOne},
  };
  return rows;
}

class InputsAsOutputsTest : public testing::Test {
 protected:
  InputsAsOutputsTest() {
    schema::ModelProto model = ModelFromText(
        "graph { node { op_type: 'Relu' name: '/a/Relu' input: 'x' output: 'y' "
        "} initializer { name: 'w' data_location: 1 external_data { key: "
        "'location' value: 'w.bin' } } }");
    folder_.Write("m.onnx", model.SerializeAsString());
    folder_.Write("n.onnx",
                  BytesFromText("graph { node { op_type: 'Relu' name: "
                                "'/a/Relu' input: 'x' output: 'y' } "
                                "}"));
    folder_.Write("w.bin", "weights");
    // Two layers with types, and a weight that lost its name.
    folder_.Write(
        "e.onnx",
        BytesFromText(
            "ir_version: 8 opset_import { version: 17 } graph { "
            "node { op_type: 'MatMul' name: '/b.0/fc/MatMul' input: 'x' "
            "input: 'onnx::MatMul_9' output: '/b.0/fc/MatMul_output_0' } "
            "node { op_type: 'MatMul' name: '/b.1/fc/MatMul' "
            "input: '/b.0/fc/MatMul_output_0' input: 'b.1.fc.weight' "
            "output: 'y' } "
            "initializer { name: 'onnx::MatMul_9' data_type: 1 dims: 1 dims: 1 "
            "data_location: 1 external_data { key: 'location' value: 'w.bin' } "
            "} initializer { name: 'b.1.fc.weight' data_type: 1 dims: 1 "
            "dims: 1 raw_data: '0123' } "
            "input { name: 'x' type { tensor_type { elem_type: 1 shape { "
            "dim { dim_value: 1 } dim { dim_value: 1 } } } } } "
            "output { name: 'y' type { tensor_type { elem_type: 1 shape { "
            "dim { dim_value: 1 } dim { dim_value: 1 } } } } } }"));
    folder_.Write("map.json", R"({"modules": {"": "Net", "a": "ReLU"}})");
    folder_.Write("rules.json", R"({"catalogue": {}})");
    folder_.Write("list", folder_ / "m.onnx\n");
    // Recorded from a real run: another model's would be refused before the
    // outputs are looked at.
    for (const std::string name : {"recording.json", "dyn.onnx"}) {
      fs::copy_file(ONNX_TAG_TEST_FOLDER "/truth/nn_cnn/" + name,
                    folder_ / name);
    }
    const CliResult made =
        RunCli({"tag", folder_ / "m.onnx", "-o", folder_ / "tagged.onnx",
                "--sidecar", folder_ / "s.json"});
    EXPECT_EQ(made.exit, 0) << made.err;
    fs::create_directories(folder_ / "in");
  }

  // A symbolic link to the file `name` beside it, or else a hard one.
  static void Link(const std::string& name, const fs::path& link) {
    static const bool links = CanMakeLinks();
    if (links) {
      fs::create_symlink(name, link);
    } else {
      fs::create_hard_link(link.parent_path() / name, link);
    }
  }

  // Other names of the file `name`, made where they need a link.
  std::vector<std::string> NamesOf(const std::string& name) {
    const std::string soft = "soft-" + name;
    const std::string hard = "hard-" + name;
    if (!fs::exists(folder_ / soft)) {
      Link(name, folder_ / soft);
      fs::create_hard_link(folder_ / name, folder_ / hard);
    }
    return {folder_ / name, folder_ / "./in/../" + name, folder_ / soft,
            folder_ / hard};
  }

  // Every file and what is in it; links apart from what they lead to.
  std::map<std::string, std::string> Contents() const {
    std::map<std::string, std::string> contents;
    for (const std::string& name : folder_.Names()) {
      const std::string path = folder_ / name;
      contents[name] = (fs::is_symlink(path) ? "link " : "") +
                       (fs::is_directory(path) ? "" : ReadFile(path));
    }
    return contents;
  }

  std::vector<std::string> Expand(std::vector<std::string> args) const {
    for (std::string& arg : args) {
      if (arg.starts_with("@")) arg = folder_ / arg.substr(1);
    }
    return args;
  }

  TemporaryFolder folder_;
};

TEST_F(InputsAsOutputsTest, NoInputIsEverReplaced) {
  for (const Row& row : Rows()) {
    std::vector<std::string> words = {row.command};
    const std::vector<std::string> args = Expand(row.args);
    words.insert(words.end(), args.begin(), args.end());
    SCOPED_TRACE(testing::PrintToString(words));
    for (const std::string& input : row.inputs) {
      for (const std::string& output : NamesOf(input)) {
        for (const std::string& option : row.outputs) {
          for (const bool force : {false, true}) {
            std::vector<std::string> run = words;
            run.insert(run.end(), {option, output});
            if (force) run.push_back("--force");
            SCOPED_TRACE(option + " " + output + (force ? " --force" : ""));
            const std::map<std::string, std::string> before = Contents();
            const CliResult result = RunCli(run);
            // Several models have no single output: wrong usage.
            EXPECT_EQ(result.exit, row.several ? 2 : 4) << result.err;
            EXPECT_EQ(Contents(), before);
          }
        }
      }
    }
  }
}

// The rows are worth something only where the same command without the clash
// does its work.
TEST_F(InputsAsOutputsTest, EachRowWritesElsewhere) {
  for (const Row& row : Rows()) {
    std::vector<std::string> words = {row.command};
    const std::vector<std::string> args = Expand(row.args);
    words.insert(words.end(), args.begin(), args.end());
    if (!row.several) {
      words.insert(words.end(), {"-o", folder_ / "out"});
    }
    SCOPED_TRACE(testing::PrintToString(words));
    const CliResult result = RunCli(words);
    EXPECT_EQ(result.exit, 0) << result.err;
    for (const std::string name :
         {"out", "out.tags.json", "m.tagged.onnx", "m.tags.json",
          "n.tagged.onnx", "n.tags.json"}) {
      fs::remove(folder_ / name);
    }
  }
}

// What `--help` calls an output, the table must try.
TEST_F(InputsAsOutputsTest, EveryWritingCommandHasARow) {
  std::set<std::string> commands;
  for (const Row& row : Rows()) commands.insert(row.command);
  commands.insert("split");
  int writing = 0;
  for (const cli::Command& command : cli::Commands()) {
    const std::string name(command.name);
    const std::string options = RunCli({name, "--help"}).out;
    const bool writes = options.find("-o, --output") != std::string::npos ||
                        options.find("--out-dir") != std::string::npos;
    writing += writes ? 1 : 0;
    EXPECT_EQ(commands.count(name), writes ? 1u : 0u) << name;
  }
  EXPECT_GE(writing, 4);
}

// split chooses the names in its folder itself, so it has no row.
TEST_F(InputsAsOutputsTest, SplitDoesNotReplaceTheModel) {
  fs::rename(folder_ / "e.onnx", folder_ / "m.part0.onnx");
  fs::remove(folder_ / "m.onnx");
  fs::create_hard_link(folder_ / "m.part0.onnx", folder_ / "m.onnx");
  for (const bool force : {false, true}) {
    const std::map<std::string, std::string> before = Contents();
    std::vector<std::string> run = {"split", folder_ / "m.onnx", "--at",
                                    "b.1",   "--out-dir",        folder_ / "."};
    if (force) run.push_back("--force");
    EXPECT_EQ(RunCli(run).exit, 4);
    EXPECT_EQ(Contents(), before);
  }
}

TEST_F(InputsAsOutputsTest, DefaultNamesAreNoExcuse) {
  // The sidecar of n.onnx would be n.tags.json.
  fs::rename(folder_ / "s.json", folder_ / "n.tags.json");
  const std::map<std::string, std::string> before = Contents();
  for (const bool force : {false, true}) {
    std::vector<std::string> words = {"transfer", folder_ / "n.tags.json",
                                      folder_ / "n.onnx"};
    if (force) words.push_back("--force");
    const CliResult result = RunCli(words);
    EXPECT_EQ(result.exit, 4);
    EXPECT_THAT(result.err, HasSubstr("is an input of this command"));
    EXPECT_THAT(result.err, HasSubstr("--sidecar"));
    EXPECT_EQ(Contents(), before);
  }
}

TEST_F(InputsAsOutputsTest, InPlaceReplacesTheModelAndNothingElse) {
  std::map<std::string, std::string> before = Contents();
  for (const std::string other : {"m.onnx", "w.bin", "rules.json"}) {
    const CliResult result =
        RunCli({"tag", folder_ / "m.onnx", "--rules", folder_ / "rules.json",
                "--in-place", "--sidecar", folder_ / other, "--force"});
    EXPECT_EQ(result.exit, 4) << other << result.err;
    EXPECT_EQ(Contents(), before);
  }
  EXPECT_EQ(
      RunCli({"tag", folder_ / "m.onnx", "--in-place", "--no-sidecar"}).exit,
      0);
  EXPECT_NE(ReadFile(folder_ / "m.onnx"), before["m.onnx"]);
}

TEST_F(InputsAsOutputsTest, StandardInputIsAnInput) {
  const std::string model = folder_ / "n.onnx";
  const std::string bytes = ReadFile(model);
  const OpenFile in(model, O_RDONLY);
  Process run({"tag", "-", "-o", model, "--force", "-q"}, {.in = in.fd});
  EXPECT_EQ(run.Wait(), 4);
  EXPECT_EQ(ReadFile(model), bytes);
}

TEST_F(InputsAsOutputsTest, StandardOutputIsAnOutput) {
  const std::string model = folder_ / "n.onnx";
  const std::string bytes = ReadFile(model);
  const OpenFile out(model, O_WRONLY | O_APPEND);
  Process run({"tag", model, "-o", "-", "-q"}, {.out = out.fd});
  EXPECT_EQ(run.Wait(), 4);
  EXPECT_EQ(ReadFile(model), bytes);
}

// A command that only prints has no output to refuse, but the shell may have
// opened one of its inputs for it: `show m.onnx 1<>m.onnx`.
TEST_F(InputsAsOutputsTest, NothingIsPrintedIntoAnInput) {
  struct Printing {
    std::vector<std::string> args;    // "@x" is the file x of the folder
    std::vector<std::string> inputs;  // names of the files it reads
    std::string in = "list";          // its standard input
  };
  fs::copy_file(folder_ / "s.json", folder_ / "n.tags.json");
  folder_.Write("p.tsv", "node\tnumber\n/a/Relu\t1\n");
  for (const Printing& printing : std::vector<Printing>{
           {{"show", "@m.onnx", "--json"}, {"m.onnx", "w.bin"}},
           {{"show", "-"}, {"m.onnx"}, "m.onnx"},
           {{"show", "@n.onnx"}, {"n.onnx", "n.tags.json"}},
           {{"show", "@s.json"}, {"s.json"}},
           {{"explain", "@m.onnx", "#0"}, {"m.onnx", "w.bin"}},
           {{"query", "@m.onnx", "op=Relu", "--sidecar", "@s.json"},
            {"m.onnx", "s.json"}},
           {{"select", "@m.onnx", "op=Relu", "--for", "names", "--rules",
             "@rules.json"},
            {"m.onnx", "rules.json"}},
           {{"diff", "@m.onnx", "@n.onnx"}, {"m.onnx", "n.onnx", "w.bin"}},
           {{"check", "@m.onnx", "--sidecar", "@s.json"},
            {"m.onnx", "s.json", "w.bin"}},
           {{"profile", "@m.onnx", "@p.tsv"}, {"m.onnx", "p.tsv"}},
           {{"export", "@m.onnx", "--to", "graphml"}, {"m.onnx", "w.bin"}},
           {{"weights", "@e.onnx"}, {"e.onnx", "w.bin"}},
           {{"strategies", "@m.onnx"}, {"m.onnx"}},
           {{"tag", "@n.onnx", "@m.onnx", "--dry-run"}, {"m.onnx", "n.onnx"}},
           {{"tag", "--files-from", "@list", "--dry-run"}, {"m.onnx"}},
           {{"tap", "@e.onnx", "--module", "b.0", "-o", "@t.onnx", "--json"},
            {"e.onnx", "w.bin"}}}) {
    for (const std::string& input : printing.inputs) {
      for (const std::string& name : NamesOf(input)) {
        for (const int how : {O_RDWR, O_WRONLY | O_APPEND}) {
          SCOPED_TRACE(testing::PrintToString(printing.args) + " > " + name);
          const std::map<std::string, std::string> before = Contents();
          const OpenFile in(folder_ / printing.in, O_RDONLY);
          const OpenFile out(name, how);
          Process run(Expand(printing.args), {.in = in.fd, .out = out.fd});
          // A file of facts that cannot be read is wrong usage.
          EXPECT_THAT(run.Wait(), testing::AnyOf(2, 4)) << run.err();
          EXPECT_EQ(Contents(), before);
        }
      }
    }
  }
  // The shell has emptied the file already: nothing is left to lose.
  const OpenFile out(folder_ / "n.tags.json", O_WRONLY | O_TRUNC);
  Process run({"export", folder_ / "n.onnx", "--to", "sidecar"},
              {.out = out.fd});
  EXPECT_EQ(run.Wait(), 0) << run.err();
}

// A page may have the name of what another model of the folder needs.
TEST_F(InputsAsOutputsTest, PagesOfAFolderReplaceNoInputOfAnotherModel) {
  const auto uses = [](const std::string& weights) {
    return BytesFromText(
        "graph { node { op_type: 'Relu' name: '/a/Relu' input: 'x' output: 'y' "
        "} initializer { name: 'w' data_location: 1 external_data { key: "
        "'location' value: '" +
        weights + "' } } }");
  };
  fs::create_directories(folder_ / "zoo");
  folder_.Write("zoo/a.onnx", BytesFromText("graph { node { op_type: 'Relu' "
                                            "name: '/a/Relu' input: 'x' "
                                            "output: 'y' } }"));
  const std::vector<std::string> words = {
      "report", folder_ / "zoo", "--out-dir", folder_ / "zoo", "--force"};
  const auto expect_kept = [&](const std::string& path) {
    SCOPED_TRACE(path);
    const std::string before = ReadFile(folder_ / path);
    EXPECT_EQ(RunCli(words).exit, 4);
    EXPECT_EQ(ReadFile(folder_ / path), before);
  };
  for (const std::string name : {"a.report.html", "index.html"}) {
    folder_.Write("zoo/z.onnx", uses(name));
    folder_.Write("zoo/" + name, "weights");
    expect_kept("zoo/" + name);
    fs::remove(folder_ / "zoo/" + name);
  }
  fs::remove(folder_ / "zoo/a.report.html");
  folder_.Write("zoo/z.onnx", uses("w.bin"));
  for (const std::string name : {"z.onnx", "z.tags.json", "w.bin"}) {
    if (!fs::exists(folder_ / "zoo/" + name)) {
      folder_.Write("zoo/" + name, "{}");
    }
    Link(name, folder_ / "zoo/a.report.html");
    expect_kept("zoo/" + name);
    fs::remove(folder_ / "zoo/a.report.html");
  }
  EXPECT_EQ(RunCli(words).exit, 0);
}

TEST_F(InputsAsOutputsTest, TwoOutputsAreTwoFiles) {
  const CliResult result =
      RunCli({"tag", folder_ / "m.onnx", "-o", folder_ / "out.onnx",
              "--sidecar", folder_ / "in/../out.onnx"});
  EXPECT_EQ(result.exit, 4);
  EXPECT_THAT(result.err, HasSubstr("two outputs would have this name"));
  EXPECT_FALSE(fs::exists(folder_ / "out.onnx"));
}

// What may be replaced follows from what is written: only a tagged model is
// replaced by one, only a sidecar by a sidecar.
TEST_F(InputsAsOutputsTest, AFileOfOursIsReplacedOnlyByItsLike) {
  folder_.Write("o.onnx",
                BytesFromText("graph { node { op_type: 'Relu' name: '/b/Relu' "
                              "} }"));
  ASSERT_EQ(RunCli({"tag", folder_ / "o.onnx"}).exit, 0);
  const std::map<std::string, std::string> before = Contents();
  const std::string tagged = folder_ / "o.tagged.onnx";
  const std::string sidecar = folder_ / "o.tags.json";
  const std::string model = folder_ / "n.onnx";
  EXPECT_EQ(RunCli({"export", model, "--to", "tsv", "-o", sidecar}).exit, 4);
  EXPECT_EQ(RunCli({"export", model, "--to", "tsv", "-o", tagged}).exit, 4);
  EXPECT_EQ(RunCli({"tag", model, "-o", sidecar, "--no-sidecar"}).exit, 4);
  EXPECT_EQ(RunCli({"tag", model, "--sidecar", tagged}).exit, 4);
  EXPECT_EQ(RunCli({"strip", model, "-o", tagged}).exit, 4);
  EXPECT_EQ(RunCli({"strip", model, "-o", sidecar}).exit, 4);
  EXPECT_EQ(Contents(), before);
  EXPECT_EQ(RunCli({"tag", model, "-o", tagged, "--sidecar", sidecar}).exit, 0);
}

}  // namespace
}  // namespace onnx_tag::test
