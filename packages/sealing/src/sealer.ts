/** The catalog's side: it seals secrets and cannot open them. */

import { toArrayBuffer } from './array-buffer.ts';
import { pad, type SealBinding, sealingInfo, toAssociatedData, toText } from './envelope.ts';
import { parseKey } from './key-pair.ts';
import { createSuite } from './suite.ts';

export type Seal = (plain: string, binding: SealBinding) => Promise<string>;

/** Seals to the first of `publicKeys`, each `<id>:<base64url>`. Rejects if there is none or it is malformed. */
export async function createSealer(publicKeys: readonly string[]): Promise<Seal> {
  const [first] = publicKeys;
  if (first === undefined) throw new Error('There is no public key to seal credentials to.');
  const suite = createSuite();
  const { id: keyId, bytes } = parseKey(first);
  const recipientPublicKey = await suite.kem.deserializePublicKey(toArrayBuffer(bytes));
  return async (plain, binding) => {
    const sender = await suite.createSenderContext({ recipientPublicKey, info: sealingInfo.buffer });
    const ciphertext = await sender.seal(pad(plain).buffer, toAssociatedData(binding).buffer);
    return toText({
      keyId,
      encapsulated: Buffer.from(sender.enc),
      ciphertext: Buffer.from(ciphertext),
    });
  };
}
