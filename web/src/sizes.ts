// FLOPs for other sizes: the formulas in the data, with numbers for their dimensions.

import type { Dimension, Terms } from "./format";

const bits = new DataView(new ArrayBuffer(4));

export class Sizes {
  private given: Map<number, number> = new Map();
  private values: (number | null)[] = [];

  /** `numbers`: the counts as the program wrote them, where there is no formula; -1: unknown. */
  constructor(
    readonly dimensions: Dimension[],
    private readonly formulas: (Terms | null)[],
    private readonly numbers: number[],
  ) {
    this.set(new Map());
  }

  /** The dimensions that a reader can set: those that follow from no other one. */
  free(): number[] {
    const found: number[] = [];
    this.dimensions.forEach((one, i) => {
      if ((one.kind === "dimension" && one.equal === null) || one.kind === "data") found.push(i);
    });
    return found;
  }

  /** Numbers by dimension. What is left out has the number that the program used. */
  set(given: Map<number, number>): void {
    this.given = given;
    this.values = [];
    const open = new Uint8Array(this.dimensions.length);
    for (let i = 0; i < this.dimensions.length; i++) this.resolve(i, open);
  }

  /** null: it depends on data, and nobody gave a number. */
  value(dimension: number): number | null {
    return this.values[dimension] ?? null;
  }

  /** The counts of all formulas; -1: unknown. */
  counts(): Float64Array {
    return Float64Array.from(this.formulas, (terms, i) => {
      if (terms === null) return this.numbers[i]!;
      const sum = this.sum(terms);
      return sum === null ? -1 : sum;
    });
  }

  private resolve(i: number, open: Uint8Array): number | null {
    if (this.values[i] !== undefined) return this.values[i]!;
    if (open[i]) return null; // a formula that needs itself
    open[i] = 1;
    for (const terms of [this.dimensions[i]!.equal, this.dimensions[i]!.a, this.dimensions[i]!.b]) {
      for (const [, ...factors] of terms ?? []) {
        for (let k = 0; k < factors.length; k += 2) this.resolve(factors[k]!, open);
      }
    }
    return (this.values[i] = this.compute(i));
  }

  private compute(i: number): number | null {
    const one = this.dimensions[i]!;
    const given = this.given.get(i);
    if (given !== undefined) return given;
    if (one.kind === "dimension" || one.kind === "data") return one.equal === null ? one.number : this.sum(one.equal);
    const a = one.a === null ? null : this.sum(one.a);
    const b = one.b === null ? null : this.sum(one.b);
    if (a === null || b === null) return null;
    switch (one.kind) {
      case "floor":
        return b === 0 ? null : Math.floor(a / b);
      case "max":
        return Math.max(a, b);
      case "min":
        return Math.min(a, b);
      case "sum":
        return a + b;
      case "product":
        return a * b;
      case "scaled":
        bits.setInt32(0, b);
        return Math.floor(Math.fround(Math.fround(a) * bits.getFloat32(0)));
    }
  }

  private sum(terms: Terms): number | null {
    let sum = 0;
    for (const [coefficient, ...factors] of terms) {
      let product = coefficient!;
      for (let k = 0; k < factors.length; k += 2) {
        const value = this.values[factors[k]!];
        if (value === null || value === undefined) return null;
        product *= value ** factors[k + 1]!;
      }
      sum += product;
    }
    return sum;
  }
}

/** `batch=1,sequence=512` by dimension; words that name none, or give no whole number from 1 on, are left out. */
export function readSizes(sizes: Sizes, text: string): Map<number, number> {
  const given = new Map<number, number>();
  const free = sizes.free();
  for (const word of text.split(",")) {
    const equals = word.lastIndexOf("=");
    const name = word.slice(0, Math.max(0, equals));
    const number = Number(word.slice(equals + 1));
    const found = free.find((i) => encodeURIComponent(sizes.dimensions[i]!.name) === name);
    if (found !== undefined && Number.isSafeInteger(number) && number >= 1) given.set(found, number);
  }
  return given;
}

export function writeSizes(sizes: Sizes, given: Map<number, number>): string {
  return [...given].map(([i, number]) => encodeURIComponent(sizes.dimensions[i]!.name) + "=" + number).join(",");
}

/** From 1 to `most` in equal steps, each number once. */
export function samples(most: number, count: number): number[] {
  const found = [1];
  for (let i = 1; i <= count; i++) {
    const next = Math.round(1 + ((most - 1) * i) / count);
    if (next > found.at(-1)!) found.push(next);
  }
  return found;
}
