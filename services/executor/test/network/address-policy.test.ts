import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AddressPolicySettings,
  createAddressPolicy,
  faultOfEntry,
  type Resolve,
} from '../../src/network/address-policy.ts';
import { edges, loopback, neighbours, never, noHosts, oddForms, privates } from '../cases/addresses.ts';

const strict: AddressPolicySettings = {
  loopbackAllowed: false,
  privateAllowed: false,
  allow: [],
  deny: [],
  ownNames: ['catalog', 'executor.hub.example'],
};
const embedded = { ...strict, loopbackAllowed: true, privateAllowed: true };

function policyWith(settings: AddressPolicySettings, resolve: Resolve) {
  const policy = createAddressPolicy(settings, resolve);
  const asker = { accountId: 'account', signal: new AbortController().signal };
  return { check: (host: string) => policy.check(host, asker) };
}

/** Answers like a resolver that maps every name to the same addresses. */
function policyFor(settings: Partial<AddressPolicySettings>, ...answers: string[]) {
  return policyWith({ ...strict, ...settings }, async () => answers);
}

const open = [
  ...['8.8.8.8', '1.1.1.1', '9.255.255.255', '11.0.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255'],
  ...['100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.1', '169.253.1.1', '223.255.255.255'],
  ...['::ffff:8.8.8.8', '2606:4700::1', '2a00:1450::1', '2400::1', '2001:4860::8888'],
];

describe('addresses', () => {
  test('are at least 120 forms', () => {
    expect(new Set([...never, ...loopback, ...privates, ...open]).size).toBeGreaterThanOrEqual(120);
  });

  test.each(never)('%s is refused whatever is allowed', async (address) => {
    const lists = { ...embedded, allow: ['0.0.0.0/0', '::/0', 'db.example'] };
    await expect(policyFor(lists, address).check('db.example')).rejects.toThrow();
    await expect(policyFor(lists).check(address)).rejects.toThrow();
  });

  test.each(loopback)('%s is open only where loopback is', async (address) => {
    const listed = { privateAllowed: true, allow: ['127.0.0.0/8', '::1', 'db.example'] };
    await expect(policyFor(listed, address).check('db.example')).rejects.toThrow('loopback');
    await expect(policyFor(embedded, address).check('db.example')).resolves.toHaveLength(1);
  });

  test.each(privates)('%s is open by setting or list', async (address) => {
    await expect(policyFor({}, address).check('db.example')).rejects.toThrow('private');
    await expect(policyFor({}).check(address)).rejects.toThrow('private');
    await expect(policyFor({ privateAllowed: true }, address).check('db.example')).resolves.toHaveLength(1);
    await expect(policyFor({ allow: ['db.example'] }, address).check('DB.example.')).resolves.toHaveLength(1);
    await expect(policyFor({ allow: ['*.example'] }, address).check('db.example')).resolves.toHaveLength(1);
    await expect(policyFor({ allow: ['db.example'] }, address).check('xdb.example')).rejects.toThrow();
  });

  test.each(open)('%s is open', async (address) => {
    await expect(policyFor({}, address).check('db.example')).resolves.toHaveLength(1);
  });

  test.each(edges)('from %s to %s they are refused as %s', async (first, last, kind) => {
    for (const address of [first, last]) {
      await expect(policyFor({}).check(address)).rejects.toThrow(
        `An address of the host is in a forbidden range (${kind}).`,
      );
    }
  });

  test('next to a range are of another kind', async () => {
    for (const address of neighbours.open) {
      await expect(policyFor({}).check(address)).resolves.toHaveLength(1);
    }
    for (const address of neighbours.private) {
      await expect(policyFor({}).check(address)).rejects.toThrow('(private)');
      await expect(policyFor({ privateAllowed: true }).check(address)).resolves.toHaveLength(1);
    }
  });

  test('mapped IPv4 is dialled as what it reaches', async () => {
    expect(await policyFor({}, '::ffff:808:808').check('db.example')).toEqual([
      { address: '8.8.8.8', family: 4 },
    ]);
  });

  test.each(['151.101.129.140', '8.8.4.4', '203.200.100.199'])('mapped %s, too', async (address) => {
    expect(await policyFor({}, `::ffff:${address}`).check('db.example')).toEqual([{ address, family: 4 }]);
  });

  test.each(['', 'db.example', '8.8.8', '2606:4700::1%eth0', '8.8.8.8:1'])(
    'a resolver’s answer %j is no address',
    async (answer) => {
      await expect(policyFor(embedded, answer).check('db.example')).rejects.toThrow(
        'The host has no usable address.',
      );
    },
  );

  test('a listed address opens itself alone', async () => {
    const settings = { allow: ['10.1.2.3', 'fd12::5'] };
    await expect(policyFor(settings, '10.1.2.3', 'fd12::5').check('db.example')).resolves.toHaveLength(2);
    for (const near of ['10.1.2.2', '10.1.2.4', 'fd12::4', 'fd12:1::5']) {
      await expect(policyFor(settings, near).check('db.example')).rejects.toThrow('private');
    }
  });

  test('a listed CIDR opens its addresses alone', async () => {
    const settings = { allow: ['10.1.0.0/16', 'fd12::/16'] };
    await expect(policyFor(settings, '10.1.2.3', 'fd12::5').check('db.example')).resolves.toHaveLength(2);
    await expect(policyFor(settings, '10.2.0.1').check('db.example')).rejects.toThrow();
  });

  test('deny wins over everything', async () => {
    const settings = {
      ...embedded,
      allow: ['10.0.0.0/8', 'a.example'],
      deny: ['10.9.0.0/16', 'a.example', '*.b.example', '8.8.8.8'],
    };
    await expect(policyFor(settings, '10.9.1.1').check('db.example')).rejects.toThrow(
      'An address of the host is denied.',
    );
    await expect(policyFor({ deny: ['2606::/16'] }, '2606:4700::1').check('db.example')).rejects.toThrow(
      'denied',
    );
    await expect(policyFor(settings, '::ffff:10.9.1.1').check('db.example')).rejects.toThrow();
    await expect(policyFor(settings, '8.8.8.8').check('db.example')).rejects.toThrow();
    await expect(policyFor(settings, '1.1.1.1').check('A.EXAMPLE..')).rejects.toThrow();
    await expect(policyFor(settings, '1.1.1.1').check('x.b.example')).rejects.toThrow();
  });

  test('one forbidden address in the answer refuses all', async () => {
    await expect(policyFor({}, '8.8.8.8', '127.0.0.1').check('db.example')).rejects.toThrow();
    await expect(policyFor({}, '127.0.0.1', '8.8.8.8').check('db.example')).rejects.toThrow();
    await expect(policyFor({}).check('db.example')).rejects.toThrow('no address');
  });
});

describe('hosts', () => {
  test.each(noHosts)('%j never reaches the resolver', async (host) => {
    let asked = 0;
    const policy = policyWith(embedded, async () => {
      asked++;
      return ['8.8.8.8'];
    });
    await expect(policy.check(host)).rejects.toThrow('The host is neither a name nor an address.');
    expect(asked).toBe(0);
  });

  test('of 253 characters are names, and refusals have one for the log', async () => {
    const long = `${'x'.repeat(60)}.`.repeat(5).slice(0, 253);
    expect(long).toHaveLength(253);
    await expect(policyFor({}, '8.8.8.8').check(long)).resolves.toHaveLength(1);
    await expect(policyFor({}, '127.0.0.1').check(long)).rejects.toMatchObject({ name: 'AddressRefused' });
    await expect(policyFor({}, '4000::1').check(long)).rejects.toThrow('(never)');
  });

  test.each(oddForms)('odd form %s is judged by what it resolves to', async (host) => {
    await expect(policyFor({}, '127.0.0.1').check(host)).rejects.toThrow('loopback');
  });

  test.each([
    'catalog',
    'CATALOG',
    'catalog.',
    'catalog.hub.svc.cluster.local',
    'ｃatalog',
    'executor.hub.example',
    'executor。hub.example',
  ])('own service %s is refused', async (host) => {
    await expect(policyFor(embedded, '10.0.0.1').check(host)).rejects.toThrow('name');
  });

  test('names that only look like own ones pass', async () => {
    await expect(policyFor({}, '8.8.8.8').check('catalogue.example')).resolves.toHaveLength(1);
    await expect(policyFor({}, '8.8.8.8').check('x.executor.hub.example')).resolves.toHaveLength(1);
  });
});

test('no IPv6 address outside the checked unicast part is ever open', async () => {
  const bits = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n });
  const policy = policyWith({ ...strict, privateAllowed: true }, async (host) => [host.replaceAll('-', ':')]);
  await fc.assert(
    fc.asyncProperty(bits, async (value) => {
      const groups = value.toString(16).padStart(32, '0').match(/.{4}/g) ?? [];
      const top = Number(value >> 120n);
      const checked = await policy.check(groups.join(':')).catch(() => []);
      if (checked.length > 0) expect((top >= 0x20 && top <= 0x3f) || top === 0xfc || top === 0xfd).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('entries of the lists are checked', () => {
  const names = ['db', 'db.example', '*.example', 'a_b-c.example', '4.example', 'db.1a'];
  const ranges = ['10.0.0.0/8', '10.1.2.3/32', '10.1.2.3', '0.0.0.0/0', 'fd00::/8', '::1/128', '::/0', '::1'];
  for (const good of [...names, ...ranges]) expect(faultOfEntry(good)).toBeUndefined();
  for (const bad of ['10.0.0.0/33', '10.0.0.0/8/1', '10.0.0.0/', 'fd00::/129', '10.0.0.0/x', '10.0.0.0/1x']) {
    expect(faultOfEntry(bad)).toBe(`${bad} has no valid prefix length.`);
  }
  for (const bad of ['10.0.0.0/x1', '10.0.0.0/0008', '10.0.0.0/ 8', '10.0.0.0/-1', '10.0.0.0/1.5']) {
    expect(faultOfEntry(bad)).toBe(`${bad} has no valid prefix length.`);
  }
  for (const bad of [
    'a b',
    '*',
    'http://x',
    '',
    'a..b',
    '.a',
    'a.',
    '*a',
    'x.*',
    '999',
    '10.0.0',
    '1.2.3.400',
  ]) {
    expect(faultOfEntry(bad)).toBe(`${bad} is neither a name nor a CIDR.`);
  }
});
