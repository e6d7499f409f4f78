/**
 * Decides which hosts the executor may dial. Users choose these hosts, so their text proves nothing: the host is resolved
 * once, every address is checked, and only the checked addresses are dialled.
 */

import { BlockList, isIP, SocketAddress } from 'node:net';
import { isAddressRange } from '@datahub/service-kit/address-range';

export interface AddressPolicySettings {
  /** True by default in the one-process hub, which runs on the user's own machine. */
  loopbackAllowed: boolean;
  /** Allows all RFC 1918, CGNAT and unique-local addresses. */
  privateAllowed: boolean;
  /** CIDRs, addresses and names (`db.corp.example`, `*.corp.example`) whose private addresses are allowed. */
  allow: readonly string[];
  /** The same forms; takes precedence over everything else. */
  deny: readonly string[];
  /** Names of the hub's own services, which are refused; a name without a dot is refused in every search domain. */
  ownNames: readonly string[];
}

/** The account that a host is resolved for. */
export interface LookupContext {
  accountId: string;
  signal: AbortSignal;
}

/** The addresses of a host that may be dialled, as texts. Rejects if there is none. */
export type Resolve = (host: string, ctx: LookupContext) => Promise<readonly string[]>;

export interface CheckedAddress {
  address: string;
  family: 4 | 6;
}

/** Why an address was refused. Only for the log: to a caller it must look like a closed port. */
export class AddressRefused extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'AddressRefused';
  }
}

export interface AddressPolicy {
  /** Resolves `host` and checks every address; rejects with AddressRefused if any is forbidden, or as `resolve` does. */
  check(host: string, ctx: LookupContext): Promise<CheckedAddress[]>;
  /**
   * Checks a host that a bastion will resolve, which has its own loopback and private addresses. Throws AddressRefused for
   * a name or address that is denied, and for addresses that no setting can allow, such as those of metadata services.
   */
  checkBehind(host: string): void;
}

const hostLengthMax = 253;

export function createAddressPolicy(settings: AddressPolicySettings, resolve: Resolve): AddressPolicy {
  const rules = createRules(settings);
  return {
    check: async (host, ctx) => {
      const name = normalName(host);
      if (rules.denied(name)) throw new AddressRefused('The host is denied by name.');
      const listed = rules.allowed(name);
      const answers = isIP(host) === 0 ? await resolve(host, ctx) : [host];
      if (answers.length === 0) throw new AddressRefused('The host has no address.');
      return answers.map((answer) => rules.address(answer, listed));
    },
    checkBehind: (host) => {
      const name = normalName(host);
      if (rules.denied(name)) throw new AddressRefused('The host is denied by name.');
      if (isIP(name) !== 0) rules.behind(name);
      // A bastion could read it as an address: 0xa9fea9fe and 2852039166 are 169.254.169.254.
      else if (/^(0x[0-9a-f]*|\d+)$/.test(name.slice(name.lastIndexOf('.') + 1)))
        throw new AddressRefused('The host is a number, but not an address in its usual form.');
    },
  };
}

/** Refuses anything but a name or an address: socket paths, abstract sockets, user parts, zones, control characters. */
function normalName(host: string): string {
  if (host.length === 0 || host.length > hostLengthMax || !/^[\p{L}\p{M}\p{N}_.:\-。．｡]+$/u.test(host)) {
    throw new AddressRefused('The host is neither a name nor an address.');
  }
  return host.normalize('NFKC').replaceAll('。', '.').toLowerCase().replace(/\.+$/, '');
}

function createRules(settings: AddressPolicySettings) {
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

  const classify = (answer: string) => {
    const checked = canonical(answer);
    const type = checked.family === 4 ? 'ipv4' : 'ipv6';
    if (deny.ranges.check(checked.address, type))
      throw new AddressRefused('An address of the host is denied.');
    return { ...checked, type, rangeClass: classOf(checked.address, type) } as const;
  };

  return {
    behind: (address: string) => {
      if (classify(address).rangeClass === 'never') throw new AddressRefused(forbidden('never'));
    },
    denied: (name: string) => matchesName(deny.names, name) || ownNames.some((own) => isOwn(own, name)),
    allowed: (name: string) => matchesName(allow.names, name),
    address: (answer: string, listedByName: boolean): CheckedAddress => {
      const { address, family, type, rangeClass } = classify(answer);
      const open =
        rangeClass === 'public' ||
        (rangeClass === 'loopback' && settings.loopbackAllowed) ||
        (rangeClass === 'private' &&
          (settings.privateAllowed || listedByName || allow.ranges.check(address, type)));
      if (!open) throw new AddressRefused(forbidden(rangeClass));
      return { address, family };
    },
  };
}

const forbidden = (rangeClass: string) => `An address of the host is in a forbidden range (${rangeClass}).`;

/** The canonical form of an address. An IPv4-mapped IPv6 address (`::ffff:127.0.0.1`) becomes the IPv4 address. */
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

/** What is wrong with an entry of `allow` or `deny`; undefined if it is well-formed. */
export function faultOfEntry(entry: string): string | undefined {
  if (isIP(entry.split('/', 1)[0] as string) === 0) {
    // A name that ends in a number is probably a mistyped address. As a name it would match nothing.
    const isName = /^(\*\.)?[\w-]+(\.[\w-]+)*$/.test(entry) && !/(^|\.)\d+$/.test(entry);
    return isName ? undefined : `${entry} is neither a name nor a CIDR.`;
  }
  return isAddressRange(entry) ? undefined : `${entry} has no valid prefix length.`;
}

/** `never` cannot be allowed by any setting; `loopback` and `private` can. */
type RangeClass = 'never' | 'loopback' | 'private';

/** The first range that contains an address decides. */
const specialRanges: readonly (readonly [cidr: string, rangeClass: RangeClass])[] = [
  // Metadata services in ranges that settings can allow: Alibaba, Azure's wire server, AWS, Google, Oracle, Scaleway.
  ['100.100.100.200/32', 'never'],
  ['168.63.129.16/32', 'never'],
  ['fd00:ec2::/32', 'never'],
  ['fd20:ce::254/128', 'never'],
  ['fd00:c1::a9fe:a9fe/128', 'never'],
  ['fd00:42::42/128', 'never'],

  ['127.0.0.0/8', 'loopback'],
  ['::1/128', 'loopback'],

  ['10.0.0.0/8', 'private'],
  ['172.16.0.0/12', 'private'],
  ['192.168.0.0/16', 'private'],
  ['100.64.0.0/10', 'private'],
  ['fc00::/7', 'private'],

  // This network, link-local, protocol assignments, documentation, the 6to4 relay, benchmarks, multicast, reserved.
  ['0.0.0.0/8', 'never'],
  ['169.254.0.0/16', 'never'],
  ['192.0.0.0/24', 'never'],
  ['192.0.2.0/24', 'never'],
  ['192.88.99.0/24', 'never'],
  ['198.18.0.0/15', 'never'],
  ['198.51.100.0/24', 'never'],
  ['203.0.113.0/24', 'never'],
  ['224.0.0.0/4', 'never'],
  ['240.0.0.0/4', 'never'],

  // Inside 2000::/3 but not plain unicast: Teredo and its neighbours, documentation, 6to4.
  ['2001::/23', 'never'],
  ['2001:db8::/32', 'never'],
  ['2002::/16', 'never'],
  ['3fff::/20', 'never'],
];

/** The only IPv6 range with global unicast addresses. Compatible, NAT64, link-local, multicast and others are outside of it. */
const globalUnicastV6 = '2000::/3';
