import { createServer } from 'node:net';
import { freePort } from '@datahub/service-kit/process/free-port';
import { describe, expect, it, vi } from 'vitest';
import { findCommand, run, startServer } from './process.ts';

const node = process.execPath;
const listen = (port: number) => `require('node:net').createServer().listen(${port}, '127.0.0.1')`;

describe('running commands', () => {
  it('finds a program by its name, and nothing where there is none', () => {
    expect(findCommand('sh')).toMatch(/\/sh$/);
    expect(findCommand('no-such-command-here')).toBeUndefined();
    expect(findCommand('.')).toBeUndefined();
  });

  it('gives what a command printed, and what it complained of when it fails', async () => {
    expect(await run(node, ['-e', 'console.log("out")'])).toBe('out\n');
    await expect(run(node, ['-e', 'console.error("broken"); process.exit(3)'])).rejects.toThrow(/3:\nbroken/);
    await expect(run('no-such-command-here', [])).rejects.toThrow('no-such-command-here');
  });
});

describe('a server', () => {
  it('takes connections once it is started, and none after it is stopped, however often', async () => {
    const port = await freePort();
    const server = await startServer({ command: node, args: ['-e', listen(port)], port, timeoutMs: 10_000 });
    await server.stop();
    await server.stop();
    const again = createServer().listen(port, '127.0.0.1');
    await new Promise((resolve, reject) => again.once('listening', resolve).once('error', reject));
    again.close();
  });

  it('shows what it printed when it never listens', async () => {
    const args = ['-e', 'console.error("no space left"); process.exit(1)'];
    const starting = startServer({ command: node, args, port: await freePort(), timeoutMs: 10_000 });
    await expect(starting).rejects.toThrow(/ended with 1:\nno space left/);
  });

  it('shows what it printed when it ends by itself', async () => {
    const port = await freePort();
    const script = `console.error('crashed'); ${listen(port)}; setTimeout(() => process.exit(4), 500)`;
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      await startServer({ command: node, args: ['-e', script], port, timeoutMs: 10_000 });
      await vi.waitFor(
        () => expect(write).toHaveBeenCalledWith(`${node} ended by itself with 4:\ncrashed\n\n`),
        10_000,
      );
    } finally {
      write.mockRestore();
    }
  });

  it('is named when it is not there', async () => {
    const starting = startServer({
      command: '/nowhere/server',
      args: [],
      port: await freePort(),
      timeoutMs: 10_000,
    });
    await expect(starting).rejects.toThrow('/nowhere/server');
  });
});
