/** Reads every source file of the repository once, with a real parser, into the facts that the rules are about. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'rolldown/utils';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const folders = ['services', 'packages', 'proto', 'deploy', 'tools', 'tests', 'bench'];

export interface SourceFunction {
  /** The declaration's name, else that of the variable, property or method that the function is assigned to. */
  name: string;
  line: number;
  lines: number;
  parameters: number;
}

export interface SourceFile {
  /** Relative to the repository, as all paths here. */
  path: string;
  text: string;
  lines: number;
  /** Files of the repository, whether only their types are imported or not. */
  imports: string[];
  /** Packages of others and of Node, by the name that the import gives. */
  packages: string[];
  functions: SourceFunction[];
  /** Names of variables of the module that change after it is loaded. */
  mutableState: string[];
}

/** A node of the syntax tree in ESTree's form, read by its fields. */
type Node = any;

export function readSourceTree(): Map<string, SourceFile> {
  const paths = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(tsx?|mjs|js)$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .filter((path) => !/(^|\/)(node_modules|gen|dist|\.[^/]+)\//.test(path)),
  );
  return new Map(paths.map((path) => [path, readSource(path, readFileSync(join(root, path), 'utf8'))]));
}

export function readSource(path: string, text: string): SourceFile {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  const targets: string[] = [];
  const functions: SourceFunction[] = [];
  const changed = new Set<string>();
  const names = new Map<Node, string>();
  const lineOf = lineCounter(text);
  const addTarget = (source: Node) => {
    if (typeof source?.value === 'string') targets.push(source.value);
  };
  const addFunction = (node: Node) => {
    const [line, last] = [lineOf(node.start), lineOf(node.end)];
    const parameters = node.params.filter((param: Node) => param.name !== 'this').length;
    functions.push({
      name: node.id?.name ?? names.get(node) ?? 'anonymous',
      line,
      lines: last - line + 1,
      parameters,
    });
  };
  const nameValue = (key: Node, value: Node) => names.set(value, key?.name ?? key?.value ?? 'anonymous');
  const addChange = (target: Node) => {
    const name = rootName(target);
    if (name !== undefined) changed.add(name);
  };
  new Visitor({
    ImportDeclaration: (node: Node) => addTarget(node.source),
    ExportNamedDeclaration: (node: Node) => addTarget(node.source),
    ExportAllDeclaration: (node: Node) => addTarget(node.source),
    ImportExpression: (node: Node) => addTarget(node.source),
    TSImportType: (node: Node) => addTarget(node.source ?? node.argument?.literal ?? node.argument),
    // A worker or a child process: new URL('./worker.ts', import.meta.url).
    NewExpression: (node: Node) => {
      const [url] = node.arguments;
      if (node.callee.name === 'URL' && /^\.\.?\/.*\.(ts|mjs)$/.test(url?.value ?? '')) addTarget(url);
    },
    VariableDeclarator: (node: Node) => node.init && nameValue(node.id, node.init),
    Property: (node: Node) => nameValue(node.key, node.value),
    MethodDefinition: (node: Node) => nameValue(node.key, node.value),
    PropertyDefinition: (node: Node) => node.value && nameValue(node.key, node.value),
    AssignmentExpression: (node: Node) => {
      nameValue(node.left.property ?? node.left, node.right);
      // A sticky or global expression is given its start before each use, so it keeps nothing between calls.
      if (node.left.property?.name !== 'lastIndex') addChange(node.left);
    },
    UpdateExpression: (node: Node) => addChange(node.argument),
    CallExpression: (node: Node) => {
      if (mutators.test(node.callee.property?.name ?? '')) addChange(node.callee.object);
    },
    FunctionDeclaration: addFunction,
    FunctionExpression: addFunction,
    ArrowFunctionExpression: addFunction,
  }).visit(program);
  const found = targets.map((target) => [target, resolveImport(path, target)] as const);
  return {
    path,
    text,
    lines: text.split('\n').length - 1,
    imports: found.flatMap(([, file]) => file ?? []),
    packages: found.flatMap(([target, file]) => (file === undefined ? [target] : [])),
    functions,
    mutableState: moduleState(program, changed),
  };
}

/** Methods that change what they are called on: of maps, sets, arrays, buffers and typed arrays. */
const mutators =
  /^(set|add|delete|clear|push|pop|shift|unshift|splice|fill|sort|reverse|copyWithin|write[A-Z]\w*)$/;

function moduleState(program: Node, changed: Set<string>): string[] {
  return program.body.flatMap((statement: Node) => {
    const declaration = statement.declaration ?? statement;
    if (declaration.type === 'ClassDeclaration') return staticState(declaration);
    if (declaration.type !== 'VariableDeclaration' || declaration.declare) return [];
    return declaration.declarations
      .filter(({ id }: Node) => declaration.kind !== 'const' || changed.has(id.name))
      .map(({ id }: Node) => id.name);
  });
}

function staticState({ id, body }: Node): string[] {
  return body.body
    .filter((member: Node) => member.type === 'PropertyDefinition' && member.static && !member.readonly)
    .map((member: Node) => `${id.name}.${member.key.name}`);
}

function rootName(node: Node): string | undefined {
  let inner = node;
  while (inner?.type === 'MemberExpression' || inner?.type === 'TSNonNullExpression') {
    inner = inner.object ?? inner.expression;
  }
  return inner?.type === 'Identifier' ? inner.name : undefined;
}

/** The repository's file that an import means; undefined for packages of others and of Node. */
function resolveImport(path: string, target: string): string | undefined {
  if (target.startsWith('.')) return relative(root, resolve(root, dirname(path), target));
  const [, name, rest] = /^@datahub\/([^/]+)(?:\/(.+))?$/.exec(target) ?? [];
  if (name === undefined) return undefined;
  if (name === 'client') return 'packages/client/dist/index.js';
  if (name === 'proto') return `proto/gen/datahub/${rest}.ts`;
  const folder = existsSync(join(root, 'packages', name)) ? `packages/${name}` : `services/${name}`;
  return `${folder}/src/${rest ?? 'index'}.ts`;
}

function lineCounter(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}
