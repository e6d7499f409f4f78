/** Replies with documents of many bytes or fields, which a server may send: 16 MiB at once. */

import { BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { cpuMs, longestTurn } from '../../../../../tests/support/timing/longest-turn.ts';
import { DocumentRows } from '../../../src/engines/mongodb/results.ts';
import { readSchema } from '../../../src/engines/mongodb/schema.ts';
import type { RowSink, SinkColumn } from '../../../src/ports/row-sink.ts';
import { createResponseWriter } from '../../../src/result/response-writer.ts';
import { types } from '../../../src/result/values/bson-reader.ts';

const replyOf = (firstBatch: Document[], id = 0n) =>
  Buffer.from(BSON.serialize({ cursor: { firstBatch, id }, ok: 1 }));
const manyFields = (count: number, prefix = 'f') =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, null]));

function open(sink: Partial<RowSink> = {}) {
  const seen = { columns: [] as readonly SinkColumn[], rows: 0 };
  const rows = new DocumentRows({
    sink: {
      ...{ takesDocuments: true, takesBinary: false, truncated: false, full: false, onDrain: () => {} },
      begin: (columns) => {
        seen.columns = columns;
      },
      row: () => {
        seen.rows++;
      },
      document: () => {
        seen.rows++;
      },
      ...sink,
    },
    rowBytesMax: 16_777_216,
    command: { find: 'c' },
  });
  return { rows, seen };
}

describe('a batch', () => {
  const documents = Array.from({ length: 100 }, (_, i) => ({ i, text: 'x'.repeat(4_000) }));

  it('is written in slices', () => {
    const { rows, seen } = open();
    const counts = [...rows.batch(replyOf(documents))].map(() => seen.rows);
    expect(counts.length).toBeGreaterThan(5);
    expect(seen.rows).toBe(100);
  });

  it('waits with the next document while the sink is full', () => {
    const { rows, seen } = open({ full: true });
    const slices = rows.batch(replyOf(documents))[Symbol.iterator]();
    slices.next();
    expect(seen.rows).toBe(1);
    slices.next();
    expect(seen.rows).toBe(2);
  });
});

describe('a field that a document repeats', () => {
  /** The document `{a: null, a: null, …}`, as a server may send it. */
  const repeated = (count: number) => {
    const document = Buffer.concat([Buffer.alloc(4), Buffer.alloc(3 * count, '\x0aa\0'), Buffer.alloc(1)]);
    document.writeInt32LE(document.length);
    return document;
  };
  const wrapped = (type: number, name: string, content: Buffer) => {
    const head = Buffer.from(`${String.fromCharCode(type)}${name}\0`);
    const document = Buffer.concat([Buffer.alloc(4), head, content, Buffer.alloc(1)]);
    document.writeInt32LE(document.length);
    return document;
  };
  const reply = (document: Buffer) =>
    wrapped(
      types.document,
      'cursor',
      wrapped(types.array, 'firstBatch', wrapped(types.document, '0', document)),
    );

  it('counts as several elements where columns are looked for', () => {
    const { rows } = open({ takesDocuments: false });
    expect(() => [...rows.batch(reply(repeated(4_000)))]).not.toThrow();
    expect(() => [...rows.batch(reply(repeated(500_001)))]).toThrow();
    const known = { sink: { takesDocuments: false, begin: () => {}, row: () => {} } as unknown as RowSink };
    const named = new DocumentRows({
      ...known,
      rowBytesMax: 16_777_216,
      command: { find: 'c', projection: { _id: 0, a: 1 } },
    });
    expect(() => [...named.batch(reply(repeated(500_001)))]).toThrow('more than 500000 elements');
  });

  it('is not looked through in the reply itself', () => {
    expect(() => [...open().rows.batch(repeated(1_001))]).toThrow('inconsistent');
  });
});

describe('a first document of many fields', () => {
  const reply = replyOf([manyFields(20_000)]);

  it('has its first fields as columns where rows are documents', () => {
    const { rows, seen } = open();
    expect([...rows.batch(reply)]).toHaveLength(1);
    expect(seen).toMatchObject({ columns: { length: 4_096 }, rows: 1 });
  });

  it('is refused where rows have columns', () => {
    const { rows } = open({ takesDocuments: false });
    expect(() => [...rows.batch(reply)]).toThrow('has 4096 fields or more');
  });
});

it('writes no document of too many elements, at any depth', () => {
  const reply = { chunk: () => true, onDrain: () => {} };
  const openWriter = () => {
    const writer = createResponseWriter({ format: 'ndjson', numbers: 'auto', meta: false, reply });
    writer.begin([]);
    return (document: Document) => writer.document(Buffer.from(BSON.serialize(document)), 0);
  };
  const list = new Array(499_998).fill(null);
  const decimals = new Array(125_000).fill(new BSON.Decimal128('1.5'));
  for (const tooMany of [{ list, a: 1, b: 2 }, { list: decimals }]) {
    const write = openWriter();
    write({ list });
    write({ list });
    write({ list: decimals.slice(10) });
    expect(() => write(tooMany)).toThrow('more than 500000 elements');
  }
});

describe('the schema', () => {
  const collections = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ name: `c${i}`, type: i === 0 ? 'view' : 'collection' }));
  const asked = (listed: Buffer, sample: Buffer) => {
    const commands: Document[] = [];
    const ask = async (command: Document) => {
      commands.push(command);
      return command.listCollections === 1 ? listed : sample;
    };
    return { commands, read: () => readSchema('d', ask) };
  };

  it('has the fields of all documents of a sample, with their types', async () => {
    const sample = replyOf([{ a: 1, b: 'x' }, { a: 1.5 }, { a: null, 'c d': [{}] }]);
    const { read } = asked(replyOf(collections(2)), sample);
    const columns = [
      { name: 'a', type: 'double | int', nullable: true },
      { name: 'b', type: 'string', nullable: true },
      { name: 'c d', type: 'array', nullable: true },
    ];
    expect(await read()).toEqual({
      tables: [
        { schema: 'd', name: 'c0', kind: 'view', columns, primaryKey: [], foreignKeys: [] },
        { schema: 'd', name: 'c1', kind: 'table', columns, primaryKey: [], foreignKeys: [] },
      ],
    });
  });

  it('ends the cursor of a longer list', async () => {
    const { commands, read } = asked(replyOf(collections(1), 7n), replyOf([]));
    expect(await read()).toMatchObject({ truncated: true });
    expect(commands.at(-1)).toEqual({ killCursors: '$cmd.listCollections', cursors: [7n] });
  });

  it('leaves out collections once there are too many fields, and gives the turn away', async () => {
    const sample = replyOf(Array.from({ length: 20 }, (_, i) => manyFields(2_000, `f${i}_`)));
    const { read } = asked(replyOf(collections(3)), sample);
    const before = cpuMs();
    const longest = await longestTurn(async () => {
      const { tables, truncated } = await read();
      expect([tables.length, truncated]).toEqual([1, true]);
    });
    expect(longest).toBeLessThan((cpuMs() - before) / 2);
  });
});
