import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { Binary, BSON, type Document } from 'mongodb';
import { type Replies, toReply } from '../../hostile/rogue-mongodb.ts';

/** The server's side of SCRAM (RFC 5802), implemented independently of the hub. */
export function createScramServer(password: string, algorithm: 'sha1' | 'sha256' = 'sha256'): Replies {
  const [salt, rounds] = [Buffer.from('salt'), 4_096];
  const bytes = algorithm === 'sha1' ? 20 : 32;
  const hmac = (key: Buffer, text: string) => createHmac(algorithm, key).update(text).digest();
  let messages = '';
  let nonce = '';
  const reply = (text: string, done: boolean) =>
    BSON.serialize({ ok: 1, conversationId: 7, done, payload: new Binary(Buffer.from(text)) });
  const textOf = ({ payload }: Document) => Buffer.from(payload.buffer).toString();
  return {
    saslStart: (socket, command, id) => {
      const bare = textOf(command).slice('n,,'.length);
      nonce = `${/r=(.+)$/.exec(bare)?.[1]}server`;
      const first = `r=${nonce},s=${salt.toString('base64')},i=${rounds}`;
      messages = `${bare},${first}`;
      socket.write(toReply(reply(first, false), id));
    },
    saslContinue: (socket, command, id) => {
      const [, withoutProof = '', proof = ''] = /^(.*),p=(.*)$/.exec(textOf(command)) ?? [];
      const salted = pbkdf2Sync(password, salt, rounds, bytes, algorithm);
      const signed = `${messages},${withoutProof}`;
      const stored = createHash(algorithm).update(hmac(salted, 'Client Key')).digest();
      const signature = hmac(stored, signed);
      const clientKey = Buffer.from(proof, 'base64').map((byte, i) => byte ^ (signature[i] as number));
      if (!createHash(algorithm).update(clientKey).digest().equals(stored)) {
        socket.write(toReply(BSON.serialize({ ok: 0, code: 18, errmsg: 'no' }), id));
        return;
      }
      const proved = `v=${hmac(hmac(salted, 'Server Key'), signed).toString('base64')}`;
      socket.write(toReply(reply(proved, true), id));
    },
  };
}
