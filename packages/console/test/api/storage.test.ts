import { expect, it } from 'vitest';
import { KeptValues } from '../../src/api/storage.ts';

const refuse = () => {
  throw new DOMException('no', 'SecurityError');
};

function createStorage(lengthMax = 1_000) {
  const values = new Map<string, string>();
  const storage = {
    getItem: (name: string) => values.get(name) ?? null,
    setItem: (name: string, value: string) => {
      if (value.length > lengthMax) throw new DOMException('full', 'QuotaExceededError');
      values.set(name, value);
    },
    removeItem: (name: string) => void values.delete(name),
  };
  return { values, storage: storage as unknown as Storage };
}

it('keeps values in the storage of the browser', () => {
  const { values, storage } = createStorage();
  const kept = new KeptValues(() => storage);
  kept.set('a', '1');
  expect([...values, kept.get('a'), kept.get('b'), kept.keeps()]).toEqual([['a', '1'], '1', null, true]);
  kept.remove('a');
  expect([values.size, kept.get('a')]).toEqual([0, null]);
});

it.each([
  ['is blocked', refuse],
  ['is full', () => createStorage(10).storage],
])('keeps values in memory if the storage %s', (_name, open) => {
  const kept = new KeptValues(open);
  const key = 'k'.repeat(60);
  expect(kept.keeps()).toBe(false);
  kept.set('a', key);
  expect(kept.get('a')).toBe(key);
  kept.remove('a');
  expect(kept.get('a')).toBeNull();
});

it('shows no older value of a storage that became full', () => {
  const { storage } = createStorage(10);
  const kept = new KeptValues(() => storage);
  kept.set('a', 'old');
  kept.set('a', 'n'.repeat(60));
  expect([kept.get('a'), storage.getItem('a')]).toEqual(['n'.repeat(60), null]);
  kept.set('a', 'new');
  expect([kept.get('a'), storage.getItem('a')]).toEqual(['new', 'new']);
});
