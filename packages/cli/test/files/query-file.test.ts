import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/files/fault.ts';
import { readQueryFile, writeQueryFile } from '../../src/files/query-file.ts';

const read = (text: string) => {
  const faults: Fault[] = [];
  const found = readQueryFile(text, { file: 'queries/a.sql', path: 'a', isSql: true, faults });
  return { model: found?.model, faults };
};
const text = '-- ---\n-- label: One\n-- source: Orders\n-- ---\nSELECT 1\nFROM t\n';

describe('readQueryFile', () => {
  it('reads a file that Git or an editor on Windows changed', () => {
    const { model } = read(text);
    expect(model).toMatchObject({ label: 'One', source: 'Orders', text: 'SELECT 1\nFROM t' });
    expect(read(text.replaceAll('\n', '\r\n'))).toEqual({ model, faults: [] });
    expect(read(`\uFEFF${text}`)).toEqual({ model, faults: [] });
  });

  it('keeps the line ends of a text that has CRLF itself', () => {
    const { model } = read(text.replace('1\nFROM', '1\r\nFROM'));
    expect(model?.text).toBe('SELECT 1\r\nFROM t');
    expect(read(writeQueryFile(model as NonNullable<typeof model>)).model).toEqual(model);
  });

  it.each(['Use it.\n\n\n', 'a\u00A0', '\u6CE8\u6587\u3000', 'ends\n', ' \n '])(
    'keeps the end of the last setting: %j',
    (description) => {
      const { model } = read(text);
      const query = { ...(model as NonNullable<typeof model>), tool: { name: 'orders', description } };
      expect(read(writeQueryFile(query))).toEqual({ model: query, faults: [] });
    },
  );

  it('names the place of each member of the wrong kind', () => {
    const settings = [
      'cache: {maxAgeS: long}',
      'context: [{key: a, type: strng, required: 1}]',
      'tool: {name: a b}',
    ];
    const { faults } = read(
      text.replace('-- label', `${settings.map((one) => `-- ${one}\n`).join('')}-- label`),
    );
    expect(faults.map(({ line, column, detail }) => `${line}:${column}: ${detail.split(',')[0]}`)).toEqual([
      '2:21: cache.maxAgeS must be a whole number',
      '3:29: context[0].type must be one of string',
      '3:46: context[0].required must be true or false',
      '4:17: tool.name must be of 1 to 64 letters',
      '4:10: tool.description is missing',
    ]);
  });
});
