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

/** Returns a pattern of the expected output, in which an ellipsis stands for the rest of an id, a number or a list. */
export function patternOf(words: string): RegExp {
  const literal = words.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(/(?:06d|06e)…/g, '…');
  return new RegExp(`^${literal.replaceAll('\\[…\\]', '\\[.*\\]').replaceAll('…', '[^",}]*')}`);
}

/** Replaces folders, programs and ports of the machine. Nothing is installed, and no cluster is used. */
export const prepare = `
set -m; shopt -s expand_aliases
npm() {
  case $1 in
    ci) ;;
    pack) (cd "$PROJECT" && command npm --silent "$@" --pack-destination "$PLACE") ;;
    install) mkdir -p yours && (cd yours && command npm install --offline --no-audit --no-fund "$PLACE"/*.tgz) ;;
    start) cd "$PROJECT"; DATAHUB_DATA_DIR=\${DATAHUB_DATA_DIR:-$PLACE/data} exec npm start >> "$PLACE/start.log" 2>&1 ;;
    *) (cd "$PROJECT" && DATAHUB_DATA_DIR="$PLACE/data" command npm --silent "$@") ;;
  esac
}
curl() { command curl --max-time 20 "\${@//127.0.0.1:8080/127.0.0.1:$PORT}"; }
kubectl() { local last=\${@: -1}; [ -s "\${last#--from-file=}" ]; }
ready() { for _ in {1..400}; do curl -sf "http://127.0.0.1:8080/readyz" > /dev/null && return; sleep 0.1; done; cat start.log; return 1; }
welcomed() { for _ in {1..400}; do grep -q /predict start.log && return; sleep 0.1; done; cat start.log; return 1; }
`;
