/**
 * Which hosts the executor may dial. Users type these hosts, so nothing is judged by its text: the host is resolved
 * once, every address of the answer is checked, and only the checked addresses are dialled.
 */

import { BlockList, isIP, SocketAddress } from 'node:net';
import { isAddressRange } from '@datahub/service-kit/address-range';
import { globalUnicastV6, type RangeClass, specialRanges } from './reserved-ranges.ts';

export interface AddressPolicySettings {
  /** True in the embedded form, where the user's own machine is the only one there is. */
  loopbackAllowed: boolean;
  /** Opens RFC 1918, CGNAT and unique-local ranges as a whole. */
  privateAllowed: boolean;
  /** CIDRs, addresses and names (`db.corp.example`, `*.corp.example`) whose private addresses are allowed. */
  allow: readonly string[];
  /** The same forms, refused whatever else is said. */
  deny: readonly string[];
  /** Names of the hub's own services; a name without a dot is meant in every search domain. */
  ownNames: readonly string[];
}

/** Who asks for a host, and for how long. */
export interface Asker {
  accountId: string;
  signal: AbortSignal;
}

/** All addresses of a host, as texts. Rejects when there is none. */
export type Resolve = (host: string, asker: Asker) => Promise<readonly string[]>;

export interface CheckedAddress {
  address: string;
  family: 4 | 6;
}

/** Says why an address was refused. For the log alone: a caller must not tell this from a closed port. */
export class AddressRefused extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'AddressRefused';
  }
}

export interface AddressPolicy {
  /** Resolves `host` and checks every address; rejects with AddressRefused if any is forbidden, or as `resolve` does. */
  check(host: string, asker: Asker): Promise<CheckedAddress[]>;
}

const hostLengthMax = 253;

export function createAddressPolicy(settings: AddressPolicySettings, resolve: Resolve): AddressPolicy {
  const judge = createJudge(settings);
  return {
    check: async (host, asker) => {
      const name = normalName(host);
      if (judge.denied(name)) throw new AddressRefused('The host is denied by name.');
      const listed = judge.allowed(name);
      const answers = isIP(host) === 0 ? await resolve(host, asker) : [host];
      if (answers.length === 0) throw new AddressRefused('The host has no address.');
      return answers.map((answer) => judge.address(answer, listed));
    },
  };
}

/** Refuses what is neither a name nor a literal: socket paths, abstract sockets, user parts, zones, control characters. */
function normalName(host: string): string {
  if (host.length === 0 || host.length > hostLengthMax || !/^[\p{L}\p{M}\p{N}_.:\-。．｡]+$/u.test(host)) {
    throw new AddressRefused('The host is neither a name nor an address.');
  }
  return host.normalize('NFKC').replaceAll('。', '.').toLowerCase().replace(/\.+$/, '');
}

function createJudge(settings: AddressPolicySettings) {
  const special = specialRanges.map(([cidr, rangeClass]) => ({ list: blockList([cidr]), rangeClass }));
  const unicastV6 = blockList([globalUnicastV6]);
  const allow = splitEntries(settings.allow);
  const deny = splitEntries(settings.deny);
  const ownNames = settings.ownNames.map((name) => name.toLowerCase());

  const classOf = (address: string, family: 'ipv4' | 'ipv6'): RangeClass | 'public' => {
    const found = special.find(({ list }) => list.check(address, family));
    if (found) return found.rangeClass;
    return family === 'ipv4' || unicastV6.check(address, family) ? 'public' : 'never';
  };

  return {
    denied: (name: string) => matchesName(deny.names, name) || ownNames.some((own) => isOwn(own, name)),
    allowed: (name: string) => matchesName(allow.names, name),
    address: (answer: string, listedByName: boolean): CheckedAddress => {
      const { address, family } = canonical(answer);
      const type = family === 4 ? 'ipv4' : 'ipv6';
      if (deny.ranges.check(address, type)) throw new AddressRefused('An address of the host is denied.');
      const rangeClass = classOf(address, type);
      const open =
        rangeClass === 'public' ||
        (rangeClass === 'loopback' && settings.loopbackAllowed) ||
        (rangeClass === 'private' &&
          (settings.privateAllowed || listedByName || allow.ranges.check(address, type)));
      if (!open) throw new AddressRefused(`An address of the host is of a refused kind (${rangeClass}).`);
      return { address, family };
    },
  };
}

/** The one spelling of an address; IPv4 written as IPv6 (`::ffff:127.0.0.1`) is the IPv4 address it reaches. */
function canonical(answer: string): CheckedAddress {
  const family = isIP(answer);
  if (family === 4) return { address: answer, family };
  if (family !== 6 || answer.includes('%')) throw new AddressRefused('The host has no usable address.');
  const { address } = new SocketAddress({ address: answer, family: 'ipv6' });
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  return mapped === undefined ? { address, family } : { address: mapped, family: 4 };
}

function splitEntries(entries: readonly string[]): { names: string[]; ranges: BlockList } {
  const isRange = (entry: string) => isIP(entry.split('/', 1)[0] as string) !== 0;
  return {
    names: entries.filter((entry) => !isRange(entry)).map((entry) => entry.toLowerCase()),
    ranges: blockList(entries.filter(isRange)),
  };
}

function blockList(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', prefix] = cidr.split('/');
    const type = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    list.addSubnet(address, prefix === undefined ? (type === 'ipv4' ? 32 : 128) : Number(prefix), type);
  }
  return list;
}

function matchesName(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) =>
    pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern,
  );
}

function isOwn(own: string, name: string): boolean {
  return name === own || (!own.includes('.') && name.startsWith(`${own}.`));
}

/** A fault of an entry of `allow` or `deny`, for the reader of settings; undefined when it is well formed. */
export function faultOfEntry(entry: string): string | undefined {
  if (isIP(entry.split('/', 1)[0] as string) === 0) {
    // What ends in a number is meant as an address: as a name it would allow, and deny, nothing.
    const isName = /^(\*\.)?[\w-]+(\.[\w-]+)*$/.test(entry) && !/(^|\.)\d+$/.test(entry);
    return isName ? undefined : `${entry} is neither a name nor a CIDR.`;
  }
  return isAddressRange(entry) ? undefined : `${entry} has no valid prefix length.`;
}
