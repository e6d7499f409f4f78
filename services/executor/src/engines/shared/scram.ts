/**
 * The client side of SCRAM-SHA-256 (RFC 5802, RFC 7677). Client and server prove to each other that they know the
 * password. With SCRAM-SHA-256-PLUS, the proof is bound to the server's certificate, so that a man in the middle cannot
 * relay it.
 */

import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { HubError } from '@datahub/service-kit/call/error';
import { deriveInTurn } from './key-derivation.ts';

const [scram, scramPlus] = ['SCRAM-SHA-256', 'SCRAM-SHA-256-PLUS'];

/** The most iterations that a server may request, because they take CPU time of the hub. PostgreSQL uses 4,096. */
const roundsMax = 1_000_000;
const keyBytes = 32;

export interface Scram {
  readonly mechanism: string;
  readonly first: string;
  /**
   * Resolves to the response to the server's first message. Rejects if nobody wants it any more when its turn comes, and
   * at a second call.
   */
  answer(serverFirst: string, isWanted?: () => boolean): Promise<string>;
  /** Throws unless the server's last message proves that it knows the password. */
  verify(serverFinal: string): void;
}

/** The hash of the server's certificate: `tls-server-end-point` of RFC 5929. */
export type EndPoint = Buffer;

/**
 * Returns undefined if the server offers no mechanism that the hub supports. `endPoint` is undefined without TLS. With
 * TLS, the signed messages state whether the server offered channel binding, so that an attacker cannot remove the
 * offer.
 */
export function createScram(
  password: string,
  offered: readonly string[],
  endPoint: EndPoint | undefined,
): Scram | undefined {
  const binds = endPoint !== undefined && offered.includes(scramPlus);
  if (!binds && !offered.includes(scram)) return undefined;
  const header = binds ? 'p=tls-server-end-point,,' : endPoint === undefined ? 'n,,' : 'y,,';
  const channel = Buffer.concat([Buffer.from(header), ...(binds ? [endPoint] : [])]).toString('base64');
  const nonce = randomBytes(18).toString('base64');
  // The user name is empty, because PostgreSQL uses the one of the start-up message.
  const bare = `n=*,r=${nonce}`;
  let expected: Buffer | undefined;
  let isAnswered = false;
  return {
    mechanism: binds ? scramPlus : scram,
    first: `${header}${bare}`,
    answer: async (serverFirst, isWanted = () => true) => {
      if (isAnswered) throw scramError('the server continued twice');
      isAnswered = true;
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
      const saltBytes = Buffer.from(salt, 'base64');
      const salted = await deriveInTurn(Number(rounds), async () => {
        if (!isWanted()) throw scramError('the connection was closed');
        return await derive(prepare(password), saltBytes, Number(rounds), keyBytes, 'sha256');
      });
      const withoutProof = `c=${channel},r=${both}`;
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
