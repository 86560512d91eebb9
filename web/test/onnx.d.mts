export function model(content: object, weightByte?: number): Uint8Array;
export function tensorData(bytes: Uint8Array, name: string): Uint8Array;
