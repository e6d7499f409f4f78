/** Starts a session: the startup message, authentication, and the parameters that the server reports. */

import { createHash } from 'node:crypto';
import { HubError } from '@datahub/service-kit/call/error';
import { logInBytesMax, pieceBytes } from '../shared/bounds.ts';
import { createScram, type EndPoint, type Scram } from '../shared/scram.ts';
import { logInError } from './errors.ts';
import * as protocol from './protocol.ts';
import type { Wire } from './wire.ts';

export interface LogIn {
  user: string;
  password: string;
  database: string;
  /** Settings of the session; absent if the server rejects them in the startup message. */
  options?: string | undefined;
  /** The server's certificate was verified, so it may get the password in clear text. */
  verified: boolean;
  /** The hash of the server's certificate, for a log-in that is bound to the TLS connection. */
  endPoint?: EndPoint | undefined;
}

export interface Started {
  processId: number;
  secretKey: number;
  /** Parameters that the server reports: `server_version`, `server_encoding`, … */
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
    bytesLeft -= end - start + pieceBytes;
    if (bytesLeft < 0) throw new RangeError('The login messages of the server are too long.');
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
  // The hub sends no other parameters, such as application_name, because PgBouncer would leave them on shared
  // connections.
  const given: Record<string, string> = options === undefined ? {} : { options };
  const first = protocol.startUp({ user, database, ...given });
  const { error } = await wire.exchange(first, onMessage).catch((err: HubError) => {
    throw err.cause instanceof Buffer ? logInError(err.cause) : err;
  });
  if (error !== undefined) throw logInError(error);
  return started;
}

/** Answers the authentication requests of the server in order. */
function createAuthentication(
  wire: Wire,
  { user, password, verified, endPoint }: LogIn,
): (body: Buffer) => void {
  let scram: Scram | undefined;
  let proven = true;
  const answer = (text: string) => wire.send(protocol.password(text));
  return (body) => {
    const rest = body.subarray(4);
    switch (body.readInt32BE(0)) {
      case kinds.ok:
        if (!proven) throw unknownLogIn('the server ended SCRAM without proving that it knows the password');
        return;
      case kinds.clearText:
        if (!verified) throw clearTextError();
        return answer(password);
      case kinds.md5:
        return answer(`md5${md5(md5(password + user), rest.subarray(0, 4))}`);
      case kinds.sasl:
        if (scram !== undefined) throw unknownLogIn('the server started SCRAM twice');
        scram = createScram(password, rest.toString('latin1').split('\0'), endPoint);
        if (scram === undefined) throw unknownLogIn('another SASL');
        proven = false;
        return wire.send(protocol.saslStart(scram.mechanism, scram.first));
      case kinds.saslContinue:
        if (scram === undefined)
          throw unknownLogIn('the server continued a SCRAM exchange that was not started');
        scram
          .answer(rest.toString('utf8'), () => !wire.closed)
          .then(
            (text) => wire.send(protocol.saslAnswer(text)),
            (err) => wire.close(err),
          );
        return;
      case kinds.saslFinal:
        scram?.verify(rest.toString('utf8'));
        proven = scram !== undefined;
        return;
      default:
        throw unknownLogIn('the server requested an unknown authentication method');
    }
  };
}

const md5 = (...parts: (string | Buffer)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('md5')).digest('hex');

/** The password is sent in clear text only to a server whose certificate was verified. */
function clearTextError(): HubError {
  return new HubError(
    'SOURCE_AUTH',
    'The source requires the password in clear text. The hub sends it only with the TLS mode verify-full.',
    { stage: 'connect', retryable: false },
  );
}

function unknownLogIn(why: string): HubError {
  return new HubError(
    'SOURCE_AUTH',
    'The source requires an authentication method that the hub does not support. Set a password with scram-sha-256 for its user.',
    { cause: new Error(why), stage: 'connect', retryable: false },
  );
}
