/** Validates the replies of a server before the log-in, and removes fields that the driver must not act on. */

import { Binary, BSON, type Document, ObjectId } from 'mongodb';
import { logInError } from './errors.ts';

/** The most members of a replica set, by the manual's "Replica Set Members". */
export const membersMax = 50;
/**
 * The most SCRAM rounds. This number takes some 35 ms of a thread. MongoDB's defaults are 10,000 and 15,000.
 */
const roundsMax = 100_000;

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isTruth: Check = (value) => typeof value === 'boolean';
const isNumber: Check = (value) => typeof value === 'number';
/** `host:port`, the format of members in a reply. */
export const isMember: Check = (value) =>
  typeof value === 'string' && member.test(value) && portOf(value) <= 65_535;
const isList =
  (check: Check, most: number): Check =>
  (value) =>
    Array.isArray(value) && value.length <= most && value.every(check);
const isMap =
  (check: Check): Check =>
  (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(check);

const member = /^(?:[^\s:[\]@/?#,%\\]{1,253}|\[[0-9a-fA-F:.]{2,45}\]):\d{1,5}$/;
const portOf = (address: string) => Number(address.slice(address.lastIndexOf(':') + 1));

/** All other fields are removed, such as the cluster time, speculative authentication and the topology version. */
const fields: Record<string, Check> = {
  ok: isNumber,
  code: isNumber,
  errmsg: isText,
  codeName: isText,
  helloOk: isTruth,
  isWritablePrimary: isTruth,
  ismaster: isTruth,
  secondary: isTruth,
  hidden: isTruth,
  passive: isTruth,
  arbiterOnly: isTruth,
  isreplicaset: isTruth,
  readOnly: isTruth,
  msg: isText,
  setName: isText,
  me: isMember,
  primary: isMember,
  hosts: isList(isMember, membersMax),
  passives: isList(isMember, membersMax),
  arbiters: isList(isMember, membersMax),
  setVersion: isNumber,
  electionId: (value) => value instanceof ObjectId,
  tags: isMap(isText),
  minWireVersion: isNumber,
  maxWireVersion: isNumber,
  maxBsonObjectSize: isNumber,
  maxMessageSizeBytes: isNumber,
  maxWriteBatchSize: isNumber,
  logicalSessionTimeoutMinutes: isNumber,
  connectionId: isNumber,
  saslSupportedMechs: isList(isText, 20),
};

/** Throws a RangeError if a field has the wrong type. */
export function cleanHello(body: Buffer): Uint8Array {
  const said = BSON.deserialize(body);
  const clean: Document = {};
  for (const [name, check] of Object.entries(fields)) {
    const value = Object.hasOwn(said, name) ? said[name] : undefined;
    if (value === undefined || value === null) continue;
    if (!check(value)) throw new RangeError(`The field ${name} of the server's reply has the wrong type.`);
    clean[name] = value;
  }
  const { hosts = [], passives = [], arbiters = [] } = clean;
  if (hosts.length + passives.length + arbiters.length > membersMax)
    throw new RangeError('The server names more members than a replica set can have.');
  return BSON.serialize(clean);
}

/**
 * Returns the rounds that the server's first message (RFC 5802) requests; undefined for a failure. Throws SOURCE_AUTH if it
 * is malformed or requests too many.
 */
export function checkScram(body: Buffer, nonce: string): number | undefined {
  const { ok, payload } = BSON.deserialize(body);
  if (Number(ok) !== 1) return undefined;
  const text = payload instanceof Binary ? Buffer.from(payload.buffer).toString('latin1') : '';
  const [, both = '', rounds = ''] = /^r=([^,]+),s=[^,]+,i=([1-9]\d*)(?:,|$)/.exec(text) ?? [];
  if (!both.startsWith(nonce) || both.length === nonce.length)
    throw logInError(new Error('The first message of the server does not follow SCRAM.'));
  if (Number(rounds) > roundsMax)
    throw logInError(new Error(`The server requests ${rounds} SCRAM rounds, and ${roundsMax} are allowed.`));
  return Number(rounds);
}
