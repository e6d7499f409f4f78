// src/webhooks.ts
var WebhookError = class extends Error {
  name = "WebhookError";
};
var toleranceS = 300;
async function verifyWebhook(secret, request) {
  const key = await importKey(secret);
  const [id, sentAt, signatures] = ["id", "timestamp", "signature"].map(
    (name) => readHeader(request, `webhook-${name}`)
  );
  if (!(Math.abs(Date.now() / 1e3 - Number(sentAt)) <= toleranceS))
    throw new WebhookError(`The time of the request differs by more than ${toleranceS} s.`);
  const body = toBytes(request.body);
  const signed = new Uint8Array([...toBytes(`${id}.${sentAt}.`), ...body]);
  const expected = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
  for (const one of signatures.split(" ")) {
    const signature = one.startsWith("v1,") ? fromBase64(one.slice(3)) : void 0;
    if (signature !== void 0 && isEqual(signature, expected))
      return { ...JSON.parse(new TextDecoder().decode(body)), id };
  }
  throw new WebhookError("No signature of the request is by this secret.");
}
async function importKey(secret) {
  const bytes = /^whsec_./.test(secret) ? fromBase64(secret.slice(6)) : void 0;
  if (bytes === void 0) throw new TypeError("The secret does not have the form whsec_….");
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}
function isEqual(one, other) {
  let difference = one.length ^ other.length;
  for (const [i, byte] of other.entries()) difference |= byte ^ (one[i] ?? 0);
  return difference === 0;
}
function readHeader({ headers }, name) {
  const value = headers instanceof Headers ? headers.get(name) : Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];
  if (typeof value === "string" && value !== "") return value;
  throw new WebhookError(`The request has no header ${name}.`);
}
function toBytes(body) {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  throw new TypeError("The body is to be the text or the bytes that arrived.");
}
function fromBase64(text) {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return void 0;
  }
}
export {
  WebhookError,
  verifyWebhook
};
