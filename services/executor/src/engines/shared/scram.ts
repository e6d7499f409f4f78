/** The client side of SCRAM-SHA-256 (RFC 5802, RFC 7677), in which client and server prove to each other that they know the password. */

import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { HubError } from '@datahub/service-kit/call/error';

export const scramMechanism = 'SCRAM-SHA-256';

/** Iterations take CPU time of the client, so the server's number is limited. PostgreSQL uses 4,096. */
const roundsMax = 1_000_000;
const keyBytes = 32;

export interface Scram {
  readonly first: string;
  /** The response to the server's first message. */
  answer(serverFirst: string): Promise<string>;
  /** Throws unless the server's last message proves that it knows the password. */
  verify(serverFinal: string): void;
}

/** PostgreSQL ignores `user`, since its start-up message contains it. */
export function createScram(password: string, user = '*'): Scram {
  const nonce = randomBytes(18).toString('base64');
  const bare = `n=${user.replaceAll('=', '=3D').replaceAll(',', '=2C')},r=${nonce}`;
  let expected: Buffer | undefined;
  return {
    first: `n,,${bare}`,
    answer: async (serverFirst) => {
      const { r: both = '', s: salt = '', i: rounds = '' } = attributesOf(serverFirst);
      if (
        !both.startsWith(nonce) ||
        both.length === nonce.length ||
        salt === '' ||
        !/^[1-9]\d*$/.test(rounds)
      ) {
        throw scramError('the server’s first message is malformed');
      }
      if (Number(rounds) > roundsMax) throw scramError(`the server asks for ${rounds} rounds`);
      const salted = await derive(
        prepare(password),
        Buffer.from(salt, 'base64'),
        Number(rounds),
        keyBytes,
        'sha256',
      );
      const withoutProof = `c=${Buffer.from('n,,').toString('base64')},r=${both}`;
      const signed = `${bare},${serverFirst},${withoutProof}`;
      const clientKey = hmac(salted, 'Client Key');
      const signature = hmac(createHash('sha256').update(clientKey).digest(), signed);
      expected = hmac(hmac(salted, 'Server Key'), signed);
      const proof = Buffer.from(clientKey.map((byte, i) => byte ^ (signature[i] as number)));
      return `${withoutProof},p=${proof.toString('base64')}`;
    },
    verify: (serverFinal) => {
      const signature = Buffer.from(attributesOf(serverFinal).v ?? '', 'base64');
      if (
        expected === undefined ||
        signature.length !== expected.length ||
        !timingSafeEqual(signature, expected)
      ) {
        throw scramError('the server does not know the password');
      }
    },
  };
}

const derive = promisify(pbkdf2);
const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();

const attributesOf = (message: string): Record<string, string> =>
  Object.fromEntries(message.split(',').map((part) => [part.slice(0, 1), part.slice(2)]));

const otherSpaces = /[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000]/gu;
const mappedToNothing = /\u00ad|\u034f|\u1806|[\u180b-\u180d]|\u200c|\u200d|\u2060|[\ufe00-\ufe0f]|\ufeff/gu;

/** SASLprep (RFC 4013) as PostgreSQL implements it: forbidden characters are kept. */
function prepare(password: string): string {
  return password.replace(otherSpaces, ' ').replace(mappedToNothing, '').normalize('NFKC');
}

function scramError(why: string): HubError {
  return new HubError('SOURCE_AUTH', 'The log-in at the source failed: it does not follow SCRAM-SHA-256.', {
    cause: new Error(`SCRAM: ${why}`),
    stage: 'connect',
    retryable: false,
  });
}
