/** Copies bytes to an ArrayBuffer of their own, which the HPKE library requires; Node's buffers share theirs. */
export function toArrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
