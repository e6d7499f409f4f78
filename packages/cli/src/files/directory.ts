/** Reads and writes the directory of a hub. */

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, extname, join, relative, sep } from 'node:path';
import { CommandError, exitCodes } from '../failure.ts';
import { type HubFile, hubFileName, readHubFile, writeHubFile } from './hub-file.ts';
import { type Fault, folderKey, type HubModel, toLine } from './model.ts';
import { type QueryFile, readQueryFile, writeQueryFile } from './query-file.ts';

/** By the ending: whether the text is SQL. */
const endings: Readonly<Record<string, boolean>> = { '.sql': true, '.mongodb': false };
const queryPath = /^[a-z0-9_-]+(\/[a-z0-9_-]+)*$/;
const folderName = 'queries';

export interface Directory {
  hub: HubFile;
  queries: QueryFile[];
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
  const text = await readFile(join(dir, hubFileName), 'utf8').catch((cause) => {
    throw new CommandError(
      `${join(dir, hubFileName)} cannot be read. Write one with: datahub init ${dir}; for a hub that exists: datahub export ${dir} --hub HUB`,
      undefined,
      {
        cause,
      },
    );
  });
  const hub = readHubFile(text, { file: hubFileName, faults });
  const queries: QueryFile[] = [];
  for (const file of await listQueryFiles(dir)) {
    const path = file.slice(folderName.length + 1, -extname(file).length);
    const detail = 'The path of a file may have the characters a-z, 0-9, - and _, and at most 200 of them.';
    if (!queryPath.test(path) || path.length > 200) faults.push({ file, line: 1, column: 1, detail });
    const isSql = endings[extname(file)] === true;
    const query = readQueryFile(await readFile(join(dir, file), 'utf8'), { file, path, isSql, faults });
    if (query !== undefined) queries.push(query);
  }
  if (hub !== undefined) faults.push(...faultsBetween(hub, queries));
  if (faults.length > 0 || hub === undefined) throw new FaultsError(faults);
  return { hub, queries };
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
      ...(other === undefined
        ? []
        : [{ file, line: 1, column: 1, detail: `${other} has the same path ${path}` }]),
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

async function listQueryFiles(dir: string): Promise<string[]> {
  const entries = await readdir(join(dir, folderName), { recursive: true, withFileTypes: true }).catch(
    () => [],
  );
  return entries
    .filter((entry) => entry.isFile() && Object.hasOwn(endings, extname(entry.name)))
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

export interface Written {
  files: string[];
  removed: string[];
  /** Files of queries that the hub does not have. */
  others: string[];
}

/** `prune` removes the files of queries that the model does not have. */
export async function writeDirectory(
  dir: string,
  { hub, isMongodb, prune }: { hub: HubModel; isMongodb(source: string): boolean; prune: boolean },
): Promise<Written> {
  const contents = new Map([[hubFileName, writeHubFile(hub)]]);
  for (const query of hub.queries)
    contents.set(
      `${folderName}/${query.path}${isMongodb(query.source) ? '.mongodb' : '.sql'}`,
      writeQueryFile(query),
    );
  const before = await listQueryFiles(dir);
  for (const [file, text] of contents) {
    const path = join(dir, file);
    await mkdir(dirname(path), { recursive: true });
    const same = await readFile(path, 'utf8').catch(() => undefined);
    if (same !== text) await writeFile(path, text);
  }
  const others = before.filter((file) => !contents.has(file));
  if (prune) for (const file of others) await rm(join(dir, file));
  return { files: [...contents.keys()], removed: prune ? others : [], others: prune ? [] : others };
}
