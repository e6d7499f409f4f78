import { expect, it } from 'vitest';
import { firstQuery } from '../../../src/pages/source/first-query.ts';

it.each([
  ['postgres', 'public', 'orders', 'FROM orders'],
  ['postgres', 'public', 'Order "lines"', 'FROM "Order ""lines"""'],
  ['postgres', 'books', 'user', 'FROM books."user"'],
  ['mariadb', 'hub', 'Orders', 'FROM Orders'],
  ['mysql', 'hub', 'a`b', 'FROM `a``b`'],
  ['mongodb', 'hub', 'a"b', '"find": "a\\"b"'],
])('begins a query on %s %s.%s', (engine, schema, name, expected) => {
  expect(firstQuery(engine, { schema, name })).toContain(expected);
});
