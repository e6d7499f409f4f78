/** Reads and writes the directory of a hub. */

import type { Dirent } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, extname, join, relative, sep } from 'node:path';
import { CommandError, exitCodes } from '../failure.ts';
import { decodeUtf8, NotUtf8, notUtf8, readUtf8 } from '../read-utf8.ts';
import { replaceFile } from '../replace-file.ts';
import { type BoardFile, changedBoardMembers, readBoardFile, writeBoardFile } from './board-file.ts';
import { changedMembers, withoutDefaults } from './compare.ts';
import { type Fault, toLine } from './fault.ts';
import { type HubFile, hubFileName, readHubFile, writeHubFile } from './hub-file.ts';
import { changedKeyMembers, faultsOfPins, type KeyFile, readKeyFile, writeKeyFile } from './key-file.ts';
import {
  type BoardModel,
  folderKey,
  type HubModel,
  isPath,
  type KeyModel,
  type QueryModel,
  type WatchModel,
} from './model.ts';
import { type QueryFile, readQueryFile, writeQueryFile } from './query-file.ts';
import { changedWatchMembers, readWatchFile, type WatchFile, writeWatchFile } from './watch-file.ts';

/** By the ending: whether the text is SQL. */
const endings: Readonly<Record<string, boolean>> = { '.sql': true, '.mongodb': false };
const folderName = 'queries';
const watchFolder = 'watches';
const boardFolder = 'boards';
const keyFolder = 'keys';
const yamlEnding = '.yaml';
/** Windows has no files and folders with these names, whatever their ending. */
const reservedName = /^(con|prn|aux|nul|com\d|lpt\d)$/;
const replaceNames = (path: string, replace: (name: string) => string) =>
  path.split('/').map(replace).join('/');
/** Paths of queries have no `~`. */
const toFilePath = (path: string) =>
  replaceNames(path, (name) => (reservedName.test(name) ? `${name}~` : name));
const toQueryPath = (path: string) =>
  replaceNames(path, (name) =>
    name.endsWith('~') && reservedName.test(name.slice(0, -1)) ? name.slice(0, -1) : name,
  );

export interface Directory {
  hub: HubFile;
  queries: QueryFile[];
  /** Undefined if there is no folder of watches: those of the hub are left alone. */
  watches: WatchFile[] | undefined;
  /** The same of boards. */
  boards: BoardFile[] | undefined;
  /** The same of keys. */
  keys: KeyFile[] | undefined;
}

export class FaultsError extends CommandError {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(`${faults.map(toLine).join('\n')}\nNothing was changed.`, exitCodes.failed);
    this.faults = faults;
  }
}

/** Throws all faults of all files at once. */
export async function readDirectory(dir: string): Promise<Directory> {
  const faults: Fault[] = [];
  const strange = await strangeness(join(dir, hubFileName));
  if (strange !== undefined) faults.push(faultOf(hubFileName, strange));
  const hub = strange === undefined ? await readHub(dir, faults) : undefined;
  const queries: QueryFile[] = [];
  const listed = (await listFiles(dir, folderName)) ?? [];
  faults.push(...listed.flatMap(faultOfName));
  for (const { file, strange } of listed) {
    if (strange !== undefined || !isQueryFile(file)) continue;
    const path = pathOf(file, faults);
    const isSql = endings[extname(file)] === true;
    const text = await readText(dir, file, faults);
    const query = text === undefined ? undefined : readQueryFile(text, { file, path, isSql, faults });
    if (query !== undefined) queries.push(query);
  }
  const watches = await readYamlFiles(dir, { folder: watchFolder, read: readWatchFile, faults });
  const boards = await readYamlFiles(dir, { folder: boardFolder, read: readBoardFile, faults });
  const keys = await readYamlFiles(dir, { folder: keyFolder, read: readKeyFile, faults });
  if (hub !== undefined) faults.push(...faultsBetween(hub, queries));
  faults.push(...faultsOfPaths({ watches: watches ?? [], boards: boards ?? [], keys: keys ?? [] }, queries));
  if (faults.length > 0 || hub === undefined) throw new FaultsError(faults);
  return { hub, queries, watches, boards, keys };
}

async function readHub(dir: string, faults: Fault[]): Promise<HubFile | undefined> {
  const path = join(dir, hubFileName);
  const bytes = await readFile(path).catch((cause) => {
    const detail = `${path} cannot be read. Write one with: datahub init ${dir}; for a hub that exists: datahub export ${dir} --hub HUB`;
    throw new CommandError(detail, undefined, { cause });
  });
  return readHubFile(decodeUtf8(bytes, path), { file: hubFileName, faults });
}

/** Resolves to undefined for a file in another encoding, which is a fault. */
const readText = (dir: string, file: string, faults: Fault[]): Promise<string | undefined> =>
  readUtf8(join(dir, file)).catch((err) => {
    if (!(err instanceof NotUtf8)) throw err;
    faults.push({ file, line: err.line, column: 1, detail: notUtf8 });
    return undefined;
  });

/** Why it is not read. Undefined for a file or a folder, and for what is not there. */
const strangeness = (path: string): Promise<string | undefined> =>
  lstat(path).then(strangeDetail, () => undefined);

/** Links could lead out of the directory, whose files may come from somebody else, and pipes may never end. */
function strangeDetail(entry: Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): string | undefined {
  if (entry.isSymbolicLink()) return 'Links are not followed. Put the file itself here.';
  return entry.isFile() || entry.isDirectory() ? undefined : 'This is neither a file nor a folder.';
}

/** Of a file as a whole. */
const faultOf = (file: string, detail: string): Fault => ({ file, line: 1, column: 1, detail });

/** The path that the name of a file stands for. */
function pathOf(file: string, faults: Fault[]): string {
  const path = toQueryPath(file.slice(file.indexOf('/') + 1, -extname(file).length));
  const detail = 'The path of a file may have the characters a-z, 0-9, - and _, and at most 200 of them.';
  if (!isPath(path)) faults.push(faultOf(file, detail));
  return path;
}

interface YamlFiles<T> {
  folder: string;
  read(text: string, named: { file: string; path: string; faults: Fault[] }): T | undefined;
  faults: Fault[];
}

/** Resolves to undefined if there is no such folder. */
async function readYamlFiles<T>(
  dir: string,
  { folder, read, faults }: YamlFiles<T>,
): Promise<T[] | undefined> {
  const listed = await listFiles(dir, folder);
  if (listed === undefined) return undefined;
  const found: T[] = [];
  for (const { file, strange } of listed) {
    const isMisspelt = /^\.ya?ml$/i.test(extname(file)) && !isYamlFile(file);
    const detail = strange ?? `The ending must be ${yamlEnding}.`;
    if (strange !== undefined || isMisspelt) faults.push(faultOf(file, detail));
    else if (isYamlFile(file)) {
      const text = await readText(dir, file, faults);
      const one = text === undefined ? text : read(text, { file, path: pathOf(file, faults), faults });
      if (one !== undefined) found.push(one);
    }
  }
  return found;
}

const isYamlFile = (file: string) => extname(file) === yamlEnding;

/** Watches, boards and keys name queries of the files. */
function faultsOfPaths(
  {
    watches,
    boards,
    keys,
  }: { watches: readonly WatchFile[]; boards: readonly BoardFile[]; keys: readonly KeyFile[] },
  queries: readonly QueryFile[],
): Fault[] {
  const paths = new Set(queries.map(({ model }) => model.path));
  const detailOf = (query: string) => `There is no query ${query}. The path of queries/a/b.sql is a/b`;
  const ofWatches = watches
    .filter(({ model }) => !paths.has(model.query))
    .map(({ file, model, place }) => ({ file, ...place(['query']), detail: detailOf(model.query) }));
  const ofBoards = boards.flatMap(({ file, model, place }) =>
    model.cards.flatMap(({ query }, i) =>
      query === undefined || paths.has(query)
        ? []
        : [{ file, ...place(['cards', i, 'query']), detail: detailOf(query) }],
    ),
  );
  const ofKeys = keys.flatMap(({ file, model, place }) =>
    [
      ...(model.limits.queries ?? []).map((query, i) => ({ query, at: ['limits', 'queries', i] })),
      ...(model.limits.user?.public ?? []).map((query, i) => ({
        query,
        at: ['limits', 'user', 'public', i],
      })),
    ].flatMap(({ query, at }) => (paths.has(query) ? [] : [{ file, ...place(at), detail: detailOf(query) }])),
  );
  ofKeys.push(...keys.flatMap((key) => faultsOfPins(key, queries)));
  return [...ofWatches, ...ofBoards, ...ofKeys];
}

function faultsBetween({ model }: HubFile, queries: readonly QueryFile[]): Fault[] {
  const files = new Map<string, string>();
  const sources = new Set(model.sources.map(({ label }) => label));
  const folders = new Set(model.folders.map(folderKey));
  return queries.flatMap(({ file, model: { path, source, folder }, place }) => {
    const other = files.get(path);
    files.set(path, file);
    const known = [...sources].join(', ');
    return [
      ...(other === undefined ? [] : [faultOf(file, `${other} has the same path ${path}`)]),
      ...(sources.has(source)
        ? []
        : [
            { file, ...place(['source']), detail: `${hubFileName} has no source ${source}; it has ${known}` },
          ]),
      ...(folder.length === 0 || folders.has(folderKey(folder))
        ? []
        : [{ file, ...place(['folder']), detail: `${hubFileName} has no folder ${folder.join('/')}` }]),
    ];
  });
}

const isQueryFile = (file: string) => Object.hasOwn(endings, extname(file));

/** What is meant as a query must not be left out without a word. Other files, such as README.md, may be there. */
function faultOfName({ file, strange }: Listed): Fault[] {
  const ending = extname(file);
  const isMisspelt = !isQueryFile(file) && isQueryFile(file.toLowerCase());
  const details = [
    ...(strange === undefined ? [] : [strange]),
    ...(isMisspelt ? [`The ending must be ${ending.toLowerCase()} instead of ${ending}.`] : []),
  ];
  return details.map((detail) => faultOf(file, detail));
}

interface Listed {
  file: string;
  strange: string | undefined;
}

/** Resolves to undefined if there is no such folder. */
async function listFiles(dir: string, folder: string): Promise<Listed[] | undefined> {
  const place = join(dir, folder);
  const strange = await strangeness(place);
  if (strange !== undefined) return [{ file: folder, strange }];
  const entries = await readdir(place, { recursive: true, withFileTypes: true }).catch((cause) => {
    if (cause.code === 'ENOENT') return undefined;
    throw new CommandError(`${place} cannot be read: ${cause.code}`, undefined, { cause });
  });
  return entries
    ?.filter((entry) => !entry.isDirectory())
    .map((entry) => ({
      file: relative(dir, join(entry.parentPath, entry.name)).split(sep).join('/'),
      strange: strangeDetail(entry),
    }))
    .sort((one, other) => (one.file < other.file ? -1 : 1));
}

export interface Written {
  files: string[];
  removed: string[];
  /** Files of queries, watches, boards and keys that the hub does not have. */
  others: string[];
}

interface Wanted {
  hub: HubModel;
  /** Undefined leaves the files of watches alone, and so for boards and keys. */
  watches?: WatchModel[] | undefined;
  boards?: BoardModel[] | undefined;
  keys?: KeyModel[] | undefined;
  /** What files cannot say. Files with these paths stay as they are. */
  left?: Partial<Record<'queries' | 'watches' | 'boards' | 'keys', readonly string[]>>;
  isMongodb(source: string): boolean;
  prune: boolean;
}

/** `prune` removes the files of queries, watches, boards and keys that the model does not have. */
export async function writeDirectory(
  dir: string,
  { hub, watches, boards, keys, left = {}, isMongodb, prune }: Wanted,
): Promise<Written> {
  const strange = [...hub.queries, ...(watches ?? []), ...(boards ?? []), ...(keys ?? [])].find(
    ({ path }) => !isPath(path),
  );
  if (strange !== undefined)
    throw new CommandError(
      `${JSON.stringify(strange.path)} is not a valid path of a query. Nothing was written.`,
    );
  const contents: Contents = new Map([
    [hubFileName, { text: writeHubFile(hub), says: (before: string) => saysHub(before, hub) }],
  ]);
  const before = ((await listFiles(dir, folderName)) ?? []).map(({ file }) => file).filter(isQueryFile);
  for (const query of hub.queries) {
    const ending = isMongodb(query.source) ? '.mongodb' : '.sql';
    const plain = `${folderName}/${query.path}${ending}`;
    const file = before.includes(plain) ? plain : `${folderName}/${toFilePath(query.path)}${ending}`;
    contents.set(file, {
      text: writeQueryFile(query),
      says: (before) => saysQuery(before, { query, isSql: !isMongodb(query.source) }),
    });
  }
  const wanted = [
    ...(watches ?? []).map((one) => ({
      folder: watchFolder,
      path: one.path,
      text: writeWatchFile(one),
      says: (text: string) => saysWatch(text, one),
    })),
    ...(boards ?? []).map((one) => ({
      folder: boardFolder,
      path: one.path,
      text: writeBoardFile(one),
      says: (text: string) => saysBoard(text, one),
    })),
    ...(keys ?? []).map((one) => ({
      folder: keyFolder,
      path: one.path,
      text: writeKeyFile(one),
      says: (text: string) => saysKey(text, one),
    })),
  ];
  for (const { folder, path, text, says } of wanted)
    contents.set(`${folder}/${toFilePath(path)}${yamlEnding}`, { text, says });
  for (const [folder, models] of Object.entries({
    [watchFolder]: watches,
    [boardFolder]: boards,
    [keyFolder]: keys,
  }))
    if (models !== undefined) before.push(...(await listYaml(dir, folder)));
  await requireNoLinks(dir, [...contents.keys()]);
  for (const [file, { text, says }] of contents) {
    const path = join(dir, file);
    await mkdir(dirname(path), { recursive: true });
    const present = await readFile(path, 'utf8').catch(() => undefined);
    if (present === undefined || !says(present)) await replaceFile(path, text);
  }
  const leftFiles = new Set(
    Object.entries(left).flatMap(([folder, paths]) => paths.map((path) => `${folder}/${path}`)),
  );
  const isLeft = (file: string) => leftFiles.has(toQueryPath(file.slice(0, -extname(file).length)));
  const others = before.filter((file) => !contents.has(file) && !isLeft(file));
  if (prune) for (const file of others) await rm(join(dir, file));
  return { files: [...contents.keys()], removed: prune ? others : [], others: prune ? [] : others };
}

/** Throws for files that are links, or lie in folders that are. */
export async function requireNoLinks(dir: string, files: readonly string[]): Promise<void> {
  const paths = files.flatMap((file) => {
    const parts = file.split('/');
    return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
  });
  const faults: Fault[] = [];
  for (const path of new Set(paths)) {
    const strange = await strangeness(join(dir, path));
    if (strange !== undefined) faults.push(faultOf(path, strange));
  }
  if (faults.length > 0) throw new FaultsError(faults);
}

type Contents = Map<string, { text: string; says(before: string): boolean }>;

const listYaml = async (dir: string, folder: string): Promise<string[]> =>
  ((await listFiles(dir, folder)) ?? []).map(({ file }) => file).filter(isYamlFile);

/** A file that says the same in other words stays, with its comments. */
function saysHub(text: string, hub: HubModel): boolean {
  const faults: Fault[] = [];
  const file = readHubFile(text, { file: hubFileName, faults });
  return file !== undefined && faults.length === 0 && written(file.model) === written(hub);
}

const written = (hub: Omit<HubModel, 'queries'>): string =>
  writeHubFile({
    ...hub,
    sources: hub.sources.map((source) => ({
      ...source,
      connectionSettings: withoutDefaults(source.connectionSettings),
    })),
  });

function saysQuery(text: string, { query, isSql }: { query: QueryModel; isSql: boolean }): boolean {
  const faults: Fault[] = [];
  const file = readQueryFile(text, { file: '', path: query.path, isSql, faults });
  return file !== undefined && faults.length === 0 && changedMembers(file.model, query).length === 0;
}

function saysWatch(text: string, watch: WatchModel): boolean {
  const faults: Fault[] = [];
  const file = readWatchFile(text, { file: '', path: watch.path, faults });
  return file !== undefined && faults.length === 0 && changedWatchMembers(file.model, watch).length === 0;
}

function saysBoard(text: string, board: BoardModel): boolean {
  const faults: Fault[] = [];
  const file = readBoardFile(text, { file: '', path: board.path, faults });
  return file !== undefined && faults.length === 0 && changedBoardMembers(file.model, board).length === 0;
}

function saysKey(text: string, key: KeyModel): boolean {
  const faults: Fault[] = [];
  const file = readKeyFile(text, { file: '', path: key.path, faults });
  return file !== undefined && faults.length === 0 && changedKeyMembers(file.model, key).length === 0;
}
