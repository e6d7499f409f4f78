/** `npm run settings-page`: writes the tables of docs/configuration.md from the table of settings. */

import { readFile, writeFile } from 'node:fs/promises';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { sections, type settings } from '../packages/service-kit/src/settings/settings-table.ts';

type Setting = (typeof settings)[keyof typeof settings];

const path = fileURLToPath(new URL('../docs/configuration.md', import.meta.url));
const head = '| setting | default | values | meaning |\n|---|---|---|---|\n';

function shownDefault(setting: Setting): string {
  if (setting.shown !== undefined) return setting.shown;
  const fallback = 'fallback' in setting ? setting.fallback : undefined;
  if (typeof fallback === 'boolean') return fallback ? '1' : '0';
  return setting.kind === 'integer' ? String(fallback) : `\`${fallback}\``;
}

function shownValues(setting: Setting): string {
  if (setting.kind === 'integer') return `${setting.range[0]} to ${setting.range[1]}`;
  if (setting.kind === 'flag') return '1, 0';
  if (setting.kind === 'choice') return setting.choices.map((one) => `\`${one}\``).join(', ');
  return setting.kind === 'list' ? 'a list' : 'a text';
}

const tableOf = (some: Record<string, Setting>): string =>
  head +
  Object.entries(some)
    .map(([name, one]) => `| \`${name}\` | ${shownDefault(one)} | ${shownValues(one)} | ${one.help} |\n`)
    .join('');

/** The page with the tables as they should be. */
export function writeTables(page: string): string {
  return Object.entries(sections).reduce((text, [title, some]) => {
    const at = text.indexOf(`\n## ${title}\n`);
    const start = text.indexOf('\n| ', at) + 1;
    const end = /\n(?!\|)/.exec(text.slice(start))?.index ?? 0;
    if (at === -1) throw new Error(`docs/configuration.md has no section ${title}.`);
    return text.slice(0, start) + tableOf(some).trimEnd() + text.slice(start + end);
  }, page);
}

if (argv[1] === fileURLToPath(import.meta.url))
  await writeFile(path, writeTables(await readFile(path, 'utf8')));
