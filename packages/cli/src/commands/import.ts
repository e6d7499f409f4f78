import { stat } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';
import { type EngineName, engines } from '@datahub/contract/engines';
import { type Command, type Context, type Input, textOf } from '../command.ts';
import { CommandError, exitCodes } from '../failure.ts';
import { writeDirectory } from '../files/directory.ts';
import { toLine } from '../files/fault.ts';
import { hubFileName } from '../files/hub-file.ts';
import { toPath } from '../files/model.ts';
import { sourceLabel } from '../files/new-hub.ts';
import { readHasuraFiles } from '../import/hasura-metadata.ts';
import { Imported } from '../import/imported.ts';
import { importMetabase } from '../import/metabase.ts';
import { readMetabaseApi, readMetabaseFiles } from '../import/metabase-export.ts';
import { importNpgsqlRest } from '../import/npgsqlrest.ts';
import { convertSql } from '../import/plain-sql.ts';
import { isAddress, keyFrom, openApi, readExport } from '../import/read-export.ts';
import { importRedash, readRedashApi, readRedashFiles } from '../import/redash.ts';
import { countOf, note, print, printJson } from '../output.ts';
import { visible } from '../screen.ts';

const sqlEngines = engines.filter((engine) => engine !== 'mongodb');

const engineOption = {
  type: 'string',
  value: 'ENGINE',
  choices: sqlEngines,
} as const;

export const importFiles: Command = {
  name: 'import',
  arguments: 'FROM DIR',
  summary:
    'Makes the files of a new hub in DIR of the plain .sql files in FROM. Placeholders become variables; what cannot be converted is listed with its line. Changes nothing in the hub.',
  options: {
    engine: {
      ...engineOption,
      help: `The engine that the files are for: ${sqlEngines.join(', ')}; by default postgres.`,
    },
  },
  completes: 'files',
  run: async (input, context) => {
    const [from = ''] = input.positionals;
    const engine = (textOf(input, 'engine') ?? 'postgres') as EngineName;
    return importInto(input, context, async (into) => {
      for (const { name, text } of await readExport(from, ['.sql'], into)) {
        const path = pathOf(relative(from, name) || basename(name));
        if (text.startsWith('-- ---'))
          into.refuse(name, 'This is a file of a hub already. Copy it into the folder queries.');
        else if (into.queries.some((query) => query.path === path))
          into.refuse(name, `Another file has the path ${path}, too.`);
        else
          into.add(
            { file: name, label: toLabel(name), path, folder: [], source: { label: sourceLabel, engine } },
            () => convertSql(text, engine),
          );
      }
    });
  },
};

const products = 'FROM is an export, or the address of its API.';

export const importRedashQueries: Command = {
  name: 'import redash',
  arguments: 'FROM DIR',
  summary: `Makes the files of a new hub in DIR of Redash's queries. ${products} Lists what did not fit, with its line. Changes nothing in the hub.`,
  options: {
    engine: {
      ...engineOption,
      help: 'The engine of data sources that the export does not describe; by default postgres.',
    },
  },
  completes: 'files',
  run: async (input, context) => {
    const [from = ''] = input.positionals;
    return importInto(input, context, async (into) => {
      const found = isAddress(from)
        ? await readRedashApi(
            openApi(from, { authorization: `Key ${keyFrom(context.env, 'REDASH_API_KEY')}` }),
          )
        : readRedashFiles(await readExport(from, ['.json', '.sql']));
      importRedash(found, into, textOf(input, 'engine') as EngineName | undefined);
    });
  },
};

export const importMetabaseQuestions: Command = {
  name: 'import metabase',
  arguments: 'FROM DIR',
  summary: `Makes the files of a new hub in DIR of Metabase's questions in SQL. ${products} Lists what did not fit, with its line. Changes nothing in the hub.`,
  options: {
    engine: {
      ...engineOption,
      help: 'The engine of databases that the export does not describe; by default postgres.',
    },
  },
  completes: 'files',
  run: async (input, context) => {
    const [from = ''] = input.positionals;
    return importInto(input, context, async (into) => {
      const found = isAddress(from)
        ? await readMetabaseApi(openApi(from, { 'x-api-key': keyFrom(context.env, 'METABASE_API_KEY') }))
        : readMetabaseFiles(await readExport(from, ['.yaml', '.yml', '.json']));
      importMetabase(found, into, textOf(input, 'engine') as EngineName | undefined);
    });
  },
};

export const importHasuraOperations: Command = {
  name: 'import hasura',
  arguments: 'FROM DIR',
  summary: `Makes the files of a new hub in DIR of Hasura's operations: of its collections, and of .graphql files. FROM is the directory of a project, an exported metadata.json, or the address of its API. Lists what did not fit, with its line. Changes nothing in the hub.`,
  options: {
    role: {
      type: 'string',
      value: 'ROLE',
      isRequired: true,
      help: 'The role whose permissions the queries hold; "admin" has all.',
    },
  },
  completes: 'files',
  run: async (input, context) => {
    const [from = ''] = input.positionals;
    const role = textOf(input, 'role');
    if (role === undefined)
      throw new CommandError('--role is missing: the role whose permissions the queries hold, or admin.');
    // It loads the parser of GraphQL, which no other command needs.
    const { importHasura, readHasuraApi } = await import('../import/hasura.ts');
    return importInto(input, context, async (into) => {
      const metadata = isAddress(from)
        ? await readHasuraApi(
            openApi(from, { 'x-hasura-admin-secret': keyFrom(context.env, 'HASURA_GRAPHQL_ADMIN_SECRET') }),
          )
        : readHasuraFiles(await readExport(from, ['.yaml', '.yml', '.json', '.graphql', '.gql', '.sql']));
      importHasura(metadata, into, role);
    });
  },
};

/** The ends of the names of NpgsqlRest's configurations. */
const settingsFiles = [
  'appsettings.json',
  'config.json',
  'development.json',
  'production.json',
  'settings.json',
];

export const importNpgsqlRestFiles: Command = {
  name: 'import npgsqlrest',
  arguments: 'FROM DIR',
  summary:
    'Makes the files of a new hub in DIR of the annotated .sql files of NpgsqlRest in FROM, and of functions with annotated comments. Lists what did not fit, with its line. Changes nothing in the hub.',
  completes: 'files',
  run: async (input, context) => {
    const [from = ''] = input.positionals;
    return importInto(input, context, async (into) => {
      importNpgsqlRest(await readExport(from, ['.sql', ...settingsFiles], into), into, from);
    });
  },
};

/** Writes the files of what is found, and the report. */
async function importInto(
  { positionals: [, dir = ''] }: Input,
  context: Context,
  find: (into: Imported) => Promise<void>,
): Promise<number> {
  const hubFile = join(dir, hubFileName);
  const exists = await stat(hubFile).then(
    () => true,
    () => false,
  );
  if (exists) throw new CommandError(`${hubFile} exists already.`);
  const name = basename(resolve(dir));
  const into = new Imported(toPath(name));
  await find(into);
  const { queries, faults, notes, failed } = into;
  if (queries.length === 0 && failed === 0) throw new CommandError('Nothing was found to import.');
  const hub = into.toHub(name);
  const { files } = await writeDirectory(dir, { hub, isMongodb: () => false, prune: false });
  if (context.json) printJson(context, { files, faults, notes });
  else {
    for (const fault of faults) print(context, toLine(fault));
    for (const { file, detail } of notes) print(context, `${visible(file)}: note: ${visible(detail)}`);
    print(context, `${countOf(queries.length, 'query', 'queries')} written, ${failed} not converted.`);
  }
  note(
    context,
    `Write the addresses of your databases into ${hubFile}. Sessions of the hub are in UTC. Then: datahub apply ${dir}; datahub check ${dir}`,
  );
  return failed > 0 ? exitCodes.failed : exitCodes.done;
}

/** `Orders/By region.sql` → `orders/by-region`. */
const pathOf = (name: string): string =>
  name
    .slice(0, -'.sql'.length)
    .split(sep)
    .map((part) => toPath(part))
    .join('/');

/** `orders/by-region.sql` → `By region`. */
function toLabel(name: string): string {
  const words = basename(name).slice(0, -'.sql'.length).replaceAll(/[-_]+/g, ' ').trim();
  return words === '' ? 'Unnamed' : words.charAt(0).toUpperCase() + words.slice(1);
}
