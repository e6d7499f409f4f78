/** The executor's side, the only one that can open envelopes. */

import type { webcrypto } from 'node:crypto';
import { HubError } from '@datahub/service-kit/call/error';
import { toArrayBuffer } from './array-buffer.ts';
import { parseEnvelope, type SealBinding, sealingInfo, toAssociatedData, unpad } from './envelope.ts';
import { parseKey, publicKeyOf } from './key-pair.ts';
import { createSuite } from './suite.ts';

export interface Opener {
  /** Resolves with the plain text. Rejects with UNAVAILABLE if the envelope was altered, moved, or sealed to an unknown key. */
  open(text: string, binding: SealBinding): Promise<string>;
  /** The key for new envelopes. */
  readonly currentKeyId: string;
}

/** Opens envelopes for any of `privateKeys`, each `<id>:<base64url>`. Rejects if there is none or one is malformed. */
export async function createOpener(privateKeys: readonly string[]): Promise<Opener> {
  const suite = createSuite();
  // Key pairs, because from a private key alone HPKE would derive the public key at each opening.
  const keys = new Map<string, webcrypto.CryptoKeyPair>();
  for (const text of privateKeys) {
    const { id, bytes } = parseKey(text);
    const publicBytes = parseKey(await publicKeyOf(text)).bytes;
    keys.set(id, {
      privateKey: await suite.kem.deserializePrivateKey(toArrayBuffer(bytes)),
      publicKey: await suite.kem.deserializePublicKey(toArrayBuffer(publicBytes)),
    });
  }
  const [currentKeyId] = keys.keys();
  if (currentKeyId === undefined) throw new Error('There is no private key to open credentials with.');
  return {
    currentKeyId,
    open: async (text, binding) => {
      const envelope = parseEnvelope(text);
      const recipientKey = envelope && keys.get(envelope.keyId);
      if (envelope === undefined || recipientKey === undefined)
        throw cannotOpen(`No key for ${envelope?.keyId ?? 'this text'}.`);
      try {
        const enc = toArrayBuffer(envelope.encapsulated);
        const recipient = await suite.createRecipientContext({ recipientKey, enc, info: sealingInfo.buffer });
        const plain = await recipient.open(
          toArrayBuffer(envelope.ciphertext),
          toAssociatedData(binding).buffer,
        );
        return unpad(new Uint8Array(plain));
      } catch (err) {
        throw cannotOpen(err);
      }
    },
  };
}

/** The id of the key that an envelope is sealed to; undefined if the text is no envelope. */
export function keyIdOf(text: string): string | undefined {
  return parseEnvelope(text)?.keyId;
}

function cannotOpen(cause: unknown): HubError {
  return new HubError(
    'UNAVAILABLE',
    'The stored credentials of this source cannot be opened with the keys of this hub. Set user and password again, or give the executor the key that they were sealed to.',
    { cause, stage: 'connect', retryable: false },
  );
}
