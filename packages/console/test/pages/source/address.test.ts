import { afterAll, expect, it, vi } from 'vitest';

// The module of the form also sends requests, with the key of the tab.
vi.stubGlobal('sessionStorage', { getItem: () => null });
afterAll(() => vi.unstubAllGlobals());
const { formOfAddress } = await import('../../../src/pages/source/address.ts');
const { emptyForm } = await import('../../../src/pages/source/settings.ts');

it('reads all parts of an address', () => {
  const address = ' postgresql://re%40der:p%2Fw@db.example.com:6432/shop?sslmode=verify-full ';
  expect(formOfAddress(address, emptyForm)).toEqual({
    ...emptyForm,
    engine: 'postgres',
    host: 'db.example.com',
    port: '6432',
    database: 'shop',
    user: 're@der',
    password: 'p/w',
    tlsMode: 'verify-full',
  });
});

it('keeps what the address does not have, and takes the usual port', () => {
  const form = { ...emptyForm, label: 'mine', database: 'shop', tlsMode: 'require' };
  expect(formOfAddress('mysql://[::1]', form)).toEqual({
    ...form,
    engine: 'mysql',
    host: '::1',
    port: '3306',
  });
  expect(formOfAddress('mariadb://reader@db/100%25', form)).toMatchObject({
    user: 'reader',
    database: '100%',
  });
});

it('leaves host names and other addresses alone', () => {
  for (const text of ['db.example.com', 'postgres', 'postgres://', 'redis://db', ''])
    expect(formOfAddress(text, emptyForm)).toBeUndefined();
});

it('reads addresses of several servers, and those of MongoDB', () => {
  expect(formOfAddress('postgres://db1:6000,db2,[::1]:7000/shop', emptyForm)).toMatchObject({
    host: 'db1',
    port: '6000',
    hosts: 'db2\n[::1]:7000',
    database: 'shop',
  });
  const address =
    'mongodb+srv://reader:a:b@shop.example/orders?authSource=admin&replicaSet=rs0&readPreference=SECONDARY';
  expect(formOfAddress(address, emptyForm)).toMatchObject({
    engine: 'mongodb',
    srv: true,
    host: 'shop.example',
    port: '27017',
    database: 'orders',
    user: 'reader',
    password: 'a:b',
    tlsMode: 'verify-full',
    authSource: 'admin',
    replicaSet: 'rs0',
    readPreference: 'secondary',
  });
  expect(formOfAddress('mongodb://db/orders?ssl=false', emptyForm)).toMatchObject({ tlsMode: 'disable' });
});
