/** HPKE's library takes and gives plain ArrayBuffers; Node's buffers are views into shared ones. */
export function toArrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
