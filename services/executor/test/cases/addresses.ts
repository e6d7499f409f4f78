/** Forms that an address can take, for the tests: what no source may reach, however it is written. */

/** Refused whatever is allowed. */
export const never = [
  // This network and the unspecified address, as literals and as the resolver gives them for odd forms.
  ...['0.0.0.0', '0.0.0.1', '0.255.255.255', '::', '::ffff:0.0.0.0', '0:0:0:0:0:0:0:0'],
  // Link-local and the metadata services that live there.
  ...['169.254.0.1', '169.254.169.254', '169.254.170.2', '169.254.170.23', '169.254.0.23', '169.254.169.253'],
  ...['169.254.255.255', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '0:0:0:0:0:ffff:a9fe:a9fe'],
  ...['fe80::1', 'fe80::a9fe:a9fe', 'febf::ffff', 'fe80::1%1', 'fe80::1%lo'],
  // Metadata services elsewhere.
  ...['100.100.100.200', '168.63.129.16', '192.0.0.192', '::ffff:100.100.100.200', '::ffff:168.63.129.16'],
  ...[
    'fd00:ec2::254',
    'fd00:ec2::23',
    'FD00:0EC2:0:0:0:0:0:254',
    'fd20:ce::254',
    'fd00:42::42',
    'fd00:c1::a9fe:a9fe',
  ],
  // Protocol assignments, documentation, benchmarks, the 6to4 relay.
  ...['192.0.0.1', '192.0.0.170', '192.0.2.1', '198.51.100.7', '203.0.113.9', '198.18.0.1', '198.19.255.255'],
  ...['192.88.99.1', '::ffff:192.0.2.1', '2001:db8::1', '3fff::1', '3fff:fff::1', '100::1', '5f00::1'],
  // Multicast, reserved, broadcast.
  ...[
    '224.0.0.1',
    '239.255.255.250',
    '240.0.0.1',
    '254.1.2.3',
    '255.255.255.255',
    'ff00::1',
    'ff02::1',
    'ff0e::1',
  ],
  // IPv4 inside IPv6: compatible, NAT64, 6to4, Teredo, ISATAP's site-local kin.
  ...['::127.0.0.1', '::7f00:1', '::a9fe:a9fe', '::8.8.8.8', '64:ff9b::7f00:1', '64:ff9b::127.0.0.1'],
  ...['64:ff9b::a9fe:a9fe', '64:ff9b::808:808', '64:ff9b:1::1', '2002:7f00:1::', '2002:a9fe:a9fe::1'],
  ...['2002:808:808::1', '2001::1', '2001:0:53aa:64c::1', '2001:10::1', '2001:20::1', '2001:2::1', 'fec0::1'],
  ...[
    '4000::1',
    '8000::1',
    'e000::1',
    '1::1',
    '::ffff:0:127.0.0.1',
    '::fffe:7f00:1',
    '2002:c0a8:101::',
    '64:ff9b::10.0.0.1',
  ],
  // Edges and other spellings of all of these.
  ...[
    '169.254.42.42',
    '::ffff:169.254.170.2',
    '::FFFF:100.100.100.200',
    '::ffff:198.18.0.1',
    '::ffff:0.0.0.1',
  ],
  ...['::ffff:224.0.0.1', '::ffff:255.255.255.255', '::ffff:e000:1', '233.252.0.1', '240.0.0.0', '192.0.0.8'],
  ...[
    '2002:a00:1::1',
    '64:ff9b::c0a8:101',
    '64:ff9b::a00:1',
    '2001:db8:ffff::1',
    'fe90::1',
    'fea0::1',
    '::2',
  ],
  ...['ff05::1:3', 'ff02::fb', '198.51.100.255', '203.0.113.255'],
];

/** Open only where loopback is. */
export const loopback = [
  ...['127.0.0.1', '127.0.0.2', '127.1.2.3', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1'],
  ...['::ffff:7f00:1', '0:0:0:0:0:FFFF:7F00:0001', '::ffff:127.9.9.9'],
];

/** Open by setting or list. */
export const privates = [
  ...['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  ...[
    '100.64.0.1',
    '100.127.255.255',
    'fc00::1',
    'fd12:3456::1',
    'fdff::1',
    '::ffff:10.0.0.1',
    '::ffff:c0a8:1',
  ],
];

/** Neither a name nor an address. */
export const noHosts = [
  '',
  '/var/run/postgresql',
  '@abstract',
  'user@db',
  'a b',
  'a\0b',
  'a\n',
  '[::1]',
  'fe80::1%eth0',
  '*',
  'http://x',
  'a\\b',
  'x'.repeat(254),
];

/** Spellings of loopback that resolvers understand and `isIP` does not. */
export const oddForms = [
  '127.1',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '0',
  '127.0.0.1.',
  '１２７.0.0.1',
  '0x7f000001',
];

/** The first and the last address of each range, and of which kind its refusal says it is. */
export const edges: readonly (readonly [
  first: string,
  last: string,
  kind: 'never' | 'loopback' | 'private',
])[] = [
  ['100.100.100.200', '100.100.100.200', 'never'],
  ['168.63.129.16', '168.63.129.16', 'never'],
  ['fd00:ec2::', 'fd00:ec2:ffff:ffff:ffff:ffff:ffff:ffff', 'never'],
  ['fd20:ce::254', 'fd20:ce::254', 'never'],
  ['fd00:c1::a9fe:a9fe', 'fd00:c1::a9fe:a9fe', 'never'],
  ['fd00:42::42', 'fd00:42::42', 'never'],
  ['127.0.0.0', '127.255.255.255', 'loopback'],
  ['::1', '::1', 'loopback'],
  ['10.0.0.0', '10.255.255.255', 'private'],
  ['172.16.0.0', '172.31.255.255', 'private'],
  ['192.168.0.0', '192.168.255.255', 'private'],
  ['100.64.0.0', '100.127.255.255', 'private'],
  ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'private'],
  ['0.0.0.0', '0.255.255.255', 'never'],
  ['169.254.0.0', '169.254.255.255', 'never'],
  ['192.0.0.0', '192.0.0.255', 'never'],
  ['192.0.2.0', '192.0.2.255', 'never'],
  ['192.88.99.0', '192.88.99.255', 'never'],
  ['198.18.0.0', '198.19.255.255', 'never'],
  ['198.51.100.0', '198.51.100.255', 'never'],
  ['203.0.113.0', '203.0.113.255', 'never'],
  ['224.0.0.0', '239.255.255.255', 'never'],
  ['240.0.0.0', '255.255.255.255', 'never'],
  ['::', '::', 'never'],
  ['::2', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'never'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', 'never'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', 'never'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'never'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', 'never'],
  ['4000::', 'fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'never'],
  ['fe00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'never'],
];

/** What lies next to a range that is refused, and is of another kind. */
export const neighbours = {
  private: [
    ...['100.100.100.199', '100.100.100.201', 'fd00:ec1:ffff:ffff:ffff:ffff:ffff:ffff', 'fd00:ec3::'],
    ...[
      'fd20:ce::253',
      'fd20:ce::255',
      'fd00:c1::a9fe:a9fd',
      'fd00:c1::a9fe:a9ff',
      'fd00:42::41',
      'fd00:42::43',
    ],
  ],
  open: [
    ...[
      '1.0.0.0',
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
      '128.0.0.0',
    ],
    ...['168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
    ...['191.255.255.255', '192.0.1.0', '192.0.1.255', '192.0.3.0', '192.88.98.255', '192.88.100.0'],
    ...['192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '198.51.99.255', '198.51.101.0'],
    ...[
      '203.0.112.255',
      '203.0.114.0',
      '223.255.255.255',
      '2000::',
      '2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    ],
    ...['2001:200::', '2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db9::', '2003::'],
    ...['2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::'],
    '3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
  ],
};
