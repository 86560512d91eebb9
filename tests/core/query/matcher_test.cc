#include "core/query/matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/query/parser.h"
#include "core/tagging/module_format.h"
#include "core/tagging/sidecar.h"
#include "support/generated_model.h"
#include "support/onnx_models.h"

namespace onnx_tag::query {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two layers with a query each, a fused node, the root's, one untagged.
class MatcherTest : public testing::Test {
 protected:
  MatcherTest()
      : bytes_(test::BytesFromText(R"pb(
          graph {
            node { op_type: "MatMul" name: "/enc/layer.0/q/MatMul" }
            node { op_type: "Add" name: "/enc/layer.0/q/Add" }
            node { op_type: "MatMul" name: "/enc/layer.10/q/MatMul" }
            node { op_type: "Gelu" domain: "com.microsoft" name: "fused" }
            node { op_type: "Identity" name: "out" }
            node { op_type: "Relu" name: "a *" }
          })pb")),
        model_(ReadModel(bytes_)) {
    tagging_.root.name = "TinyModel";
    tagging_.modules.SetClass(tagging_.modules.Add("enc.layer.0"), "TinyLayer");
    tagging_.tags.resize(6);
    const RoleId other = tagging_.roles.Add(Role());
    const RoleId query = tagging_.roles.Add(
        {RoleType::kAttention, "query", AttentionKind::kSelf, 0});
    const RoleId tenth = tagging_.roles.Add(
        {RoleType::kAttention, "query", AttentionKind::kCross, 10});
    Set(0, "enc.layer.0.q", query, Confidence::kCertain, "Linear");
    Set(1, "enc.layer.0.q", query, Confidence::kHigh, "Linear");
    Set(2, "enc.layer.10.q", tenth, Confidence::kMedium, "Linear");
    Set(3, "enc.layer.0", other, Confidence::kLow, "TinyLayer");
    Set(4, "", other, Confidence::kLow, "");
    tagging_.lines.Set(NodeId{0}, {"nets/tiny/model.py", 350, "f", ""});
    tagging_.lines.Set(NodeId{1}, {"nets/tiny/model.py", 420, "f", ""});
    tagging_.lines.Set(NodeId{5}, {"head.py", 421, "f", ""});
    tagging_.origins = {{NodeId{3}, tagging_.modules.Add("enc.layer.0.act")}};
  }

  void Set(std::uint32_t node, std::string_view path, RoleId role,
           Confidence confidence, std::string_view name) {
    const ModuleId module = tagging_.modules.Add(path);
    tagging_.modules.SetClass(module, name);
    tagging_.tags[NodeId{node}] = {
        module, role, confidence,
        node == 2 ? Source::kParameter : Source::kScope};
  }

  std::vector<std::size_t> Ask(const std::string& text) {
    const Expression expression = Parse(text);
    std::vector<std::size_t> found;
    for (const NodeId node : Matcher(expression, tagging_, model_).All()) {
      found.push_back(Index(node));
    }
    return found;
  }

  std::string Why(const std::string& text) {
    const Expression expression = Parse(text);
    const Matcher matcher(expression, tagging_, model_);
    std::string lines;
    for (const std::string& line :
         WhyNothingFits(expression, tagging_, model_, matcher)) {
      lines += line + "\n";
    }
    return lines;
  }

  const std::string bytes_;
  const Model model_;
  Tagging tagging_;
};

TEST_F(MatcherTest, FilesAndLinesMatchUntaggedNodesToo) {
  EXPECT_THAT(Ask("file=*/model.py and line=350..420"), ElementsAre(0, 1));
  EXPECT_THAT(Ask("file=*/model.py and line=351..420"), ElementsAre(1));
  EXPECT_THAT(Ask("line>=420"), ElementsAre(1, 5));
  EXPECT_THAT(Ask("line in (350, 421..500)"), ElementsAre(0, 5));
  EXPECT_THAT(Ask("file=head.py"), ElementsAre(5));
  EXPECT_THAT(Ask("file=none"), ElementsAre(2, 3, 4));
  EXPECT_THAT(Ask("line!=350..420"), ElementsAre(2, 3, 4, 5));
}

TEST_F(MatcherTest, ModuleIsExactAndUnderIsTheSubtree) {
  EXPECT_THAT(Ask("module=enc.layer.0"), ElementsAre(3));
  EXPECT_THAT(Ask("under=enc.layer.0"), ElementsAre(0, 1, 3));
  EXPECT_THAT(Ask("under=enc.layer.1"), IsEmpty());  // not layer.10
  EXPECT_THAT(Ask("module=<root>"), ElementsAre(4));
  EXPECT_THAT(Ask("module=''"), ElementsAre(4));
  EXPECT_THAT(Ask("under=<root>"), ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(MatcherTest, OneStarStaysWithinAnAtomTwoCross) {
  EXPECT_THAT(Ask("module=enc.layer.*"), ElementsAre(3));
  EXPECT_THAT(Ask("module=enc.layer.*.q"), ElementsAre(0, 1, 2));
  EXPECT_THAT(Ask("module=**.q"), ElementsAre(0, 1, 2));
  EXPECT_THAT(Ask("under=enc.*.0"), ElementsAre(0, 1, 3));
  EXPECT_THAT(Ask("name=/enc/*/q/MatMul"), ElementsAre(0, 2));
  EXPECT_THAT(Ask("name=/*/MatMul"), IsEmpty());
  EXPECT_THAT(Ask("name=/**/MatMul"), ElementsAre(0, 2));
  EXPECT_THAT(Ask("op=*M*"), ElementsAre(0, 2));
  EXPECT_THAT(Ask("tag=/TinyModel/**"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Ask("tag=/*"), ElementsAre(4));
  EXPECT_THAT(Ask("name='a *'"), ElementsAre(5));
  EXPECT_THAT(Ask("name='*'"), IsEmpty());
}

TEST_F(MatcherTest, ATagIsThatOfTheNode) {
  tagging_.tags[NodeId{1}].source = Source::kAuxiliary;
  const ModuleFormat format(tagging_);
  for (const NodeId node : {NodeId{0}, NodeId{1}}) {
    const std::vector<std::size_t> found =
        Ask("tag='" + format.HierarchyTag(tagging_.tags[node]) + "'");
    EXPECT_THAT(found, Contains(Index(node)));
    EXPECT_THAT(found, Not(Contains(1 - Index(node))));
  }
}

TEST_F(MatcherTest, OrderedFieldsCompare) {
  EXPECT_THAT(Ask("layer>=1"), ElementsAre(2));
  EXPECT_THAT(Ask("layer<10"), ElementsAre(0, 1));
  EXPECT_THAT(Ask("layer<=10 and layer>0"), ElementsAre(2));
  EXPECT_THAT(Ask("layer in (0, 10)"), ElementsAre(0, 1, 2));
  EXPECT_THAT(Ask("layer=none"), ElementsAre(3, 4));
  EXPECT_THAT(Ask("confidence<high"), ElementsAre(2, 3, 4));
  EXPECT_THAT(Ask("confidence>=high"), ElementsAre(0, 1));
  EXPECT_THAT(Ask("confidence=medium"), ElementsAre(2));
}

TEST_F(MatcherTest, TheOtherFields) {
  EXPECT_THAT(Ask("class=TinyLayer"), ElementsAre(3));
  EXPECT_THAT(Ask("class=TinyModel"), ElementsAre(4)) << "the root's, apart";
  EXPECT_THAT(Ask("class=none"), IsEmpty());
  EXPECT_THAT(Ask("within=TinyLayer"), ElementsAre(0, 1, 3));
  EXPECT_THAT(Ask("within=TinyModel"), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Ask("within=Tiny*r and layer=0"), ElementsAre(0, 1));
  EXPECT_THAT(Ask("type=attention"), ElementsAre(0, 1, 2));
  EXPECT_THAT(Ask("component=query and attention=cross"), ElementsAre(2));
  EXPECT_THAT(Ask("attention=none"), ElementsAre(3, 4));
  EXPECT_THAT(Ask("source=parameter"), ElementsAre(2));
  EXPECT_THAT(Ask("op in (Add, Gelu)"), ElementsAre(1, 3));
  EXPECT_THAT(Ask("op=com.microsoft::*"), ElementsAre(3));
  EXPECT_THAT(Ask("origin=enc.layer.0.act"), ElementsAre(3));
  EXPECT_THAT(Ask("role=/Model/Enc/Layer.0"), ElementsAre(0, 1, 3));
  EXPECT_THAT(Ask("untagged"), ElementsAre(5));
  EXPECT_THAT(Ask("not untagged and not under=enc"), ElementsAre(4));
}

// `!=` is `not ... =`, so that a query and its opposite share out all nodes.
TEST_F(MatcherTest, AConditionAndItsOppositeMakeAll) {
  EXPECT_THAT(Ask("layer!=0"), ElementsAre(2, 3, 4, 5));
  for (const char* query :
       {"module=enc.layer.0", "layer=0", "class=Linear", "confidence<high",
        "op=Add", "untagged", "origin=**"}) {
    EXPECT_EQ(Ask(query).size() + Ask(std::string("not ") + query).size(), 6u);
  }
}

TEST_F(MatcherTest, NothingFoundIsExplained) {
  EXPECT_THAT(Why("class=TinyLayr"), HasSubstr("did you mean 'TinyLayer'?"));
  EXPECT_THAT(Why("within=TinyLayr"), HasSubstr("did you mean 'TinyLayer'?"));
  EXPECT_THAT(Why("op=Matmul"), HasSubstr("did you mean 'MatMul'?"));
  EXPECT_THAT(Why("layer=99"), HasSubstr("layers are 0 to 10"));
  EXPECT_THAT(Why("module=enc.layer.7.query"),
              HasSubstr("enc.layer has 0, 10"));
  EXPECT_THAT(Why("name=layer.10"),
              HasSubstr("did you mean '/enc/layer.10/q/MatMul'?"));
  EXPECT_THAT(Why("name='*'"), HasSubstr("in quotes"));
  EXPECT_EQ(Why("op=Add and layer=10"),
            "no node matches the whole query (op=Add: 1, layer=10: 1)\n");
}

// On tags nobody would give, random questions are answered, and a sidecar
// answers as the model does.
TEST(MatcherPropertyTest, AModelAndItsSidecarAnswerAlike) {
  const char* const fields[] = {"module", "under", "origin", "class",
                                "tag",    "role",  "op",     "name"};
  const char* const values[] = {"*", "**", "a*", "**.b", "/**", "''", "x"};
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    test::Random random(seed);
    const std::string bytes =
        test::GeneratedModel(random, false).SerializeAsString();
    const Model model = ReadModel(bytes);
    const Tagging tagging = test::HostileTagging(model, seed);
    std::string json;
    WriteSidecar(model, tagging, AboutModel("m", model, tagging),
                 [&](Bytes part) { json.append(part); });
    const Sidecar sidecar = ReadSidecar(json);
    for (const char* field : fields) {
      for (const char* value : values) {
        const std::string text = std::string(field) + "=" + value;
        const Expression expression = Parse(text);
        EXPECT_EQ(Matcher(expression, tagging, model).All(),
                  Matcher(expression, sidecar.tagging, sidecar.graph).All())
            << text;
      }
    }
  }
}

}  // namespace
}  // namespace onnx_tag::query
