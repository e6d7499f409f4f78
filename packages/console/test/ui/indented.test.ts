import { expect, it } from 'vitest';
import { formatStatement } from '../../src/ui/editor/format.ts';
import { indented } from '../../src/ui/grid/indented.ts';

it('writes JSON with line breaks, and leaves other texts as they are', () => {
  expect(indented('{"a":[1.0,2], "b":{}}')).toBe('{\n  "a": [\n    1.0,\n    2\n  ],\n  "b": {}\n}');
  const line = '[2026-11-30 10:00:00] user: bob  logged in, from "a b"';
  expect(indented(line)).toBe(line);
});

it('formats a command with the digits of its numbers', () => {
  const command = '{"find": "t", "filter": {"id": 12345678901234567891, "n": 1.0, "big": 1e400}}';
  const formatted = formatStatement(` ${command}\n`, 'mongodb');
  expect(formatted.replaceAll(/\s+/g, ' ')).toBe(command.replaceAll('{"', '{ "').replaceAll('}', ' }'));
});
