// Reads from an ONNX file everything except the bytes of large weights. Mapping never reads weights, so their place in
// memory stays empty, and the browser gives no memory to pages that nobody touches. Offsets stay as they are in the file.

/** A file that is read piece by piece. */
export interface Slices {
  readonly size: number;
  read(begin: number, end: number): Uint8Array;
}

type Message = "model" | "graph" | "node" | "attribute" | "tensor" | "function";

/** Which fields of a message are messages that may hold weights. */
const INNER: Record<Message, Partial<Record<number, Message>>> = {
  model: { 7: "graph", 25: "function" },
  graph: { 1: "node", 5: "tensor" },
  function: { 7: "node" },
  node: { 5: "attribute" },
  attribute: { 5: "tensor", 6: "graph", 10: "tensor", 11: "graph" },
  tensor: {},
};
/** The fields of TensorProto that hold elements. */
const ELEMENTS = new Set([4, 5, 6, 7, 9, 10, 11]);

/** Whatever is shorter is read. */
const LARGE = 64 * 1024;
/** Bytes read at once: several small fields, and one part of a long one. */
const WINDOW = 64 * 1024;
const PIECE = 8 * 1024 * 1024;

export class Spine {
  /** How many bytes were read. */
  bytes = 0;
  private until = 0; // all that is wanted before it is read

  /** Fills `memory`, which is as long as the file. Calls `progress` with the offset that is reached. */
  constructor(
    private readonly file: Slices,
    private readonly memory: Uint8Array,
    private readonly progress: (offset: number) => void,
  ) {
    this.walk("model", 0, file.size);
  }

  private want(begin: number, end: number): void {
    let from = Math.max(begin, this.until);
    const to = Math.min(Math.max(end, from + WINDOW), this.file.size);
    if (end <= from) return;
    while (from < to) {
      const piece = this.file.read(from, Math.min(to, from + PIECE));
      this.memory.set(piece, from);
      this.bytes += piece.length;
      from += piece.length;
      this.progress(from);
      if (piece.length === 0) throw new Error("the file became shorter while it was read");
    }
    this.until = to;
  }

  /** The number at `at` and where it ends; null where none is. */
  private varint(at: number, end: number): [number, number] | null {
    this.want(at, Math.min(at + 10, end));
    let value = 0;
    let scale = 1;
    for (let i = at; i < Math.min(at + 10, end); i++) {
      const byte = this.memory[i]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value <= Number.MAX_SAFE_INTEGER ? [value, i + 1] : null;
      scale *= 128;
    }
    return null;
  }

  /** Reads what is not as expected as a whole: the program then says what is wrong with it. */
  private walk(message: Message, begin: number, end: number): void {
    let at = begin;
    while (at < end) {
      const tag = this.varint(at, end);
      if (tag === null) return this.want(at, end);
      const [key, body] = tag;
      const wire = key & 7;
      if (wire !== 2) {
        const after = wire === 0 ? this.varint(body, end)?.[1] : wire === 1 ? body + 8 : wire === 5 ? body + 4 : undefined;
        if (after === undefined || after > end) return this.want(at, end);
        this.want(at, after);
        at = after;
        continue;
      }
      const length = this.varint(body, end);
      if (length === null || length[1] + length[0] > end) return this.want(at, end);
      const [size, first] = length;
      const field = Math.floor(key / 8);
      const inner = INNER[message][field];
      if (size <= LARGE) this.want(first, first + size);
      else if (inner !== undefined) this.walk(inner, first, first + size);
      else if (message !== "tensor" || !ELEMENTS.has(field)) this.want(first, first + size);
      at = first + size;
    }
  }
}
