/**
 * Every range of addresses that is not plain public unicast, after the IANA special-purpose registries (RFC 6890 and
 * its successors) and the metadata services of the clouds. IPv6 addresses outside 2000::/3 are refused without an entry.
 */

/** `never` cannot be allowed by any setting; `loopback` and `private` can. */
export type RangeClass = 'never' | 'loopback' | 'private';

/** The first range that contains an address decides. */
export const specialRanges: readonly (readonly [cidr: string, rangeClass: RangeClass])[] = [
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
export const globalUnicastV6 = '2000::/3';
