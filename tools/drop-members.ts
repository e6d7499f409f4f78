/**
 * `npm run drop-members`: shows that no mapping between two forms of a noun can forget a member. A mapping is an object
 * literal whose type is `Complete<…>`, an alias of it, or `Record<keyof …>`. In a copy of the tree, run k removes the k-th
 * member of every mapping, and the compiler must report an error at each.
 */

import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAst } from 'rolldown/parseAst';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);
const copied = ['packages', 'services', 'proto', 'package.json', 'tsconfig.base.json'];

interface AstNode {
  type: string;
  start: number;
  end: number;
  [member: string]: unknown;
}

interface Mapping {
  file: string;
  /** Of the declaration or function that the literal belongs to; the compiler can report its name. */
  start: number;
  end: number;
  members: { start: number; end: number; name: string }[];
}

const isNode = (value: unknown): value is AstNode =>
  typeof value === 'object' && value !== null && typeof (value as AstNode).type === 'string';

const childrenOf = (node: AstNode): AstNode[] =>
  Object.values(node).flatMap((value) =>
    Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [],
  );

/** The literal, also behind `as`, `satisfies` and parentheses. */
function literalOf(node: unknown): AstNode | undefined {
  if (!isNode(node)) return undefined;
  return node.type === 'ObjectExpression' ? node : literalOf(node.expression);
}

/** The literals that a function returns, apart from those of functions in it. */
function returnedBy(node: AstNode): AstNode[] {
  if (node.type === 'ReturnStatement')
    return [literalOf(node.argument)].filter((found) => found !== undefined);
  return childrenOf(node)
    .filter(({ type }) => !/Function/.test(type))
    .flatMap(returnedBy);
}

function membersOf(literal: AstNode, text: string): Mapping['members'] {
  return (literal.properties as AstNode[]).flatMap((property) => {
    if (property.type === 'Property') {
      const { start, end } = property.key as AstNode;
      return [{ start: property.start, end: property.end, name: text.slice(start, end) }];
    }
    const spread = literalOf(property.argument);
    return spread === undefined ? [] : membersOf(spread, text);
  });
}

function mappingsOf(file: string, text: string): Mapping[] {
  const found: Mapping[] = [];
  const ast = parseAst(text, { lang: 'ts' }) as unknown as AstNode;
  const aliases = [...text.matchAll(/type (\w+)(?:<[^=]*>)? =\s+(?:Complete|Settable)</g)].map(
    ([, name]) => name,
  );
  const isComplete = new RegExp(
    `^(:|satisfies)?\\s*(${['Complete', 'Settable', ...aliases].join('|')})\\b|Record<\\s*keyof`,
  );
  const add = (owner: AstNode, literals: (AstNode | undefined)[]) => {
    const members = literals.flatMap((literal) => (literal === undefined ? [] : membersOf(literal, text)));
    if (members.length > 0) found.push({ file, start: owner.start, end: owner.end, members });
  };
  const hasType = (type: unknown) => isNode(type) && isComplete.test(text.slice(type.start, type.end));
  const visit = (node: AstNode) => {
    if (node.type === 'VariableDeclarator' && hasType((node.id as AstNode).typeAnnotation))
      add(node, [literalOf(node.init)]);
    if (node.type === 'TSSatisfiesExpression' && hasType(node.typeAnnotation)) add(node, [literalOf(node)]);
    if (/Function/.test(node.type) && hasType(node.returnType) && isNode(node.body))
      add(node, [literalOf(node.body), ...returnedBy(node.body)]);
    childrenOf(node).forEach(visit);
  };
  visit(ast);
  return found;
}

interface Drop {
  mapping: Mapping;
  member: Mapping['members'][number];
}

/** Each member once. No run drops two members of a mapping, or one that is inside of another. */
function runsOf(mappings: Mapping[]): Drop[][] {
  const runs: Drop[][] = [];
  const collides = (one: Drop, other: Drop) =>
    one.mapping === other.mapping ||
    (one.mapping.file === other.mapping.file &&
      one.mapping.start <= other.mapping.end &&
      other.mapping.start <= one.mapping.end);
  for (const mapping of mappings)
    for (const member of mapping.members) {
      const drop = { mapping, member };
      const free = runs.find((some) => !some.some((other) => collides(drop, other)));
      if (free === undefined) runs.push([drop]);
      else free.push(drop);
    }
  return runs;
}

/** The text without these members, with the same number of lines. */
function without(text: string, members: Mapping['members']): string {
  let rest = text;
  for (const { start, end } of members.toSorted((a, b) => b.start - a.start)) {
    const comma = /^\s*,/.exec(rest.slice(end))?.[0] ?? '';
    const dropped = rest.slice(start, end) + comma;
    rest = rest.slice(0, start) + dropped.replaceAll(/[^\n]/g, '') + rest.slice(end + comma.length);
  }
  return rest;
}

/** The lines of each file in which the compiler reports an error. */
async function errorsIn(dir: string, packages: string[]): Promise<Map<string, number[]>> {
  const lines = new Map<string, number[]>();
  for (const one of packages) {
    const tsc = join(root, 'node_modules/.bin/tsc');
    const args = ['-p', 'tsconfig.json', '--pretty', 'false'];
    const { stdout } = await run(tsc, args, { cwd: join(dir, one), maxBuffer: 1 << 26 }).catch((err) => err);
    for (const [, file = '', line] of String(stdout).matchAll(/^(\S+?)\((\d+),\d+\): error/gm)) {
      const path = join(one, file);
      lines.set(path, [...(lines.get(path) ?? []), Number(line)]);
    }
  }
  return lines;
}

const lineOf = (text: string, at: number) => text.slice(0, at).split('\n').length;

/** Drops these members, and returns those in whose mapping the compiler reports no error. */
async function unseenIn(dir: string, texts: Map<string, string>, dropping: Drop[]): Promise<Drop[]> {
  const textOf = (file: string) => texts.get(file) ?? '';
  const byFile = Map.groupBy(dropping, ({ mapping }) => mapping.file);
  for (const [file, some] of byFile) {
    const members = some.map(({ member }) => member);
    await writeFile(join(dir, file), without(textOf(file), members));
  }
  const packages = [...new Set([...byFile.keys()].map((file) => file.split('/').slice(0, 2).join('/')))];
  const errors = await errorsIn(dir, packages);
  for (const file of byFile.keys()) await writeFile(join(dir, file), textOf(file));
  return dropping.filter(({ mapping: { file, start, end } }) => {
    const [first, last] = [lineOf(textOf(file), start), lineOf(textOf(file), end)];
    return errors.get(file)?.some((line) => line >= first && line <= last) !== true;
  });
}

const { stdout } = await run('git', ['ls-files', ...copied], { cwd: root, maxBuffer: 1 << 26 });
const files = stdout.trim().split('\n');
const dir = await mkdtemp(join(tmpdir(), 'datahub-members-'));
let missed = 0;
try {
  for (const file of files) await cp(join(root, file), join(dir, file), { recursive: true });
  await symlink(join(root, 'node_modules'), join(dir, 'node_modules'));
  const texts = new Map<string, string>();
  for (const file of files)
    if (/\/src\/.*\.tsx?$/.test(file)) texts.set(file, await readFile(join(root, file), 'utf8'));
  const mappings = [...texts].flatMap(([file, text]) =>
    /Complete<|Settable<|Record<\s*keyof/.test(text) ? mappingsOf(file, text) : [],
  );
  const runs = runsOf(mappings);
  const unseen: Drop[] = [];
  for (const dropping of runs) unseen.push(...(await unseenIn(dir, texts, dropping)));
  // A mapping that another one derives its type from hides what the other lacks, so each of these is dropped alone.
  for (const drop of unseen) {
    if ((await unseenIn(dir, texts, [drop])).length === 0) continue;
    missed++;
    const { mapping, member } = drop;
    const line = lineOf(texts.get(mapping.file) ?? '', member.start);
    process.stdout.write(`compiles without ${member.name}: ${mapping.file}:${line}\n`);
  }
  process.stdout.write(
    `${mappings.length} mappings, ${runs.length} runs, ${missed} members that can be forgotten\n`,
  );
} finally {
  await rm(dir, { recursive: true, force: true });
}
process.exitCode = missed === 0 ? 0 : 1;
