import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const launcher = fileURLToPath(new URL('../../launch.mjs', import.meta.url));

it('on an older Node, one line says what the hub needs', () => {
  const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(older)}`, launcher, 'none.ts'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^This needs Node 24 or newer, and .+"npx node".+\n$/);
});
