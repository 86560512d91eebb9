// TensorRT's files are written by hand here, after the description of trtexec's
// --exportProfile and --exportLayerInfo in its documentation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "onnx_tag/error.h"
#include "uses/profile/profile.h"

namespace onnx_tag::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::map<std::string, std::int64_t> Sums(const Profile& profile) {
  std::map<std::string, std::int64_t> sums;
  for (const KernelRun& run : profile.runs) {
    std::int64_t& sum = sums[profile.kernels[run.kernel].name];
    sum = profile.measure.Add(sum, run.duration);
  }
  return sums;
}

template <typename Function>
std::string ErrorOf(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

constexpr std::string_view kTrt = R"json([
  {"count": 10},
  {"name": "fc1 + PWN(PWN(act), mul)",
                           "timeMs" : 0.1004, "averageMs" : 0.01
},
  {"name": "{ForeignNode[a...c]}", "timeMs": 0.1004, "averageMs": 0.01}])json";

constexpr std::string_view kLayers =
    "{\"Layers\": [\"bare\", {\"Name\": \"{ForeignNode[a...c]}\", "
    "\"LayerType\": \"Myelin\", \"Metadata\": \"[ONNX Layer: a]\\u001e"
    "[ONNX Layer: b[0]]\\u001f[ONNX Layer: c]\"}], \"Bindings\": [\"x\"]}";

TEST(TensorRtProfile, DividesALayerAmongItsNodes) {
  const Profile profile = ReadProfile(kTrt, "time", kLayers);
  EXPECT_EQ(profile.model_runs, 10u);
  EXPECT_EQ(profile.calls_each, 10u);
  // 100.4 and 100.4 us are 201 us: the sum is rounded, not the layers.
  EXPECT_THAT(
      Sums(profile),
      UnorderedElementsAre(Pair("fc1", 34), Pair("act", 33), Pair("mul", 33),
                           Pair("a", 34), Pair("b[0]", 34), Pair("c", 33)));
}

TEST(TensorRtProfile, WithoutLayersTheNameIsAllThereIs) {
  EXPECT_EQ(Sums(ReadProfile(kTrt)).at("{ForeignNode[a...c]}"), 101);
}

TEST(TensorRtProfile, RefusesOtherFiles) {
  EXPECT_THAT(ErrorOf([] { ReadProfile(kTrt, "time", "[1]"); }),
              HasSubstr("--exportLayerInfo"));
  EXPECT_THAT(ErrorOf([] { ReadProfile("[{\"averageMs\": 1}]"); }),
              HasSubstr("it has no layers"));
  EXPECT_THAT(ErrorOf([] { ReadProfile("a\t1\n", "time", kLayers); }),
              HasSubstr("--layers requires"));
  EXPECT_THAT(ErrorOf([] { ReadProfile(kTrt, "output_size"); }),
              HasSubstr("only times"));
}

// A layer that is left out makes all shares wrong.
TEST(TensorRtProfile, RefusesImpossibleTimes) {
  for (const std::string time : {"1e12", "-1", "\"7\"", "null", "[]"}) {
    EXPECT_THAT(ErrorOf([&] {
                  ReadProfile(R"([{"count": 10},
{"name": "a", "timeMs": )" + time +
                              R"(, "averageMs": 1}])");
                }),
                HasSubstr("line 2, column 25: the layer 'a' has no time"))
        << time;
  }
  EXPECT_THAT(
      ErrorOf([] {
        ReadProfile("[{\"count\": 1},\n{\"name\": \"a\", \"averageMs\": 1}]");
      }),
      HasSubstr("line 2"));
}

TEST(TableProfile, TakesNamesAndNumbers) {
  const Profile profile = ReadProfile(
      "# a note\nnode\tkind\tsqnr\tnan\na\tconv\t1.5\t3\r\nb\tfc\t-2e-3\t4\n\n"
      "b\tfc\t1\t5");
  EXPECT_EQ(profile.measure.name, "sqnr");
  EXPECT_EQ(profile.runs.size(), 3u);
  const std::int64_t parts = profile.measure.parts;
  EXPECT_THAT(Sums(profile),
              UnorderedElementsAre(Pair("a", parts / 10 * 15),
                                   Pair("b", parts / 1000 * 998)));
}

TEST(TableProfile, TakesTheColumnThatIsAskedFor) {
  const Profile profile = ReadProfile("node\tx\tnan\na\t1.5\t3\n", "nan");
  EXPECT_EQ(Sums(profile).at("a"), 3 * profile.measure.parts);
  EXPECT_THAT(ErrorOf([] { ReadProfile("a\t1\n", "nan"); }),
              HasSubstr("no column 'nan'"));
}

TEST(TableProfile, CommasSeparateCellsWhereThereAreNoTabs) {
  const Profile profile = ReadProfile(
      "node,\"the, kind\",sqnr\na,conv,1\n\"b,\"\"c\"\"\",fc,2\na,fc,3\n");
  EXPECT_EQ(profile.measure.name, "sqnr");
  const std::int64_t parts = profile.measure.parts;
  EXPECT_THAT(Sums(profile), UnorderedElementsAre(Pair("a", 4 * parts),
                                                  Pair("b,\"c\"", 2 * parts)));
  EXPECT_THAT(Sums(ReadProfile("a,b\t1\n")),
              UnorderedElementsAre(Pair("a,b", testing::Gt(0))));
  EXPECT_THAT(ErrorOf([] { ReadProfile("a,1\n\"b,2\n"); }),
              HasSubstr("line 2"));
  EXPECT_THAT(ErrorOf([] { ReadProfile("a,x\n\"\"\"\n"); }),
              HasSubstr("no numbers"));
}

TEST(TableProfile, SmallNumbersAreNotLost) {
  const Profile profile = ReadProfile("a\t1e-12\nb\t2e-12\n");
  EXPECT_EQ(profile.measure.name, "value");
  EXPECT_EQ(Sums(profile).at("b"), 2 * Sums(profile).at("a"));
  EXPECT_GT(Sums(profile).at("a"), 0);
}

TEST(TableProfile, SaysWhichLineIsWrong) {
  EXPECT_THAT(ErrorOf([] { ReadProfile("a\t1\nb\tmany\n"); }),
              HasSubstr("line 2: 'many'"));
  EXPECT_THAT(ErrorOf([] { ReadProfile("a\t1\nb\n"); }), HasSubstr("line 2"));
  EXPECT_THAT(ErrorOf([] { ReadProfile("a\tinf\n"); }), HasSubstr("line 1"));
  EXPECT_THAT(ErrorOf([] { ReadProfile("#\n\n"); }), HasSubstr("no lines"));
  EXPECT_THAT(ErrorOf([] { ReadProfile("a\nb\n"); }), HasSubstr("no numbers"));
}

constexpr std::string_view kOrt = R"([
 {"cat":"Node","tid":1,"ts":10,"dur":5,"name":"a_kernel_time","args":{"op_name":"Relu","output_size":"64","mem_in_use_peak":"70"}},
 {"cat":"Session","tid":1,"ts":5,"dur":20,"name":"model_run","args":{}},
 {"cat":"Node","tid":1,"ts":40,"dur":3,"name":"a_kernel_time","args":{"op_name":"Relu","output_size":"64","mem_in_use_peak":"90"}},
 {"cat":"Session","tid":1,"ts":35,"dur":10,"name":"model_run","args":{}}])";

TEST(OrtProfile, FirstRunsAreLeftOut) {
  Profile profile = ReadProfile(kOrt);
  SkipRuns(profile, 1);
  EXPECT_EQ(profile.model_runs, 1u);
  EXPECT_EQ(profile.run_times.size(), 1u);
  EXPECT_THAT(Sums(profile), UnorderedElementsAre(Pair("a", 3)));
  EXPECT_THAT(ErrorOf([&] { SkipRuns(profile, 1); }), HasSubstr("only 1 run"));
}

TEST(OrtProfile, RunsThatCannotBeToldApartAreNotLeftOut) {
  Profile profile = ReadProfile(kOrt);
  profile.run_times[0].duration = 31;
  EXPECT_THAT(ErrorOf([&] { SkipRuns(profile, 1); }), HasSubstr("overlap"));
  Profile table = ReadProfile("a\t1\n");
  EXPECT_THAT(ErrorOf([&] { SkipRuns(table, 1); }),
              HasSubstr("does not record single runs"));
}

TEST(OrtProfile, OtherNumbersOfAKernelAreRead) {
  EXPECT_THAT(Sums(ReadProfile(kOrt, "output_size")),
              UnorderedElementsAre(Pair("a", 128)));
  // A level: the largest.
  EXPECT_THAT(Sums(ReadProfile(kOrt, "mem_in_use_peak")),
              UnorderedElementsAre(Pair("a", 90)));
  EXPECT_THAT(ErrorOf([] { ReadProfile(kOrt, "size"); }),
              HasSubstr("no kernel has the number 'size'"));
}

TEST(MakeComparable, CountsInTheSameParts) {
  Profile a = ReadProfile("a\t1e-9\n");
  Profile b = ReadProfile("a\t1e6\n");
  ASSERT_NE(a.measure.parts, b.measure.parts);
  MakeComparable(a, b);
  EXPECT_EQ(a.measure.parts, b.measure.parts);
  EXPECT_EQ(Sums(b).at("a") / Sums(a).at("a"), 1'000'000'000'000'000);
  Profile time = ReadProfile(kOrt);
  EXPECT_THAT(ErrorOf([&] { MakeComparable(time, b); }),
              HasSubstr("has 'time', the second 'value'"));
}

// ONNX Runtime with OpenVINO 1.8.95 and later.
TEST(OrtProfile, KernelsInsideANodeCountForThemselves) {
  const Profile profile = ReadProfile(
      R"([{"cat": "Node", "name": "OVExecutionProvider_0_kernel_time",)"
      R"("ts": 100, "dur": 50, "tid": 1, "args": {"op_name": "OV",)"
      R"("provider": "OpenVINOExecutionProvider"}},)"
      R"({"cat": "Node", "name": "OV::fc/MatMul", "ts": 110, "dur": 30,)"
      R"("tid": 2, "args": {"parent_ort_event_name":)"
      R"("OVExecutionProvider_0_kernel_time", "ov_node_type":)"
      R"("FullyConnected", "ov_status": "EXECUTED", "ep": "OpenVINO"}},)"
      R"({"cat": "Node", "name": "OV::fc/Add", "ts": 110, "dur": 9, "tid": 2,)"
      R"("args": {"parent_ort_event_name": "OVExecutionProvider_0_kernel_time",)"
      R"("ov_node_type": "Add", "ov_status": "NOT_RUN", "ep": "OpenVINO"}}])");
  ASSERT_EQ(profile.runs.size(), 2u);
  EXPECT_EQ(profile.runs[0].self, 20);
  EXPECT_EQ(profile.runs[1].self, 30);
  EXPECT_EQ(profile.kernels[profile.runs[1].kernel].name, "fc/MatMul");
  EXPECT_EQ(profile.kernels[profile.runs[1].kernel].op, "FullyConnected");
}

}  // namespace
}  // namespace onnx_tag::profile
