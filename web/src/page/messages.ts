// What the page and its worker say to each other.

export type Question =
  | { kind: "open"; file: File }
  | { kind: "explain"; id: number; address: string }
  | { kind: "query"; id: number; expression: string };

export type Answer =
  | { kind: "reading"; offset: number; size: number }
  | { kind: "mapping" }
  | { kind: "opened"; report: string; read: number; milliseconds: number }
  | { kind: "failed"; reason: string }
  | { kind: "answered"; id: number; bytes: Uint8Array }
  | { kind: "refused"; id: number; reason: string };
