#include <gtest/gtest.h>

#include "core/tagging/sidecar.h"
#include "generated/version.h"
#include "support/generated_model.h"
#include "support/onnx_models.h"

namespace onnx_tag::test {
namespace {

std::string Written(const Model& model, const Tagging& tagging,
                    const std::string& name) {
  std::string text;
  WriteSidecar(model, tagging, AboutModel(name, model, tagging),
               [&](Bytes bytes) { text.append(bytes); });
  return text;
}

TEST(SidecarGlanceTest, SeesWhatReadingSees) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    const std::string bytes = GeneratedModel(random, false).SerializeAsString();
    const Model model = ReadModel(bytes);
    const Tagging tagging = HostileTagging(model, seed);
    const std::string name = HostileText(random);
    const std::string json = Written(model, tagging, name);
    const Sidecar whole = ReadSidecar(json);
    const auto glance = GlanceAtSidecar(json);
    ASSERT_TRUE(glance) << seed;
    EXPECT_EQ(glance->model.file, name);
    EXPECT_EQ(glance->model.bytes, bytes.size());
    EXPECT_EQ(glance->model.fingerprint, whole.model.fingerprint);
    EXPECT_EQ(glance->version, kVersion);
    EXPECT_EQ(glance->strategy, whole.tagging.strategy);
    EXPECT_EQ(glance->options, whole.tagging.options);
    EXPECT_EQ(glance->root_class, whole.tagging.root.name);
    const Coverage counted = CountTags(whole.tagging);
    EXPECT_EQ(glance->coverage.nodes, counted.nodes);
    EXPECT_EQ(glance->coverage.tagged, counted.tagged);
    EXPECT_EQ(glance->coverage.by_confidence, counted.by_confidence);
    EXPECT_EQ(glance->coverage.by_source, counted.by_source);
  }
}

TEST(SidecarGlanceTest, WhatIsCutOffOrForeignIsNone) {
  const std::string bytes =
      BytesFromText("graph { node { op_type: 'Relu' name: '/a/Relu' } }");
  const Model model = ReadModel(bytes);
  const std::string json = Written(model, HostileTagging(model, 1), "m");
  EXPECT_TRUE(GlanceAtSidecar(json));
  for (std::size_t size = 0; size + 2 < json.size(); ++size) {
    EXPECT_FALSE(GlanceAtSidecar(json.substr(0, size))) << size;
  }
  EXPECT_FALSE(GlanceAtSidecar("{}"));
}

}  // namespace
}  // namespace onnx_tag::test
