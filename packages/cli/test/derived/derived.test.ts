import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/commands.ts';
import { completionOf } from '../../src/derived/completion.ts';
import { globalOptions, helpOf, overviewOf } from '../../src/derived/help.ts';
import { withReference } from '../../src/derived/reference.ts';

const complete = async (...words: string[]): Promise<string[]> => {
  const script = `${completionOf('bash', commands)}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _datahub; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash', 'datahub', ...words]);
  return stdout.trim().split('\n');
};

describe('what is derived from the table of commands', () => {
  it('is in docs/cli.md as it is: npm run build -w packages/cli', () => {
    const page = readFileSync(new URL('../../../../docs/cli.md', import.meta.url), 'utf8');
    expect(withReference(page, commands)).toBe(page);
  });

  it.each(commands.map((command) => [command.name, command] as const))('helps with %s', (name, command) => {
    expect(overviewOf(commands)).toContain(`  ${name} `);
    const help = helpOf(command);
    for (const option of Object.keys({ ...command.options, ...globalOptions }))
      expect(help).toContain(`--${option}`);
  });

  it('shows without brackets what a command needs', () => {
    const create = commands.find(({ name }) => name === 'keys create') as (typeof commands)[number];
    expect(helpOf(create)).toContain('keys create --name NAME [--scopes SCOPES]');
  });

  it('completes commands, options, choices and shells in bash', async () => {
    expect(await complete('lo')).toEqual(['login', 'logout']);
    expect(await complete('keys', 'r')).toEqual(['rotate', 'revoke']);
    expect(await complete('keys', 'create', '--new')).toEqual(['--new-account']);
    expect(await complete('run', 'a/b', '--format', 'nd')).toEqual(['ndjson']);
    expect(await complete('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  it.each(['zsh', 'fish'] as const)('names each command and option for %s', (shell) => {
    const script = completionOf(shell, commands);
    for (const { name, options = {} } of commands)
      for (const word of [...name.split(' '), ...Object.keys(options)]) expect(script).toContain(word);
  });
});
