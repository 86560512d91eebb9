// What the book says is what was recorded, token by token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "book_maker/book_source.h"
#include "book_maker/canonical.h"
#include "book_maker/distil.h"
#include "clues/recipes/book/packed_book.h"
#include "clues/recipes/book/recipe.h"
#include "onnx_tag/error.h"
#include "support/temporary_folder.h"

namespace onnx_tag::recipes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A recipe written by hand.
class Sketch {
 public:
  Sketch() {
    recipe_.family = "sketch";
    recipe_.texts = {""};
    recipe_.modules.push_back({});
  }

  std::uint32_t Text(const std::string& text) {
    auto& texts = recipe_.texts;
    const auto at = std::find(texts.begin(), texts.end(), text);
    const auto index = static_cast<std::uint32_t>(at - texts.begin());
    if (at == texts.end()) texts.push_back(text);
    return index;
  }

  std::uint32_t Module(std::uint32_t parent, const std::string& atom,
                       const std::string& class_name) {
    recipe_.modules.push_back({parent, Text(atom), Text(class_name)});
    return static_cast<std::uint32_t>(recipe_.modules.size() - 1);
  }

  std::uint32_t Side(const std::string& op, std::uint32_t module,
                     std::vector<std::uint32_t> inputs = {}) {
    recipe_.side_nodes.push_back({Text(op), module, std::move(inputs)});
    return static_cast<std::uint32_t>(recipe_.side_nodes.size() - 1);
  }

  std::uint32_t Token(const std::string& label, std::uint32_t module,
                      std::vector<std::uint32_t> inputs,
                      std::vector<SideReference> sides = {}) {
    RecordedToken token;
    token.label = Text(label);
    token.module = module;
    token.inputs = std::move(inputs);
    token.ops = {Text(label)};
    token.sides = std::move(sides);
    recipe_.tokens.push_back(std::move(token));
    return static_cast<std::uint32_t>(recipe_.tokens.size() - 1);
  }

  Recipe& recipe() { return recipe_; }

 private:
  Recipe recipe_;
};

BookSource BookOf(const Recipe& recipe) {
  BookSource book;
  Distil(recipe, "library-1.0-Model-ts17", book);
  return book;
}

// Through the text and the tables.
Recipe ThereAndBack(const Recipe& recipe) {
  const std::string text = PrintBook(BookOf(recipe));
  const std::string table = PackBook(ReadBook(text));
  return PackedBook(table).Read(0);
}

Recipe Told(Recipe recipe) {
  recipe.exporter = "torchscript 17";
  recipe.version = "library 1.0";
  return Canonical(recipe);
}

TEST(Book, SaysTwoLayersOnce) {
  Sketch sketch;
  sketch.recipe().modules[0].class_name = sketch.Text("Net");
  const auto list = sketch.Module(0, "layers", "ModuleList");
  std::uint32_t last = sketch.Token("Gather:cd", 0, {});
  for (const char* index : {"0", "1"}) {
    const auto layer = sketch.Module(list, index, "Layer");
    const auto linear = sketch.Module(layer, "fc", "Linear");
    const auto product = sketch.Token("LIN", linear, {last});
    last = sketch.Token("Add:dd", layer, {last, product});
  }
  sketch.recipe().outputs = {last};
  const BookSource book = BookOf(sketch.recipe());

  std::vector<std::string> names;
  for (const auto& [name, program] : book.programs) {
    names.push_back(program.class_name);
  }
  EXPECT_THAT(names, ElementsAre("Layer", "Linear", "Net"));
  EXPECT_THAT(PrintBook(book), HasSubstr("@fc Linear#"));
  EXPECT_THAT(PrintBook(book), HasSubstr("[^0]  Add:dd/Add:dd[^0,-1]"));
  EXPECT_EQ(Canonical(ThereAndBack(sketch.recipe())), Told(sketch.recipe()));
}

// A shape that the root computes and every layer reads is an argument, so that
// the first layer looks like the others.
TEST(Book, MakesSharedSidesWhereTheirOwnerIs) {
  Sketch sketch;
  const auto shape = sketch.Side("Shape", 0);
  const auto list = sketch.Module(0, "layers", "ModuleList");
  std::uint32_t last = sketch.Token("Relu", 0, {});
  for (const char* index : {"0", "1", "2"}) {
    const auto layer = sketch.Module(list, index, "Layer");
    const auto own = sketch.Side("Concat", layer, {shape, kNone});
    last = sketch.Token("Reshape", layer, {last}, {{0, 1, own}});
  }
  const std::string text = PrintBook(BookOf(sketch.recipe()));
  EXPECT_THAT(text, HasSubstr("Reshape[^0]{1=$Concat(^1,_)}"));
  EXPECT_EQ(BookOf(sketch.recipe()).programs.size(), 2U);
  EXPECT_EQ(Canonical(ThereAndBack(sketch.recipe())), Told(sketch.recipe()));
}

TEST(Book, KeepsOddNames) {
  Sketch sketch;
  const auto odd = sketch.Module(0, "a b,c[0]=^$@.", "My Class#1<2>");
  const auto token = sketch.Token("CONV", odd, {});
  RecordedToken& made = sketch.recipe().tokens[token];
  made.extra = sketch.Text("k3,3 s1,1 g_{}");
  made.ops = {sketch.Text("Conv"), sketch.Text("Add!?")};
  made.main = 1;
  made.anchor = sketch.Module(odd, "%", "");
  EXPECT_EQ(Canonical(ThereAndBack(sketch.recipe())), Told(sketch.recipe()));
}

// Nobody would write such a model, but nothing in a recipe forbids it.
Recipe RandomRecipe(std::mt19937& random) {
  const auto below = [&](std::size_t end) {
    return static_cast<std::uint32_t>(random() % end);
  };
  const char* classes[] = {"ModuleList", "ModuleDict", "Layer", "Linear", ""};
  const char* ops[] = {"Add:dd", "LIN", "Relu", "Shape", "Constant"};
  Sketch sketch;
  Recipe& made = sketch.recipe();
  for (std::uint32_t i = 0, count = 1 + below(12); i < count; ++i) {
    sketch.Module(below(made.modules.size()), std::to_string(i),
                  classes[below(5)]);
  }
  const auto any_module = [&] {
    return below(8) == 0 ? kNone : below(made.modules.size());
  };
  for (std::uint32_t i = 0, count = below(20); i < count; ++i) {
    std::vector<std::uint32_t> inputs;
    for (std::uint32_t k = below(3); k > 0; --k) {
      inputs.push_back(i == 0 || below(3) == 0 ? kNone : below(i));
    }
    sketch.Side(ops[below(5)], any_module(), std::move(inputs));
  }
  const std::uint32_t tokens = 1 + below(25);
  for (std::uint32_t i = 0; i < tokens; ++i) {
    std::vector<std::uint32_t> inputs;
    for (std::uint32_t k = below(3); k > 0; --k) {
      // Now and then one that comes later.
      const std::uint32_t input = below(below(10) == 0 ? tokens : i + 1);
      if (input != i) inputs.push_back(input);
    }
    std::vector<SideReference> sides;
    for (std::uint32_t k = 0; k < below(4) && !made.side_nodes.empty(); ++k) {
      sides.push_back({below(2), k, below(made.side_nodes.size())});
    }
    const auto token =
        sketch.Token(ops[below(5)], any_module(), inputs, std::move(sides));
    made.tokens[token].anchor = below(2) == 0 ? kNone : any_module();
  }
  made.outputs = {below(tokens), below(tokens)};
  return made;
}

TEST(Book, GivesBackWhatWasRecorded) {
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    // Side nodes that no token leads to are no part of a recipe.
    const Recipe recipe = Canonical(RandomRecipe(random));
    ASSERT_EQ(Canonical(ThereAndBack(recipe)), Told(recipe))
        << PrintBook(BookOf(recipe));
  }
}

TEST(Book, HoldsManyRecipesAndSaysWhoMadeThem) {
  std::mt19937 random(2);
  std::vector<Recipe> written;
  BookSource book;
  for (int i = 0; i < 50; ++i) {
    written.push_back(Canonical(RandomRecipe(random)));
    written.back().family = "family" + std::to_string(i);
    Distil(written.back(), "library-1.0-Model-ts17", book);
    Distil(written.back(), "library-2.0-Model-dyn", book);
  }
  ASSERT_EQ(book.roots.size(), 50U);
  EXPECT_THAT(book.roots[0].made_by,
              ElementsAre("library-1.0-Model-ts17", "library-2.0-Model-dyn"));
  const std::string table = PackBook(book);
  const PackedBook packed(table);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    EXPECT_EQ(Canonical(packed.Read(i)), Told(written[i]));
    const Summary summary = Summarize(written[i]);
    EXPECT_TRUE(std::ranges::equal(packed.Summary(i).grams, summary.grams));
    EXPECT_TRUE(std::ranges::equal(packed.Summary(i).names, summary.names));
  }
}

TEST(Book, RefusesWhatItCannotRead) {
  for (const char* text :
       {"Layer Relu", "Layer#1\tRelu[-1", "Layer#1\t@a", "Layer#1\tRelu{1}",
        "= family\tLayer#1\t[-1]", "Layer#1\t$Shape(1)", "Layer#1\tRelu%4"}) {
    EXPECT_THROW(ReadBook(text), Error) << text;
  }
  EXPECT_THROW(PackBook(ReadBook("Layer#1\t@a Other#2[]")), Error);
  EXPECT_THROW(PackedBook("onxtrec0"), Error);
}

TEST(BuiltInBook, IsTheTextOfTheSourceTree) {
  const std::string text = onnx_tag::test::ReadFile(ONNX_TAG_RECIPES);
  const BookSource source = ReadBook(text);
  EXPECT_EQ(PrintBook(source), text);
  EXPECT_EQ(BuiltInBook().size(), source.roots.size());
  EXPECT_EQ(BuiltInBook().program_count(), source.programs.size());
}

TEST(BuiltInBook, HasTheFamiliesPeopleExport) {
  std::set<std::string> families;
  for (std::size_t i = 0; i < BuiltInBook().size(); ++i) {
    families.insert(BuiltInBook().Read(i).family);
    EXPECT_GT(BuiltInBook().Summary(i).grams.size(), 0U);
  }
  for (const char* family : {"bert", "llama", "t5", "vit", "resnet"}) {
    EXPECT_TRUE(families.contains(family)) << family;
  }
}

}  // namespace
}  // namespace onnx_tag::recipes
