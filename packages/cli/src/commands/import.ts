import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';
import { type EngineName, engines } from '@datahub/contract/engines';
import { type Command, textOf } from '../command.ts';
import { CommandError, exitCodes } from '../failure.ts';
import { writeDirectory } from '../files/directory.ts';
import { type Fault, toLine } from '../files/fault.ts';
import { hubFileName } from '../files/hub-file.ts';
import { type QueryModel, toPath } from '../files/model.ts';
import { newHub, sourceLabel } from '../files/new-hub.ts';
import { convertSql } from '../files/plain-sql.ts';
import { countOf, note, print, printJson } from '../output.ts';

const sqlEngines = engines.filter((engine) => engine !== 'mongodb');

export const importFiles: Command = {
  name: 'import',
  arguments: 'FROM DIR',
  summary:
    'Makes the files of a new hub in DIR of the plain .sql files in FROM. Placeholders become variables; what cannot be converted is listed with its line. Changes nothing in the hub.',
  options: {
    engine: {
      type: 'string',
      value: 'ENGINE',
      choices: sqlEngines,
      help: `The engine that the files are for: ${sqlEngines.join(', ')}; by default postgres.`,
    },
  },
  completes: 'files',
  run: async (input, context) => {
    const [from = '', dir = ''] = input.positionals;
    const engine = (textOf(input, 'engine') ?? 'postgres') as EngineName;
    const hubFile = join(dir, hubFileName);
    const exists = await stat(hubFile).then(
      () => true,
      () => false,
    );
    if (exists) throw new CommandError(`${hubFile} exists already.`);
    const names = await listSql(from);
    if (names.length === 0) throw new CommandError(`${from} has no file that ends in .sql.`);
    const queries: QueryModel[] = [];
    const faults: Fault[] = [];
    for (const name of names) {
      const bytes = await readFile(join(from, name), 'utf8');
      const path = name
        .slice(0, -'.sql'.length)
        .split('/')
        .map((part) => toPath(part))
        .join('/');
      const other = queries.find((query) => query.path === path);
      const converted = bytes.startsWith('-- ---')
        ? [
            {
              line: 1,
              column: 1,
              detail: 'This is a file of a hub already. Copy it into the folder queries.',
            },
          ]
        : other === undefined
          ? convertSql(bytes.replace(/^\uFEFF/, ''), engine)
          : [{ line: 1, column: 1, detail: `Another file has the path ${path}, too.` }];
      if (Array.isArray(converted))
        faults.push(...converted.map((fault) => ({ file: join(from, name), ...fault })));
      else
        queries.push({
          path,
          label: toLabel(name),
          source: sourceLabel,
          folder: [],
          notNull: [],
          ...converted,
        });
    }
    const failed = new Set(faults.map(({ file }) => file));
    const model = { ...newHub(basename(resolve(dir)), engine), queries };
    const { files } = await writeDirectory(dir, { hub: model, isMongodb: () => false, prune: false });
    if (context.json) printJson(context, { files, faults });
    else {
      for (const fault of faults) print(context, toLine(fault));
      print(
        context,
        `${countOf(queries.length, 'query', 'queries')} written, ${countOf(failed.size, 'file', 'files')} not converted.`,
      );
    }
    note(
      context,
      `Write the address of your database into ${hubFile}. Then: datahub apply ${dir}; datahub check ${dir}`,
    );
    return failed.size > 0 ? exitCodes.failed : exitCodes.done;
  },
};

async function listSql(from: string): Promise<string[]> {
  const entries = await readdir(from, { recursive: true, withFileTypes: true }).catch((cause) => {
    throw new CommandError(`${from} cannot be read: ${cause.code}`, undefined, { cause });
  });
  return entries
    .filter((entry) => entry.isFile() && entry.name.toLowerCase().endsWith('.sql'))
    .map((entry) => relative(from, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

/** `orders/by-region.sql` → `By region`. */
function toLabel(name: string): string {
  const words = basename(name).slice(0, -'.sql'.length).replaceAll(/[-_]+/g, ' ').trim();
  return words === '' ? 'Unnamed' : words.charAt(0).toUpperCase() + words.slice(1);
}
