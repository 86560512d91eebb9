#include "uses/sizes/formulas.h"

#include <gtest/gtest.h>

#include <limits>

namespace onnx_tag::sizes {
namespace {

class FormulasTest : public ::testing::Test {
 protected:
  std::string Text(Dim dim) const { return FormulaText(f_, dim); }
  // The value for b = 2, s = 7, h = 33.
  Dim At(Dim dim) const {
    Evaluation numbers(f_);
    numbers.Set(f_.OnlySymbol(f_.Find("b")), 2);
    numbers.Set(f_.OnlySymbol(f_.Find("s")), 7);
    numbers.Set(f_.OnlySymbol(f_.Find("h")), 33);
    return numbers(dim);
  }

  Formulas f_;
  const Dim b_ = f_.Dimension("b");
  const Dim s_ = f_.Dimension("s");
  const Dim h_ = f_.Dimension("h");
};

TEST_F(FormulasTest, EqualPolynomialsAreOneFormula) {
  const Dim one = f_.Times(f_.Plus(b_, s_), f_.Plus(b_, s_));
  const Dim other = f_.Plus(f_.Plus(f_.Times(b_, b_), f_.Times(s_, s_)),
                            f_.Times(f_.Times(s_, 2), b_));
  EXPECT_EQ(one, other);
  EXPECT_EQ(Text(one), "b² + 2·b·s + s²");
  EXPECT_EQ(f_.Minus(one, other), Dim(0));
}

TEST_F(FormulasTest, TextHasHighPowersAndTheNumberLast) {
  const Dim square = f_.Times(s_, s_);
  const Dim dim =
      f_.Plus(f_.Times(f_.Times(square, square), b_), f_.Minus(s_, 3));
  EXPECT_EQ(Text(dim), "s + b·s^4 - 3");
  EXPECT_EQ(Text(f_.Times(s_, -1)), "-s");
  EXPECT_EQ(Text(kUnknownDim), "?");
}

TEST_F(FormulasTest, ADivisionThatLeavesNothingIsAPolynomial) {
  const Dim whole = f_.Times(f_.Times(f_.Plus(b_, s_), h_), 12);
  EXPECT_EQ(f_.Quotient(whole, f_.Times(h_, 4)), f_.Times(f_.Plus(b_, s_), 3));
  EXPECT_EQ(f_.Quotient(whole, f_.Plus(b_, s_)), f_.Times(h_, 12));
  EXPECT_FALSE(f_.Quotient(whole, f_.Plus(b_, h_)).known());
  EXPECT_FALSE(f_.Quotient(whole, f_.Times(h_, 5)).known());
  EXPECT_FALSE(f_.Quotient(whole, 0).known());
}

// A file may compute each shape from the one before.
TEST_F(FormulasTest, AChainOfDefinitionsOfAnyLengthHasAValue) {
  Dim dim = b_;
  for (int i = 0; i < 200'000; ++i) dim = f_.Max(f_.Plus(dim, 1), s_);
  EXPECT_EQ(At(dim), Dim(200'006));
}

TEST_F(FormulasTest, RoundingDownKeepsOneFormForOneSize) {
  // (h - 1) / 2 + 1 and (h + 1) / 2, as convolutions write it.
  const Dim half = f_.Plus(f_.Floor(f_.Minus(h_, 1), 2), 1);
  EXPECT_EQ(half, f_.Floor(f_.Plus(h_, 1), 2));
  EXPECT_EQ(Text(half), "ceil(h/2)");
  EXPECT_EQ(half, f_.Ceil(h_, 2));
  // Four halvings are one division by 16.
  Dim sixteenth = h_;
  for (int i = 0; i < 4; ++i) {
    sixteenth = f_.Plus(f_.Floor(f_.Minus(sixteenth, 1), 2), 1);
  }
  EXPECT_EQ(Text(sixteenth), "ceil(h/16)");
  EXPECT_EQ(At(sixteenth), Dim(3));
  EXPECT_EQ(f_.Floor(f_.Plus(f_.Times(h_, 4), 3), 4), h_);
  EXPECT_EQ(Text(f_.Floor(f_.Times(h_, 6), 4)), "h + floor(h/2)");
}

// Every way to round, against numbers.
TEST_F(FormulasTest, RoundingIsRightForAllRemainders) {
  for (std::int64_t add = -9; add < 10; ++add) {
    for (std::int64_t by = 1; by < 7; ++by) {
      const std::int64_t top = 33 + add;
      const std::int64_t down = top >= 0 ? top / by : -((-top + by - 1) / by);
      EXPECT_EQ(At(f_.Floor(f_.Plus(h_, add), by)), Dim(down))
          << add << " / " << by;
    }
  }
}

TEST_F(FormulasTest, TheLargerOfTwoIsFoundWhereItIsSure) {
  const Dim sum = f_.Plus(b_, s_);
  EXPECT_EQ(f_.Max(sum, s_), sum);
  EXPECT_EQ(f_.Min(sum, s_), s_);
  EXPECT_EQ(f_.Max(f_.Minus(s_, 1), 0), f_.Minus(s_, 1)) << "a size is not 0";
  EXPECT_EQ(f_.Min(f_.Floor(h_, 2), h_), f_.Floor(h_, 2));
  const Dim either = f_.Min(s_, 512);
  EXPECT_EQ(Text(either), "min(s, 512)");
  EXPECT_EQ(At(either), Dim(7));
  EXPECT_EQ(f_.Min(either, s_), either);
  EXPECT_EQ(f_.Min(either, 600), either);
  EXPECT_EQ(f_.Max(f_.Minus(512, either), 0), f_.Minus(512, either));
}

TEST_F(FormulasTest, EqualityIsKnownOrOpen) {
  EXPECT_EQ(f_.AreEqual(s_, s_), true);
  EXPECT_EQ(f_.AreEqual(s_, -1), false);
  EXPECT_EQ(f_.AreEqual(s_, 0), false);
  EXPECT_EQ(f_.AreEqual(s_, 1), std::nullopt);
  EXPECT_EQ(f_.AreEqual(f_.Plus(s_, b_), s_), false);
  EXPECT_EQ(f_.AreEqual(s_, b_), std::nullopt);
}

TEST_F(FormulasTest, NumbersAreExactOrOver) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 62;
  EXPECT_EQ(f_.Plus(kLarge, kLarge - 1), Dim(2 * (kLarge - 1) + 1));
  EXPECT_TRUE(f_.Plus(kLarge, kLarge).IsOver());
  EXPECT_TRUE(f_.Times(kLarge, 2).IsOver());
  EXPECT_TRUE(f_.Times(f_.Times(s_, kLarge), 2).IsOver());
  EXPECT_TRUE(f_.Plus(f_.Times(s_, kLarge), f_.Times(s_, kLarge)).IsOver());
  EXPECT_EQ(f_.Times(f_.Times(kLarge, 2), 0), Dim(0));
  EXPECT_EQ(Text(f_.Times(kLarge, 2)), "over 2^63");
  EXPECT_TRUE(At(f_.Times(f_.Times(s_, s_), kLarge)).IsOver());
  EXPECT_EQ(At(f_.Times(s_, kLarge / 8)), Dim(7 * (kLarge / 8)));
}

TEST_F(FormulasTest, ManyTermsBecomeASymbolWithTheRightValue) {
  Dim sum = 0;
  Dim product = 1;
  FormulaSum at_once(f_);
  Evaluation numbers(f_);
  std::int64_t expected = 0;
  for (int i = 0; i < 200; ++i) {
    const Dim one = f_.Dimension("x" + std::to_string(i));
    sum = f_.Plus(sum, one);
    at_once.Add(one);
    Term one_room;
    EXPECT_LE(f_.Terms(sum, one_room).size(), Formulas::kMostTerms);
    expected += i + 1;
  }
  const Dim total = at_once.Total();
  for (int i = 0; i < 200; ++i) {
    numbers.Set(f_.OnlySymbol(f_.Find("x" + std::to_string(i))), i + 1);
  }
  EXPECT_EQ(numbers(sum), Dim(expected));
  EXPECT_EQ(numbers(total), Dim(expected));
  for (int i = 0; i < 40; ++i) product = f_.Times(product, s_);
  Term room;
  ASSERT_EQ(f_.Terms(product, room).size(), 1U);
  EXPECT_EQ(f_.Factors(f_.Terms(product, room)[0].monomial).size(), 2U)
      << "s^7, and a symbol for s^33";
  EXPECT_TRUE(At(product).IsOver());
}

TEST_F(FormulasTest, AFloatScaleIsRoundedAsOnnxRuntimeDoes) {
  const Dim scaled = f_.Scaled(h_, 1.3333334F);
  EXPECT_EQ(Text(scaled), "floor(1.33333·h)");
  EXPECT_EQ(At(scaled), Dim(44));
  EXPECT_EQ(f_.Scaled(h_, 1.3333334F), scaled);
  EXPECT_NE(f_.Scaled(h_, 1.3333335F), scaled);
}

TEST_F(FormulasTest, WhatDependsOnDataSaysSo) {
  const Dim found = f_.Data("nonzero");
  EXPECT_EQ(Text(found), "nonzero_1");
  EXPECT_EQ(Text(f_.Data("nonzero")), "nonzero_2");
  EXPECT_TRUE(f_.HasData(f_.Times(f_.Min(found, s_), b_)));
  EXPECT_FALSE(f_.HasData(f_.Times(s_, b_)));
  EXPECT_FALSE(At(f_.Times(found, 2)).known());
}

TEST_F(FormulasTest, ExportersWriteFormulasAsNames) {
  EXPECT_EQ(ParseFormula(f_, "b + s"), f_.Plus(b_, s_));
  EXPECT_EQ(ParseFormula(f_, "2*b*(s - 1)"),
            f_.Times(f_.Times(b_, 2), f_.Minus(s_, 1)));
  EXPECT_EQ(ParseFormula(f_, "(256//s)"), f_.Floor(256, s_));
  EXPECT_EQ(ParseFormula(f_, "floor(h/2)"), f_.Floor(h_, 2));
  EXPECT_EQ(ParseFormula(f_, "7"), Dim(7));
  for (const char* const text : {"b + unknown", "cache+seq", "b +", "(b", "b)",
                                 "h/2", "", "99999999999999999999", "b b"}) {
    EXPECT_FALSE(ParseFormula(f_, text).known()) << text;
  }
  const std::string deep(5000, '(');
  EXPECT_FALSE(ParseFormula(f_, deep).known());
  EXPECT_EQ(QuotedName("cache+seq"), "\"cache+seq\"");
}

}  // namespace
}  // namespace onnx_tag::sizes
