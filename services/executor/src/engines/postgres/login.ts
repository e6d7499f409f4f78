/** The start-up of a session: who asks for which database, the password, and what the server tells of itself. */

import { createHash } from 'node:crypto';
import { HubError } from '@datahub/service-kit/call/error';
import { logInBytesMax } from '../shared/bounds.ts';
import { createScram, type Scram, scramMechanism } from '../shared/scram.ts';
import { logInError } from './errors.ts';
import * as protocol from './protocol.ts';
import type { Wire } from './wire.ts';

export interface LogIn {
  user: string;
  password: string;
  database: string;
  /** Settings of the session; absent for a server that refuses them here. */
  options?: string | undefined;
  /** The server is proven to be the one that is meant: it may have the password itself. */
  verified: boolean;
}

export interface Started {
  processId: number;
  secretKey: number;
  /** What the server reports: `server_version`, `server_encoding`, … */
  parameters: ReadonlyMap<string, string>;
}

const code = (letter: string) => letter.charCodeAt(0);
const authentication = code('R');
const keyData = code('K');
const parameterStatus = code('S');

const kinds = { ok: 0, clearText: 3, md5: 5, sasl: 10, saslContinue: 11, saslFinal: 12 };

export async function logIn(wire: Wire, settings: LogIn): Promise<Started> {
  const parameters = new Map<string, string>();
  const started = { processId: 0, secretKey: 0, parameters };
  const authenticate = createAuthentication(wire, settings);
  let bytesLeft = logInBytesMax;
  const onMessage = (type: number, source: Buffer, start: number, end: number) => {
    bytesLeft -= end - start;
    if (bytesLeft < 0) throw new RangeError('The log-in is longer than any server makes it.');
    const body = source.subarray(start, end);
    if (type === authentication) authenticate(body);
    else if (type === keyData) {
      started.processId = body.readInt32BE(0);
      started.secretKey = body.readInt32BE(4);
    } else if (type === parameterStatus) {
      const [name = '', value = ''] = body.toString('utf8').split('\0');
      parameters.set(name, value);
    }
  };
  const { user, database, options } = settings;
  // Nothing else, not even an application_name: PgBouncer leaves it on sessions that it shares with other applications.
  const given: Record<string, string> = options === undefined ? {} : { options };
  const first = protocol.startUp({ user, database, ...given });
  const { error } = await wire.exchange(first, onMessage).catch((err: HubError) => {
    throw err.cause instanceof Buffer ? logInError(err.cause) : err;
  });
  if (error !== undefined) throw logInError(error);
  return started;
}

/** Answers what the server asks for, one after the other. */
function createAuthentication(wire: Wire, { user, password, verified }: LogIn): (body: Buffer) => void {
  let scram: Scram | undefined;
  let proven = true;
  const answer = (text: string) => wire.send(protocol.password(text));
  return (body) => {
    const rest = body.subarray(4);
    switch (body.readInt32BE(0)) {
      case kinds.ok:
        if (!proven) throw unknownLogIn('the server ends SCRAM before it has proven itself');
        return;
      case kinds.clearText:
        if (!verified) throw clearTextError();
        return answer(password);
      case kinds.md5:
        return answer(`md5${md5(md5(password + user), rest.subarray(0, 4))}`);
      case kinds.sasl:
        if (!rest.toString('latin1').split('\0').includes(scramMechanism)) throw unknownLogIn('another SASL');
        scram = createScram(password);
        proven = false;
        return wire.send(protocol.saslStart(scramMechanism, scram.first));
      case kinds.saslContinue:
        if (scram === undefined) throw unknownLogIn('SCRAM goes on that has not begun');
        scram.answer(rest.toString('utf8')).then(
          (text) => wire.send(protocol.saslAnswer(text)),
          (err) => wire.close(err),
        );
        return;
      case kinds.saslFinal:
        scram?.verify(rest.toString('utf8'));
        proven = scram !== undefined;
        return;
      default:
        throw unknownLogIn('a kind of log-in');
    }
  };
}

const md5 = (...parts: (string | Buffer)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('md5')).digest('hex');

/** A password in clear text goes only to a server whose certificate was checked. */
function clearTextError(): HubError {
  return new HubError(
    'SOURCE_AUTH',
    'The source asks for the password in clear text, which needs TLS in the mode verify-full.',
    { stage: 'connect', retryable: false },
  );
}

function unknownLogIn(why: string): HubError {
  return new HubError(
    'SOURCE_AUTH',
    'The source asks for a log-in that the hub does not know. Give its user a password with scram-sha-256.',
    { cause: new Error(why), stage: 'connect', retryable: false },
  );
}
