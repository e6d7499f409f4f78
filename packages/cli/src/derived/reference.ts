/** The part of docs/cli.md that lists the commands. */

import type { Command } from '../command.ts';
import { exitCodeMeanings, exitCodes } from '../failure.ts';
import { toFlag, usageOf } from './help.ts';

const mark = '<!-- The rest is written by npm run build -w packages/cli. -->\n';

export function toReference(commands: readonly Command[]): string {
  const codes = Object.entries(exitCodes).map(
    ([name, code]) => `| ${code} | ${exitCodeMeanings[name as keyof typeof exitCodes]} |\n`,
  );
  return [
    '\n## Exit codes\n\n| code | meaning |\n|---|---|\n',
    ...codes,
    '\n## Commands\n\nEach command takes `--json` and `--help`.\n',
    ...commands.map(toSection),
  ].join('');
}

function toSection(command: Command): string {
  const { name, summary, options = {}, operators } = command;
  const rows = Object.entries(options).map(
    ([option, one]) => `| \`${toFlag(option, one)}\` | ${one.help.replaceAll('|', '\\|')} |\n`,
  );
  return [
    `\n### ${name}\n\n\`${usageOf(command)}\`\n\n${summary}\n`,
    ...(operators === undefined ? [] : [`\nFor operators: ${operators}\n`]),
    ...(rows.length === 0 ? [] : ['\n| option | what it does |\n|---|---|\n', ...rows]),
  ].join('');
}

/** Returns the page with the present commands below its mark. */
export function withReference(page: string, commands: readonly Command[]): string {
  const at = page.indexOf(mark);
  if (at === -1) throw new Error(`The page has no line ${mark}`);
  return page.slice(0, at + mark.length) + toReference(commands);
}
