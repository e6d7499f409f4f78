/** The commands in the code blocks of README.md and docs/*.md. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface Block {
  page: string;
  /** The index among the shell blocks of the page, starting at 0. */
  at: number;
  steps: Step[];
}

export interface Step {
  command: string;
  /** The comment lines after the command, which are its output. */
  prints: string[];
}

export const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]
  .filter((name) => name.endsWith('.md'))
  .sort();

export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ''], at) => ({
    page,
    at,
    steps: stepsOf(block),
  }));
}

/** Splits a block. A command ends at a line outside of quotes and loops that does not end with a backslash. */
function stepsOf(block: string): Step[] {
  const steps: Step[] = [];
  let command = '';
  for (const line of block.split('\n')) {
    if (command === '' && line.trim() === '') continue;
    if (command === '' && line.startsWith('#')) {
      steps.at(-1)?.prints.push(line.replace(/^#\s*/, ''));
      continue;
    }
    command += command === '' ? line : `\n${line}`;
    if (!isComplete(command)) continue;
    steps.push({ command, prints: [] });
    command = '';
  }
  if (command !== '') throw new Error(`A command does not end: ${command}`);
  return steps;
}

function isComplete(command: string): boolean {
  const outside = command.replaceAll(/ {2,}# .*$/gm, '').replaceAll(/'[^']*'|"(?:[^"\\]|\\.)*"/gs, '');
  const count = (word: RegExp) => [...outside.matchAll(word)].length;
  return !/['"]/.test(outside) && !outside.endsWith('\\') && count(/\bdo$/gm) === count(/^done\b/gm);
}
