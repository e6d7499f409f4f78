import { expect, it } from 'vitest';
import { requireUtf8 } from '../../../src/pages/classifier/utf8-file.ts';

const faultOf = (...parts: BlobPart[]) =>
  requireUtf8(new Blob(parts)).then(
    () => undefined,
    (err) => err.message.split(',')[0],
  );

it('takes UTF-8 of any length, with replacement characters that the file has', async () => {
  expect(await faultOf('\uFEFFlabel,context\nGrün,\uFFFD 🙂\n')).toBeUndefined();
  // The chunks of a file cut its letters.
  expect(await faultOf('x', 'ä🙂\n'.repeat(100_000))).toBeUndefined();
  expect(await faultOf('')).toBeUndefined();
});

it.each([
  ['ISO-8859-1', Buffer.from('label,context\nrot,Öl\n', 'latin1'), 2],
  ['UTF-16', Buffer.from('\uFEFFlabel,context\n', 'utf16le'), 1],
  ['a letter that ends too early', Buffer.from('a,b\nc,ä').subarray(0, -1), 2],
])('refuses %s, and says in which line', async (_name, file, line) =>
  expect(await faultOf(file)).toBe(`Line ${line} is not UTF-8`),
);

it('says the line of a fault that is far behind', async () => {
  const many = 'grün,über\n'.repeat(200_000);
  expect(await faultOf(many, Buffer.from('rot,Öl\n', 'latin1'), many)).toBe('Line 200001 is not UTF-8');
});
